"""The order of training: what sequence k of a plan is, for any k, from the plan alone.

Nothing is stored and nothing depends on what was read before, so a resume, another number of machines or of workers
cannot change the order. Positions 0 <= k < plan.sequences; phase after phase, each starting at exactly its first
sequence. Inside a phase the cells are merged by a Huffman tree of even merges (kernels/interleave): in every prefix
of a phase of N sequences, cell c with n of them has been drawn within `prefix_bound` of length * n / N times, and
exactly n times at the end.

The bound: a node of the tree keeps its children within `slack` of their proportion of the node's own draws; that
deviation reaches a leaf of n draws, below a node of m, times n / m. So a leaf deviates by at most slack * sum(n / m)
over the nodes from itself up to the child of the root. In a Huffman tree m at least doubles every second step, so the
sum is below 4; in practice it is below 3. The slack is the largest, from one half to one, that keeps the bound at one
sequence, and one half where none does: few cells are drawn at random places within that bound, many at even
distances.

The d-th draw of a cell, counted on over the phases, reads epoch d // size, and there the sequence that the cell's
permutation of that epoch has at d % size.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import xxhash

from tonnage.errors import UsageError
from tonnage.kernels.interleave import SLACK_UNIT, descend
from tonnage.mixture.permutation import cell_key, permute
from tonnage.mixture.plan import MixturePlan


class Place(NamedTuple):
    """Where one position of training reads: `sequence` counts the whole sequences of the cell from 0."""

    phase: str
    cell: str
    epoch: int
    sequence: int


class Places(NamedTuple):
    """Many places: `phase` indexes plan.phases and `cell` the names in plan.cells, in their order; all int64[n]."""

    phase: np.ndarray
    cell: np.ndarray
    epoch: np.ndarray
    sequence: np.ndarray


def locate(plan: MixturePlan, k: int) -> Place:
    """The place of position k; UsageError when the plan has no such position."""
    places = locate_many(plan, np.array([k], np.int64))
    names = _order(plan).names
    return Place(
        plan.phases[int(places.phase[0])].name,
        names[int(places.cell[0])],
        int(places.epoch[0]),
        int(places.sequence[0]),
    )


def locate_many(plan: MixturePlan, ks: np.ndarray) -> Places:
    """The places of positions `ks`, int64[n] in any order; UsageError when the plan has no such position."""
    order = _order(plan)
    ks = np.ascontiguousarray(ks, np.int64)
    outside = ks[(ks < 0) | (ks >= plan.sequences)]
    if len(outside):
        raise UsageError(
            f"position {outside[0]:,} is outside the plan; its {plan.sequences:,} sequences are positions 0 to "
            f"{plan.sequences - 1:,}"
        )
    phase = np.searchsorted(order.first, ks, side="right") - 1
    cell, draw = descend(ks - order.first[phase], phase, *order.forest)
    draw += order.drawn_before[phase, cell]
    size = order.sizes[cell]
    epoch = draw // size
    return Places(phase, cell, epoch, permute(draw - epoch * size, size, order.keys[cell], epoch))


def prefix_bound(plan: MixturePlan) -> dict[str, float]:
    """By phase, the most sequences by which any cell's draws in any prefix of the phase differ from exact proportion.

    In a window that starts elsewhere they differ by at most twice that.
    """
    return {phase.name: bound for phase, bound in zip(plan.phases, _order(plan).bounds, strict=True)}


class _Forest(NamedTuple):
    """The trees of all phases, as kernels/interleave.descend takes them."""

    root: np.ndarray
    slack: np.ndarray
    small_child: np.ndarray
    large_child: np.ndarray
    small: np.ndarray
    total: np.ndarray
    key: np.ndarray


@dataclass(frozen=True)
class _Order:
    names: tuple[str, ...]
    first: np.ndarray  # int64[phases], position of each phase's first sequence
    drawn_before: np.ndarray  # int64[phases, cells], draws of a cell in earlier phases
    sizes: np.ndarray  # int64[cells]
    keys: np.ndarray  # uint64[cells]
    forest: _Forest
    bounds: tuple[float, ...]


@lru_cache(maxsize=16)
def _order(plan: MixturePlan) -> _Order:
    names = tuple(plan.cells)
    counts = [[phase.cells[name].sequences for name in names] for phase in plan.phases]
    trees: list[_Tree] = []
    for row in counts:
        trees.append(_tree(row, sum(len(tree.nodes) for tree in trees)))
    drawn = np.cumsum(np.array([[0] * len(names), *counts[:-1]], np.int64), axis=0)
    lengths = np.array([0, *(phase.sequences for phase in plan.phases[:-1])], np.int64)
    return _Order(
        names=names,
        first=np.cumsum(lengths),
        drawn_before=drawn,
        sizes=np.array([plan.cells[name].sequences for name in names], np.int64),
        keys=np.array([cell_key(plan.seed, name) for name in names], np.uint64),
        forest=_forest(trees, plan.plan_hash),
        bounds=tuple(tree.bound for tree in trees),
    )


class _Node(NamedTuple):
    """A merge of two children (a node's number, or -1 - cell), the first with `small` of the `total` draws."""

    small_child: int
    large_child: int
    small: int
    total: int


class _Tree(NamedTuple):
    root: int
    nodes: list[_Node]
    slack: int
    bound: float


def _tree(counts: Sequence[int], first_node: int) -> _Tree:
    """The Huffman tree over the cells with draws: the two entries with the fewest are merged until one is left.

    Ties fall to the earlier cell, and to cells before nodes. Nodes are numbered from `first_node`.
    """
    heap = [(count, cell, -1 - cell) for cell, count in enumerate(counts) if count]
    heapq.heapify(heap)
    nodes: list[_Node] = []
    while len(heap) > 1:
        few, _, small_child = heapq.heappop(heap)
        more, _, large_child = heapq.heappop(heap)
        heapq.heappush(heap, (few + more, len(counts) + len(nodes), first_node + len(nodes)))
        nodes.append(_Node(small_child, large_child, few, few + more))
    reach = _reach(nodes, first_node)
    slack = SLACK_UNIT if reach <= 1 else max(SLACK_UNIT // 2, int(SLACK_UNIT / reach))
    return _Tree(heap[0][2], nodes, slack, slack / SLACK_UNIT * reach)


def _reach(nodes: Sequence[_Node], first_node: int) -> float:
    """The largest sum of n / m over the nodes from a leaf (itself counted) up to the child of the root."""
    above = [0.0] * len(nodes)
    largest = 0.0
    for number in reversed(range(len(nodes))):
        node = nodes[number]
        for child, draws in ((node.small_child, node.small), (node.large_child, node.total - node.small)):
            if child < 0:
                largest = max(largest, draws * above[number] + 1.0)
            else:
                above[child - first_node] = above[number] + 1.0 / draws
    return largest


def _forest(trees: Sequence[_Tree], plan_hash: str) -> _Forest:
    nodes = np.array([node for tree in trees for node in tree.nodes], np.int64).reshape(-1, 4)
    keys = [xxhash.xxh3_64_intdigest(json.dumps(["node", plan_hash, number]).encode()) for number in range(len(nodes))]
    small_child, large_child, small, total = (np.ascontiguousarray(column) for column in nodes.T)
    return _Forest(
        root=np.array([tree.root for tree in trees], np.int64),
        slack=np.array([tree.slack for tree in trees], np.int64),
        small_child=small_child,
        large_child=large_child,
        small=small,
        total=total,
        key=np.array(keys, np.uint64),
    )
