"""Keyed permutations: bijections of any size, new under every key, without a trace of the order they came from."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels.permute import MAX_SIZE, permute_many


def permutation(size: int, key: int, epoch: int = 0) -> np.ndarray:
    return permute_many(
        np.arange(size), np.full(size, size), np.full(size, key, np.uint64), np.full(size, epoch, np.int64)
    )


@pytest.mark.parametrize("size", [*range(1, 70), 4_095, 4_096, 4_097, 99_991])
def test_every_index_comes_once(size: int) -> None:
    assert np.array_equal(np.sort(permutation(size, 0xDEADBEEF)), np.arange(size))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3_000), st.integers(0, 2**64 - 1), st.integers(0, 10_000))
def test_every_index_comes_once_under_any_key(size: int, key: int, epoch: int) -> None:
    assert np.array_equal(np.sort(permutation(size, key, epoch)), np.arange(size))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, MAX_SIZE), st.integers(0, 2**64 - 1), st.data())
def test_very_large_sizes_stay_inside_and_never_collide(size: int, key: int, data: st.DataObject) -> None:
    index = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=50))), np.int64)
    filled = np.full(len(index), size), np.full(len(index), key, np.uint64), np.zeros(len(index), np.int64)
    places = permute_many(index, *filled)
    assert places.min() >= 0 and places.max() < size
    assert len(np.unique(places)) == len(index)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_all_permutations_of_a_few_are_equally_likely(size: int) -> None:
    keys = 6_000
    everything = permute_many(
        np.tile(np.arange(size), keys),
        np.full(size * keys, size),
        np.full(size * keys, 77, np.uint64),
        np.repeat(np.arange(keys), size),
    ).reshape(keys, size)
    seen = Counter(map(tuple, everything.tolist()))
    wanted = list(permutations(range(size)))
    expected = keys / len(wanted)
    free = len(wanted) - 1
    chi_square = sum((seen[way] - expected) ** 2 for way in wanted) / expected
    assert chi_square < free + 5 * (2 * free) ** 0.5


def test_epochs_and_keys_give_unrelated_permutations() -> None:
    size = 10_000
    first, next_epoch, next_key = permutation(size, 5, 0), permutation(size, 5, 1), permutation(size, 6, 0)
    for other in (next_epoch, next_key):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.05
        assert np.count_nonzero(first == other) < 10
    assert abs(np.corrcoef(first, np.arange(size))[0, 1]) < 0.05
    steps = np.diff(first)
    assert Counter(steps.tolist()).most_common(1)[0][1] < 10  # an affine permutation would repeat one step
