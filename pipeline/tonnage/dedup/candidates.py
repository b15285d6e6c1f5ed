"""Candidates for fuzzy duplicates: documents that share a band, brought together in groups.

Map sends the bands of the documents that take part to partitions; match joins, within each partition, documents that
share a band; star rounds then make one group of whatever hangs together across partitions (alternating large-star and
small-star, Kiveris et al. 2014, "Connected Components in MapReduce and Beyond"), until a round changes nothing. Every
step holds one partition in memory. Groups only bring texts together: whether a document falls is verification's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tonnage.dedup.corpus import ROW_BITS, Place, nodes_of
from tonnage.dedup.signatures import Banding, bands_of
from tonnage.exchange import PartitionWriter, gather_partition, writing_partitions
from tonnage.kernels.forest import components
from tonnage.kernels.hashing import mixed_all
from tonnage.store.documents import read_row_groups
from tonnage.store.files import file_fact, join
from tonnage.store.layout import exchange_path
from tonnage.store.receipts import Receipt, write_receipt

STEP = "fuzzy"
MAP, MATCH, LARGE_STAR, SMALL_STAR, GROUPS = "map", "match", "large-star", "small-star", "groups"
RECORDS_A_PARTITION = 1 << 21  # 24 bytes a record: 50 MB of a partition, and a few times that while it is sorted
MOST_ROUNDS = 60  # a path of n documents takes O(log n) rounds or fewer; 60 would do for 2^60

BANDS = pa.schema(
    [
        pa.field("band", pa.uint64(), nullable=False),
        pa.field("node", pa.int64(), nullable=False),
        pa.field("shingles", pa.int64(), nullable=False),
    ]
)
EDGES = pa.schema(
    [
        pa.field("node", pa.int64(), nullable=False),
        pa.field("node_shingles", pa.int64(), nullable=False),
        pa.field("other", pa.int64(), nullable=False),
        pa.field("other_shingles", pa.int64(), nullable=False),
    ]
)
MEMBERS = pa.schema(
    [
        pa.field("node", pa.int64(), nullable=False),
        pa.field("group", pa.int64(), nullable=False),  # the group's least node
        pa.field("parts", pa.int32(), nullable=False),  # into how many parts a group too large for memory is cut
    ]
)


@dataclass(frozen=True)
class MapTask:
    """The bands of one documents shard. Documents with fewer than `least_shingles` shingles take no part."""

    root: str
    key: str
    place: Place
    banding: Banding
    least_shingles: int
    partitions: int


@dataclass(frozen=True)
class PartitionTask:
    """One of `partitions` partitions, read from the `inputs` files named `reads`.

    `turn` counts star rounds; `most_shingles` and `shards` are for groups: the most shingles of a part of a group, and
    how many documents shards members are sent to.
    """

    root: str
    key: str
    partition: int
    partitions: int
    reads: str
    inputs: int
    turn: int = 0
    most_shingles: int = 0
    shards: int = 0


def partitions_for(records: int) -> int:
    """How many partitions keep a task's memory bounded."""
    return max(1, -(-records // RECORDS_A_PARTITION))


def name_of_round(step: str, turn: int) -> str:
    """The name of the files of one half of a star round."""
    return f"{step}-{turn:02d}"


def map_bands(task: MapTask) -> Receipt:
    """Sends every band of the shard's documents to its partition, a row group of signatures at a time."""
    start = time.perf_counter()
    takes_part = task.place.takes_part() & (not task.place.part.exempt)
    path = exchange_path(STEP, task.key, MAP, task.place.ordinal)
    documents = members = 0
    with writing_partitions(join(task.root, path), BANDS, task.partitions) as writer:
        for batch in read_row_groups(task.place.signatures, ["shingles", "signature"]):
            enough = batch.column("shingles").to_numpy() >= task.least_shingles
            rows = np.flatnonzero(takes_part[documents : documents + batch.num_rows] & enough)
            _send_bands(task, writer, batch, rows, documents)
            documents += batch.num_rows
            members += len(rows)
        records = writer.rows
    counts = {"documents": documents, "members": members, "records": records}
    return _written(task.root, task.key, f"{MAP}/{task.place.task}", path, counts, start)


def _send_bands(task: MapTask, writer: PartitionWriter, batch: pa.RecordBatch, rows: np.ndarray, first: int) -> None:
    chosen = batch.take(pa.array(rows))
    bands = bands_of(chosen.column("signature"), task.banding)
    nodes = nodes_of(task.place.ordinal, rows + first)
    columns = [
        bands.ravel(),
        np.repeat(nodes, bands.shape[1]),
        np.repeat(chosen.column("shingles").to_numpy(), bands.shape[1]),
    ]
    table = pa.Table.from_arrays([pa.array(column) for column in columns], schema=BANDS)
    writer.write(table, (columns[0] % np.uint64(task.partitions)).astype(np.int64))


def _written(root: str, key: str, name: str, path: str, counts: Mapping[str, Any], start: float) -> Receipt:
    fact = file_fact(root, path, next(iter(counts.values())))
    return write_receipt(root, Receipt(STEP, key, name, (fact,), counts, round(time.perf_counter() - start, 3)))


def _read(task: PartitionTask) -> dict[str, np.ndarray]:
    paths = [join(task.root, exchange_path(STEP, task.key, task.reads, number)) for number in range(task.inputs)]
    table = gather_partition(paths, task.partition, task.partitions)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def match(task: PartitionTask) -> Receipt:
    """Joins documents that share a band of this partition: an edge from each to the least document it hangs with."""
    start = time.perf_counter()
    columns = _read(task)
    order = np.lexsort([columns["node"], columns["band"]])
    band, node, shingles = (columns[name][order] for name in BANDS.names)
    first = np.ones(len(order), bool)
    first[1:] = band[1:] != band[:-1]
    head = node[np.flatnonzero(first)[np.cumsum(first) - 1]] if len(order) else node
    nodes, roots = components(node[~first], head[~first])
    weights = _looked_up(nodes, node, shingles)
    edges = _edges(nodes, weights, roots, _looked_up(roots, nodes, weights))
    return _send_edges(task, MATCH, edges, {"records": len(order)}, start)


def _looked_up(wanted: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value of each key wanted; every one is among `keys`, which may repeat."""
    order = np.argsort(keys, kind="stable")
    return values[order][np.searchsorted(keys[order], wanted)]


Edges = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # as EDGES, the second node the lesser


def _edges(node: np.ndarray, node_shingles: np.ndarray, other: np.ndarray, other_shingles: np.ndarray) -> Edges:
    """Edges without loops."""
    real = node != other
    return node[real], node_shingles[real], other[real], other_shingles[real]


def _send_edges(
    task: PartitionTask, step: str, edges: Edges, counts: Mapping[str, int], start: float, *, both: bool = True
) -> Receipt:
    """Writes edges to the partition of their first node; with `both`, also turned round to that of the second."""
    node, node_shingles, other, other_shingles = edges
    columns = list(edges)
    if both:
        turned = (other, other_shingles, node, node_shingles)
        columns = [np.concatenate(pair) for pair in zip(edges, turned, strict=True)]
    path = exchange_path(STEP, task.key, step, task.partition)
    with writing_partitions(join(task.root, path), EDGES, task.partitions) as writer:
        table = pa.Table.from_arrays([pa.array(column) for column in columns], schema=EDGES)
        writer.write(table, (mixed_all(columns[0].astype(np.uint64)) % np.uint64(task.partitions)).astype(np.int64))
    return _written(task.root, task.key, f"{step}/{task.partition:06d}", path, counts, start)


@dataclass(frozen=True)
class _Stars:
    """The distinct edges of one partition by node; `least` is the least of a node and all its others."""

    node: np.ndarray
    node_shingles: np.ndarray
    other: np.ndarray
    other_shingles: np.ndarray
    least: np.ndarray
    least_shingles: np.ndarray


def _stars(columns: Mapping[str, np.ndarray]) -> _Stars:
    order = np.lexsort([columns["other"], columns["node"]])
    node, node_shingles, other, other_shingles = (columns[name][order] for name in EDGES.names)
    distinct = np.ones(len(node), bool)
    distinct[1:] = (node[1:] != node[:-1]) | (other[1:] != other[:-1])
    node, node_shingles, other, other_shingles = (c[distinct] for c in (node, node_shingles, other, other_shingles))
    first = np.ones(len(node), bool)
    first[1:] = node[1:] != node[:-1]
    head = np.flatnonzero(first)[np.cumsum(first) - 1] if len(node) else np.zeros(0, np.int64)
    lesser = other[head] < node
    least = np.where(lesser, other[head], node)
    return _Stars(
        node, node_shingles, other, other_shingles, least, np.where(lesser, other_shingles[head], node_shingles)
    )


def large_star(task: PartitionTask) -> Receipt:
    """Links every neighbour greater than a node to the least of the node's neighbourhood.

    Counts the distinct edges that came in, and a sum of their hashes: equal to that of the round before, nothing
    changed.
    """
    start = time.perf_counter()
    stars = _stars(_read(task))
    greater = stars.other > stars.node
    edges = _edges(
        stars.other[greater], stars.other_shingles[greater], stars.least[greater], stars.least_shingles[greater]
    )
    pairs = mixed_all(stars.node[greater].astype(np.uint64)) * np.uint64(3) + stars.other[greater].astype(np.uint64)
    counts = {"edges": len(pairs), "digest": int(np.sum(mixed_all(pairs), dtype=np.uint64))}
    return _send_edges(task, name_of_round(LARGE_STAR, task.turn), edges, counts, start, both=False)


def small_star(task: PartitionTask) -> Receipt:
    """Links every neighbour less than a node, and the node itself, to the least of them."""
    start = time.perf_counter()
    stars = _stars(_read(task))
    first = np.ones(len(stars.node), bool)
    first[1:] = stars.node[1:] != stars.node[:-1]
    edges = _edges(
        np.concatenate([stars.other, stars.node[first]]),
        np.concatenate([stars.other_shingles, stars.node_shingles[first]]),
        np.concatenate([stars.least, stars.least[first]]),
        np.concatenate([stars.least_shingles, stars.least_shingles[first]]),
    )
    return _send_edges(task, name_of_round(SMALL_STAR, task.turn), edges, {"edges": len(edges[0])}, start)


def group(task: PartitionTask) -> Receipt:
    """Sends each member of the groups whose least document is of this partition to its documents shard."""
    start = time.perf_counter()
    stars = _stars(_read(task))
    mine = stars.least == stars.node
    node, other = stars.node[mine], stars.other[mine]
    first = np.ones(len(node), bool)
    first[1:] = node[1:] != node[:-1]
    heads = np.flatnonzero(first)
    members = np.diff(np.append(heads, len(node))) + 1
    shingles = stars.node_shingles[mine][heads]
    if len(heads):
        shingles = shingles + np.add.reduceat(stars.other_shingles[mine], heads)
    parts = np.maximum(1, -(-shingles // task.most_shingles)).astype(np.int32)
    sizes = members - 1
    table = pa.Table.from_arrays(
        [
            pa.array(np.concatenate([node[heads], other])),
            pa.array(np.concatenate([node[heads], node])),
            pa.array(np.concatenate([parts, np.repeat(parts, sizes)])),
        ],
        schema=MEMBERS,
    )
    path = exchange_path(STEP, task.key, GROUPS, task.partition)
    with writing_partitions(join(task.root, path), MEMBERS, task.shards) as writer:
        writer.write(table, table.column("node").to_numpy() >> ROW_BITS)
    counts = {
        "members": len(table),
        "groups": len(heads),
        "shingles": int(shingles.sum()),
        "largest": int(members.max(initial=0)),
        "cut": int(np.count_nonzero(parts > 1)),
        "cut_members": int(members[parts > 1].sum()),
    }
    return _written(task.root, task.key, f"{GROUPS}/{task.partition:06d}", path, counts, start)
