"""Weights: exact decimals, a simplex over all cells, refused with the mend otherwise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tonnage.errors import UsageError
from tonnage.mixture import PhaseRequest, Proportional
from tonnage.mixture.weights import exact_shares, resolve_weights

AVAILABLE = {"books": 30, "code": 10, "web": 60}


def resolve(weights, normalise=False, available=AVAILABLE):
    return resolve_weights(PhaseRequest("main", 1.0, weights), available, normalise)


def test_decimals_are_taken_as_written() -> None:
    weights = resolve({"books": 0.1, "code": 0.2, "web": 0.7})
    assert weights.exact == (Fraction(1, 10), Fraction(2, 10), Fraction(7, 10))
    assert weights.planned == weights.asked == (0.1, 0.2, 0.7)
    assert weights.notes == ()


def test_a_sum_that_differs_by_rounding_alone_is_one() -> None:
    weights = resolve({"books": 1 / 3, "code": 1 / 3, "web": 1 / 3})
    assert weights.exact == (Fraction(1, 3),) * 3
    assert weights.notes == ()


@pytest.mark.parametrize("table", [{"web": 0.5, "books": 0.3, "code": 0.3}, {"web": 0.9}, {"web": 1.00000001}])
def test_a_sum_other_than_one_is_refused_unless_normalised(table) -> None:
    total = sum(table.values())
    with pytest.raises(UsageError, match=rf"phase main: its weights sum to {total:.10g}, not 1.*normalise: true"):
        resolve(table)
    weights = resolve(table, normalise=True)
    assert sum(weights.exact) == 1
    assert sum(weights.planned) == pytest.approx(1)
    assert weights.asked == tuple(table.get(cell, 0.0) for cell in AVAILABLE)
    assert any(f"{total:.10g} and were divided by it" in note for note in weights.notes)


def test_a_cell_left_out_weighs_nothing_and_is_named() -> None:
    weights = resolve({"web": 0.5, "books": 0.5})
    assert weights.exact[1] == 0
    assert any("weight 0: code" in note for note in weights.notes)


def test_an_unknown_cell_is_refused_with_near_names_and_the_cells() -> None:
    with pytest.raises(UsageError, match=r"name wed,.*did you mean web\? cells are books, code, web"):
        resolve({"wed": 0.5, "books": 0.5})
    with pytest.raises(UsageError, match=r"name zzz, .*cells are books, code, web"):
        resolve({"zzz": 0, "books": 1})


@pytest.mark.parametrize(
    ("weight", "message"),
    [(-0.5, "weights are 0 or more"), (float("nan"), "finite"), (float("inf"), "finite"), (True, "finite")],
)
def test_a_weight_that_is_none_is_refused(weight, message) -> None:
    with pytest.raises(UsageError, match=rf"weight of cell web is .*{message}"):
        resolve({"web": weight, "books": 1.5})


@pytest.mark.parametrize("table", [{}, {"web": 0, "books": 0.0}])
def test_weights_of_nothing_are_refused_even_with_normalise(table) -> None:
    with pytest.raises(UsageError, match="sum to 0"):
        resolve(table, normalise=True)


def test_a_weighted_cell_without_a_whole_sequence_is_refused() -> None:
    with pytest.raises(UsageError, match=r"cell code has weight 0.2 but no whole sequence"):
        resolve({"code": 0.2, "web": 0.8}, available=AVAILABLE | {"code": 0})


def test_proportional_is_the_share_of_what_can_be_read() -> None:
    weights = resolve(Proportional(), available=AVAILABLE | {"code": 0})
    assert weights.exact == (Fraction(1, 3), 0, Fraction(2, 3))
    assert any("not read: code" in note for note in weights.notes)
    with pytest.raises(UsageError, match="no cell holds one whole sequence"):
        resolve(Proportional(), available={"code": 0})


@pytest.mark.parametrize("shares", [(0.8, 0.1), (0.8, 0.3), (1.2, -0.2), (1.0, 0.0), (float("nan"), 0.5)])
def test_shares_are_above_nothing_and_sum_to_one(shares) -> None:
    phases = tuple(PhaseRequest(f"p{n}", share, Proportional()) for n, share in enumerate(shares))
    with pytest.raises(UsageError, match="share"):
        exact_shares(phases)


def test_shares_are_exact() -> None:
    phases = tuple(PhaseRequest(f"p{n}", share, Proportional()) for n, share in enumerate((0.7, 0.2, 0.1)))
    assert exact_shares(phases) == (Fraction(7, 10), Fraction(2, 10), Fraction(1, 10))
