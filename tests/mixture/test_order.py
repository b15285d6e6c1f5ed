"""The order: a pure function of the position, exact at the borders, even in between, new in every epoch."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.errors import UsageError
from tonnage.mixture import (
    MixturePlan,
    MixtureRequest,
    PhaseRequest,
    Places,
    Proportional,
    locate,
    locate_many,
    plan_mixture,
    prefix_bound,
)

LENGTH = 10


def planned(cells: dict[str, int], *phases: tuple[float, dict[str, float] | Proportional], total: int, seed: int = 17):
    """A plan of `total` sequences over cells given by their sequences."""
    asked = tuple(PhaseRequest(f"phase{n}", share, weights) for n, (share, weights) in enumerate(phases))
    request = MixtureRequest(total * LENGTH, LENGTH, 1e9, False, seed, asked)
    return plan_mixture(request, {cell: count * LENGTH for cell, count in cells.items()})


def whole(plan: MixturePlan) -> Places:
    return locate_many(plan, np.arange(plan.sequences))


def rows(places: Places) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in places), strict=True))


SMALL = planned(
    {"a": 7, "b": 40, "c": 300, "d": 1, "e": 50},
    (0.5, {"a": 0.02, "b": 0.3, "c": 0.6, "d": 0.08}),
    (0.3, {"a": 0.1, "b": 0.4, "c": 0.4, "e": 0.1}),
    (0.2, {"e": 1.0}),
    total=1_000,
)


def test_counts_of_every_phase_and_cell_are_the_plan_s() -> None:
    places = whole(SMALL)
    names = list(SMALL.cells)
    for number, phase in enumerate(SMALL.phases):
        seen = Counter(names[cell] for cell in places.cell[places.phase == number])
        assert seen == {cell: share.sequences for cell, share in phase.cells.items() if share.sequences}


def test_epochs_are_read_one_after_the_other_over_phases_and_each_sequence_once_in_each() -> None:
    places = whole(SMALL)
    for number, supply in enumerate(SMALL.cells.values()):
        mine = places.cell == number
        epochs, sequences = places.epoch[mine], places.sequence[mine]
        assert np.array_equal(epochs, np.arange(len(epochs)) // supply.sequences)
        for epoch in np.unique(epochs):
            read = sequences[epochs == epoch]
            assert len(np.unique(read)) == len(read)
            assert read.min() >= 0 and read.max() < supply.sequences
            if epoch < epochs.max():
                assert len(read) == supply.sequences


def test_single_positions_agree_with_many_in_any_order() -> None:
    everything = rows(whole(SMALL))
    names = list(SMALL.cells)
    for k in (0, 1, 499, 500, 799, 800, 999):
        phase, cell, epoch, sequence = everything[k]
        assert locate(SMALL, k) == (SMALL.phases[phase].name, names[cell], epoch, sequence)
    shuffled = np.random.default_rng(1).permutation(SMALL.sequences)
    assert rows(locate_many(SMALL, shuffled)) == [everything[k] for k in shuffled]
    assert rows(locate_many(SMALL, np.array([], np.int64))) == []


@pytest.mark.parametrize("k", [-1, 1_000])
def test_a_position_outside_the_plan_is_refused(k: int) -> None:
    with pytest.raises(UsageError, match="outside the plan; its 1,000 sequences are positions 0 to 999"):
        locate(SMALL, k)


# T15: stopped and resumed, on other numbers of machines, the order is the same.
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 1_000), max_size=6))
def test_the_whole_is_its_resumed_pieces(stops: list[int]) -> None:
    borders = [0, *sorted(stops), SMALL.sequences]
    pieces = [rows(locate_many(SMALL, np.arange(a, b))) for a, b in pairwise(borders)]
    assert [row for piece in pieces for row in piece] == rows(whole(SMALL))


def test_batches_over_changing_worlds_equal_the_uninterrupted_order() -> None:
    batch, position, read = 32, 0, []
    for steps, world in ((7, 4), (12, 2), (100, 8)):
        for _ in range(steps):
            ks = np.arange(position, min(position + batch, SMALL.sequences))
            by_rank = [rows(locate_many(SMALL, ks[rank::world])) for rank in range(world)]
            read += [by_rank[n % world][n // world] for n in range(len(ks))]
            position += len(ks)
    assert read == rows(whole(SMALL))


def test_a_plan_from_disk_gives_the_same_order() -> None:
    back = MixturePlan.from_dict(json.loads(json.dumps(SMALL.to_dict())))
    assert rows(whole(back)) == rows(whole(SMALL))


def test_no_cell_of_a_later_phase_comes_before_its_border() -> None:
    plan = planned({"web": 5_000, "books": 5_000}, (0.5, {"web": 1.0}), (0.5, {"books": 1.0}), total=1_000)
    places = whole(plan)
    assert set(places.cell[:500]) == {list(plan.cells).index("web")}
    assert set(places.cell[500:]) == {list(plan.cells).index("books")}
    assert np.array_equal(places.phase, np.repeat([0, 1], 500))


def test_order_does_not_depend_on_the_order_of_the_request() -> None:
    cells = {f"c{n}": 20 + n for n in range(12)}
    weights = dict.fromkeys(cells, 1 / 16) | {"c3": 5 / 16}
    plan = planned(cells, (1.0, weights), total=500)
    shuffle = random.Random(2).sample
    again = planned(dict(shuffle(list(cells.items()), 12)), (1.0, dict(shuffle(list(weights.items()), 12))), total=500)
    assert rows(whole(again)) == rows(whole(plan))


def test_seed_and_plan_change_the_order_a_cell_keeps_its_own_under_another_mixture() -> None:
    cells = {"a": 500, "b": 400}
    plan = planned(cells, (1.0, {"a": 0.5, "b": 0.5}), total=400)
    reseeded = planned(cells, (1.0, {"a": 0.5, "b": 0.5}), total=400, seed=18)
    other = planned(cells, (1.0, {"a": 0.25, "b": 0.75}), total=400)
    assert rows(whole(plan)) != rows(whole(reseeded))
    assert not np.array_equal(whole(plan).cell, whole(reseeded).cell)
    first, second = whole(plan), whole(other)
    assert np.array_equal(first.sequence[first.cell == 0][:100], second.sequence[second.cell == 0])


# --- even proportions ---------------------------------------------------------------------------------------------


def worst_prefix(plan: MixturePlan, places: Places, number: int) -> Fraction:
    """The largest deviation of any cell from exact proportion over all prefixes of a phase."""
    cells = places.cell[places.phase == number]
    total = len(cells)
    worst = Fraction(0)
    for cell in np.unique(cells):
        drawn = np.concatenate([[0], np.cumsum(cells == cell)])
        # Over the common denominator, in whole numbers.
        off = np.abs(drawn * total - np.arange(total + 1) * drawn[-1])
        worst = max(worst, Fraction(int(off.max()), total))
    return worst


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(0, 2**32))
def test_every_prefix_keeps_its_bound(counts: list[int], seed: int) -> None:
    total = sum(counts)
    cells = {f"c{n:02}": count for n, count in enumerate(counts)}
    plan = planned(cells, (1.0, Proportional()), total=total, seed=seed)
    bound = prefix_bound(plan)["phase0"]
    assert worst_prefix(plan, whole(plan), 0) <= bound + 1e-9
    assert bound < 2
    if len(counts) <= 2:
        assert bound <= 1


@pytest.mark.parametrize("cells", [2, 5, 40, 200])
def test_windows_keep_the_proportions_within_about_one_sequence(cells: int) -> None:
    rng = np.random.default_rng(cells)
    weights = rng.dirichlet(np.full(cells, 0.7)) + 1e-4
    counts = np.maximum((weights / weights.sum() * 40_000).astype(int), 1)
    plan = planned(
        {f"c{n}": int(count) for n, count in enumerate(counts)}, (1.0, Proportional()), total=int(counts.sum())
    )
    places = whole(plan)
    worst = float(worst_prefix(plan, places, 0))
    assert worst <= min(prefix_bound(plan)["phase0"], 1.25)
    total = plan.sequences
    for width in (16, 256, 4_096):
        off = []
        for cell in np.unique(places.cell):
            drawn = np.concatenate([[0], np.cumsum(places.cell == cell)])
            off.append(drawn[width:] - drawn[:-width] - width * drawn[-1] / total)
        deviations = np.concatenate(off)
        assert np.abs(deviations).max() <= 2 * worst + 1e-9
        assert np.sqrt(np.mean(deviations**2)) < 0.7


def test_equal_cells_do_not_fall_into_a_fixed_beat() -> None:
    """A rank that reads every second, fourth, ... position still sees every cell in proportion."""
    plan = planned(dict.fromkeys("abcd", 2_000), (1.0, Proportional()), total=8_000)
    cells = whole(plan).cell
    for stride in (2, 4, 8, 16):
        seen = np.bincount(cells[::stride], minlength=4) / len(cells[::stride])
        assert np.abs(seen - 0.25).max() < 0.08


# --- mixing inside a cell -----------------------------------------------------------------------------------------


def longest_run(topics: np.ndarray) -> int:
    borders = np.flatnonzero(np.diff(topics)) + 1
    return int(np.diff(np.concatenate([[0], borders, [len(topics)]])).max())


def test_a_source_sorted_by_topic_comes_out_mixed() -> None:
    plan = planned({"a": 5_000, "b": 1_000}, (1.0, {"a": 0.5, "b": 0.5}), total=10_000)
    places = whole(plan)
    rng = np.random.default_rng(0)
    for cell, size in ((0, 5_000), (1, 1_000)):
        source = places.sequence[places.cell == cell]
        ranks = np.argsort(np.argsort(source, kind="stable"))
        assert abs(np.corrcoef(ranks, np.arange(len(source)))[0, 1]) < 0.1
        topics = source * 10 // size
        by_chance = np.mean([longest_run(rng.permutation(topics)) for _ in range(20)])
        assert longest_run(topics) <= 2 * by_chance
        windows = topics.reshape(-1, 100)
        seen = np.stack([np.bincount(window, minlength=10) for window in windows])
        chi_square = ((seen - 10) ** 2 / 10).sum(axis=1)
        assert 6 < chi_square.mean() < 12  # nine degrees of freedom
        assert chi_square.max() < 35


def test_every_epoch_has_an_order_of_its_own() -> None:
    plan = planned({"a": 1_000}, (1.0, {"a": 1.0}), total=3_000)
    epochs = whole(plan).sequence.reshape(3, 1_000)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert abs(np.corrcoef(epochs[one], epochs[other])[0, 1]) < 0.1
        assert np.count_nonzero(epochs[one] == epochs[other]) < 10


def test_cells_of_equal_size_have_orders_of_their_own() -> None:
    plan = planned({"a": 1_000, "b": 1_000}, (1.0, Proportional()), total=2_000)
    places = whole(plan)
    a, b = places.sequence[places.cell == 0], places.sequence[places.cell == 1]
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


# --- size ---------------------------------------------------------------------------------------------------------


def test_trillions_of_tokens_over_hundreds_of_cells_are_located_without_walking() -> None:
    rng = np.random.default_rng(4)
    cells = {f"c{n:03}": int(tokens) for n, tokens in enumerate(rng.lognormal(24, 2, 200))}
    weights = rng.dirichlet(np.full(200, 0.5)) + 1e-7
    table = {cell: float(weight) for cell, weight in zip(cells, weights / weights.sum(), strict=True)}
    phases = (PhaseRequest("pre", 0.8, table), PhaseRequest("mid", 0.2, Proportional()))
    plan = plan_mixture(MixtureRequest(18_750 * 10**9, 4_096, 1e9, False, 17, phases), cells)
    assert plan.sequences == 18_750 * 10**9 // 4_096
    border = plan.phases[0].sequences
    around = locate_many(plan, np.array([0, border - 1, border, plan.sequences - 1]))
    assert around.phase.tolist() == [0, 0, 1, 1]
    # In a window deep inside, draws of a cell are consecutive, so epochs never fall and no sequence comes twice in one.
    places = locate_many(plan, np.arange(border - 20_000, border))
    wanted = {cell: share.sequences / border for cell, share in plan.phases[0].cells.items()}
    for number, cell in enumerate(plan.cells):
        mine = places.cell == number
        assert abs(np.count_nonzero(mine) - 20_000 * wanted[cell]) <= 2 * prefix_bound(plan)["pre"]
        read = list(zip(places.epoch[mine].tolist(), places.sequence[mine].tolist(), strict=True))
        assert len(set(read)) == len(read)
        assert np.all(np.diff(places.epoch[mine]) >= 0)
        assert all(0 <= sequence < plan.cells[cell].sequences for _, sequence in read)
