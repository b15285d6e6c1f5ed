"""Connected components of a graph in memory: union-find, each component named by its least node.

Graphs that do not fit in memory are for dedup, which calls this for the parts of one.
"""

from __future__ import annotations

import numpy as np

from tonnage.kernels.compiled import kernel


def components(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nodes int64[n] rising, root int64[n]) of the graph with edges left[i] - right[i] (int64[m]).

    `root` is the least node of each node's component. Every node of an edge is there, each once.
    """
    nodes, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    parent = np.arange(len(nodes))
    _join(places[: len(left)], places[len(left) :], parent)
    return nodes, nodes[parent]


@kernel
def _root(parent, node):
    """The root of `node`; every second link on the way is shortened (path halving)."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def _join(left, right, parent):
    for edge in range(len(left)):
        a = _root(parent, left[edge])
        b = _root(parent, right[edge])
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    for node in range(len(parent)):
        parent[node] = _root(parent, node)
