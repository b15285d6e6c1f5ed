"""Apportionment: totals exact, every entry within one of its ideal, no cell beyond its limit."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.mixture.apportion import Demand, allot, apportion, largest_remainder, small_cells

WEIGHTS = st.lists(
    st.one_of(
        st.just(Fraction(0)),
        st.fractions(min_value=Fraction(1, 10**9), max_value=1, max_denominator=10**9),
        st.decimals(min_value="0.000001", max_value=1, places=6).map(lambda value: Fraction(str(value))),
    ),
    min_size=1,
    max_size=12,
).filter(any)
TOTALS = st.one_of(st.integers(0, 50), st.integers(0, 10**10))


def ideal(total: int, weights: list[Fraction]) -> list[Fraction]:
    return [total * weight / sum(weights) for weight in weights]


@settings(max_examples=150, deadline=None)
@given(TOTALS, WEIGHTS)
def test_total_is_exact_and_every_entry_within_one_of_its_ideal(total: int, weights: list[Fraction]) -> None:
    counts = largest_remainder(total, weights)
    assert sum(counts) == total
    for count, wanted, weight in zip(counts, ideal(total, weights), weights, strict=True):
        assert abs(count - wanted) < 1
        assert weight or count == 0


@settings(max_examples=100, deadline=None)
@given(TOTALS, WEIGHTS)
def test_a_larger_weight_never_gets_less(total: int, weights: list[Fraction]) -> None:
    counts = largest_remainder(total, weights)
    ranked = sorted(zip(weights, counts, strict=True))
    for (small, few), (large, more) in pairwise(ranked):
        assert small == large or few <= more


@settings(max_examples=100, deadline=None)
@given(TOTALS, WEIGHTS, st.randoms(use_true_random=False))
def test_order_of_entries_decides_only_ties(total: int, weights: list[Fraction], random) -> None:
    order = list(range(len(weights)))
    random.shuffle(order)
    counts = largest_remainder(total, weights)
    shuffled = largest_remainder(total, [weights[entry] for entry in order])
    by_weight = sorted(zip(weights, counts, strict=True))
    assert by_weight == sorted(zip((weights[entry] for entry in order), shuffled, strict=True))


def test_ties_fall_to_the_earlier_entry() -> None:
    assert largest_remainder(5, [Fraction(1, 3)] * 3) == [2, 2, 1]


@settings(max_examples=150, deadline=None)
@given(TOTALS, WEIGHTS)
def test_tail_is_one_entry_whose_sequences_go_to_its_largest(total: int, weights: list[Fraction]) -> None:
    counts = apportion(total, weights, tail=True)
    members = small_cells(total, weights)
    wanted = ideal(total, weights)
    assert sum(counts) == total
    assert members == sorted((e for e, share in enumerate(wanted) if 0 < share < 1), key=lambda e: (-weights[e], e))
    served = sum(counts[entry] for entry in members)
    assert abs(served - sum((wanted[entry] for entry in members), Fraction(0))) < 1
    assert [counts[entry] for entry in members] == [1] * served + [0] * (len(members) - served)
    for entry, share in enumerate(wanted):
        if entry not in members:
            assert abs(counts[entry] - share) < 1
            assert counts[entry] or not share


DEMANDS = st.integers(2, 6).flatmap(
    lambda cells: st.tuples(
        st.lists(
            st.builds(
                Demand,
                sequences=st.integers(1, 2_000),
                weights=st.lists(st.integers(0, 9).map(lambda n: Fraction(n, 10)), min_size=cells, max_size=cells)
                .filter(any)
                .map(tuple),
                tail=st.booleans(),
                redistribute=st.booleans(),
            ),
            min_size=1,
            max_size=3,
        ),
        st.lists(st.integers(0, 2_000), min_size=cells, max_size=cells),
    )
)


@settings(max_examples=300, deadline=None)
@given(DEMANDS)
def test_allotment_keeps_totals_and_limits(case: tuple[list[Demand], list[int]]) -> None:
    demands, limits = case
    allotment = allot(demands, limits)
    plain = [apportion(demand.sequences, demand.weights, demand.tail) for demand in demands]
    if not any(demand.redistribute for demand in demands):
        within = all(sum(column) <= limit for column, limit in zip(zip(*plain, strict=True), limits, strict=True))
        assert allotment.holds == within
    if not allotment.holds:
        return
    for phase, demand in enumerate(demands):
        assert sum(allotment.counts[phase]) == demand.sequences
        assert all(weight or not n for weight, n in zip(demand.weights, allotment.counts[phase], strict=True))
        if not demand.redistribute:
            assert list(allotment.counts[phase]) == plain[phase]
    for column, limit in zip(zip(*allotment.counts, strict=True), limits, strict=True):
        assert sum(column) <= limit


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 400)), min_size=2, max_size=8),
    st.integers(1, 1_500),
)
def test_one_redistributed_phase_is_water_filling(cells: list[tuple[int, int]], total: int) -> None:
    """Every cell gets min(limit, level * weight) for one common level, found here by bisection, within rounding."""
    weights = [Fraction(weight, 100) for weight, _ in cells]
    limits = [limit for _, limit in cells]
    allotment = allot([Demand(total, tuple(weights), redistribute=True)], limits)
    assert allotment.holds == (total <= sum(limits))
    if not allotment.holds:
        return
    low, high = 0.0, 1e9
    for _ in range(200):
        level = (low + high) / 2
        filled = sum(min(limit, level * float(weight)) for weight, limit in zip(weights, limits, strict=True))
        low, high = (level, high) if filled < total else (low, level)
    for weight, limit, count in zip(weights, limits, allotment.counts[0], strict=True):
        assert count <= limit
        # Rounding to whole sequences moves a cell by one, and by the ones that a cell cut by rounding alone hands on.
        assert abs(count - min(limit, high * float(weight))) <= 2


def test_cells_cut_in_two_phases_are_divided_as_the_phases_asked() -> None:
    demands = [
        Demand(900, (Fraction(1, 3), Fraction(2, 3)), redistribute=True),
        Demand(100, (Fraction(1), Fraction(0)), redistribute=False),
    ]
    allotment = allot(demands, [250, 10_000])
    assert allotment.counts == ((150, 750), (100, 0))
    both = [demands[0], Demand(200, (Fraction(1, 2), Fraction(1, 2)), redistribute=True)]
    assert allot(both, [200, 10_000]).counts == ((150, 750), (50, 150))
