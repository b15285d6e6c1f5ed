"""Bucket edges against brute force over single bytes, and their independence of shards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonnage.quality.buckets import GRID, bucket_of, edges, histogram, merge

DOCUMENTS = st.lists(
    st.tuples(st.floats(0, 1, width=32), st.integers(0, 50)) | st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.just(9)),
    max_size=60,
)


def columns(documents: list[tuple[float, int]]) -> tuple[np.ndarray, np.ndarray]:
    scores = np.array([score for score, _ in documents], np.float32)
    return scores, np.array([size for _, size in documents], np.int64)


@given(documents=DOCUMENTS, buckets=st.integers(1, 7))
def test_an_edge_is_the_first_border_with_its_share_of_bytes_below(
    documents: list[tuple[float, int]], buckets: int
) -> None:
    scores, sizes = columns(documents)
    found = edges(histogram(scores, sizes), buckets)
    each_byte = sorted(int(np.floor(np.float64(score) * GRID)) for score, size in documents for _ in range(size))
    assert len(found) == buckets - 1
    if not each_byte:
        assert found == [index / buckets for index in range(1, buckets)]
        return
    for index, edge in enumerate(found, 1):
        wanted = -(-len(each_byte) * index // buckets)
        assert edge == (each_byte[wanted - 1] + 1) / GRID


@given(documents=DOCUMENTS, cut=st.integers(0, 60), buckets=st.integers(1, 5))
def test_shards_in_any_order_give_the_edges_of_the_whole(
    documents: list[tuple[float, int]], cut: int, buckets: int
) -> None:
    scores, sizes = columns(documents)
    parts = [histogram(scores[cut:], sizes[cut:]), histogram(scores[:cut], sizes[:cut])]
    assert edges(merge(parts), buckets) == edges(histogram(scores, sizes), buckets)


def test_buckets_of_even_scores_hold_even_bytes() -> None:
    scores = np.random.default_rng(3).random(20_000).astype(np.float32)
    sizes = np.random.default_rng(4).integers(1, 1000, 20_000)
    bucket = bucket_of(scores, edges(histogram(scores, sizes), 5))
    shares = np.bincount(bucket, weights=sizes) / sizes.sum()
    assert shares == pytest.approx([0.2] * 5, abs=0.001)


def test_a_score_on_an_edge_lies_above_it() -> None:
    assert bucket_of(np.array([0.0, 0.25, 0.5, 1.0], np.float32), [0.25, 0.5]).tolist() == [0, 1, 2, 2]


def test_sums_are_exact_beyond_float64() -> None:
    sizes = np.array([2**53, 1, 1], np.int64)
    assert histogram(np.zeros(3, np.float32), sizes).bytes.tolist() == [2**53 + 2]
