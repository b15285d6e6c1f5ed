"""Connected components against SciPy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tonnage.kernels.forest import components

EDGES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30)


@settings(max_examples=200, deadline=None)
@given(EDGES)
def test_components_are_those_of_scipy_each_named_by_its_least_node(edges: list[tuple[int, int]]) -> None:
    left, right = (np.array(side, np.int64) for side in zip(*edges, strict=True)) if edges else (np.zeros(0, int),) * 2
    nodes, roots = components(left, right)
    assert nodes.tolist() == sorted({node for edge in edges for node in edge})
    _, labels = connected_components(coo_array((np.ones(len(left)), (left, right)), shape=(21, 21)), directed=False)
    for node, root in zip(nodes.tolist(), roots.tolist(), strict=True):
        assert root == min(other for other in range(21) if labels[other] == labels[node])
