"""Even merges: every draw of every leaf once and in order, no prefix off by more than the slack, exact at any size."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels.interleave import MAX_TOTAL, SLACK_UNIT, _divide, _place_of_draw, descend
from tonnage.kernels.permute import derive


def merge(small: int, total: int, slack: int, positions: np.ndarray, key: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """One node over two leaves, 0 with `small` draws and 1 with the others."""
    tree = [[0], [slack], [-1], [-2], [small], [total]]
    arrays = [np.array(column, np.int64) for column in tree]
    return descend(positions, np.zeros(len(positions), np.int64), *arrays, np.array([key], np.uint64))


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 120), st.integers(0, 400), st.integers(SLACK_UNIT // 2, SLACK_UNIT), st.integers(0, 2**64 - 1))
def test_a_node_draws_each_child_in_order_and_keeps_the_slack(small: int, more: int, slack: int, key: int) -> None:
    total = 2 * small + more
    leaf, draw = merge(small, total, slack, np.arange(total), key)
    assert np.array_equal(draw[leaf == 0], np.arange(small))
    assert np.array_equal(draw[leaf == 1], np.arange(total - small))
    drawn = 0
    for position in range(total + 1):
        assert abs(drawn - Fraction(position * small, total)) <= Fraction(slack, SLACK_UNIT)
        if position < total:
            drawn += int(leaf[position] == 0)


def test_places_within_the_slack_are_all_used() -> None:
    total, small = 40_000, 4_000
    leaf, _ = merge(small, total, SLACK_UNIT, np.arange(total))
    used = np.bincount(np.flatnonzero(leaf == 0) % 10, minlength=10)
    assert abs(used - small / 10).max() < 5 * (small / 10) ** 0.5


@settings(max_examples=300, deadline=None)
@given(st.integers(1, MAX_TOTAL // 2), st.integers(0, MAX_TOTAL), st.integers(0, 2**62), st.integers(8, SLACK_UNIT))
def test_places_of_draws_are_exact_at_any_size(small: int, more: int, draw: int, slack: int) -> None:
    total = min(2 * small + more, MAX_TOTAL)
    draw %= small
    rho, reach, key = Fraction(total, small), Fraction(slack, SLACK_UNIT), 31
    first = max(ceil(rho * draw), ceil(rho * (draw + 1 - reach)) - 1)
    last = min(ceil(rho * (draw + 1)) - 1, floor(rho * (draw + reach)))
    place = first + int(derive(np.uint64(key), draw)) % (last - first + 1)
    assert _place_of_draw(draw, small, total, slack, np.uint64(key)) == place
    around = np.array(sorted({max(place - 1, 0), place, min(place + 1, total - 1)}), np.int64)
    leaf, index = merge(small, total, slack, around, key)
    at = int(np.flatnonzero(around == place)[0])
    assert (leaf[at], index[at]) == (0, draw)
    for position, branch, number in zip(around.tolist(), leaf.tolist(), index.tolist(), strict=True):
        assert branch == 0 or number == position - draw - (position > place)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**52), st.integers(1, MAX_TOTAL), st.integers(1, 2**52))
def test_products_beyond_64_bits_divide_exactly(a: int, b: int, divisor: int) -> None:
    a %= MAX_TOTAL * divisor // b + 1  # quotients up to MAX_TOTAL are what it is for
    assert _divide(a, b, divisor) == divmod(a * b, divisor)


@pytest.mark.parametrize("slack", [8, 11, 16])
def test_a_tree_of_merges_draws_every_leaf_in_order(slack: int) -> None:
    counts = [3, 5, 8, 40]  # ((3 + 5) + 8) + 40
    columns = [[2], [slack], [-1, 0, 1], [-2, -3, -4], [3, 8, 16], [8, 16, 56]]
    arrays = [np.array(column, np.int64) for column in columns]
    leaf, draw = descend(np.arange(56), np.zeros(56, np.int64), *arrays, np.array([1, 2, 3], np.uint64))
    for number, count in enumerate(counts):
        assert np.array_equal(draw[leaf == number], np.arange(count))
