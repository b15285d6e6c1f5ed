"""The plan: counts over the whole phase, what is refused and with which way out, and its form on disk."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tonnage.errors import UsageError, WorkFailed
from tonnage.mixture import MixturePlan, MixtureRequest, PhaseRequest, Proportional, plan_mixture, table_rows

LENGTH = 100


def request(*phases: PhaseRequest, budget: int, length: int = LENGTH, cap: float = 1e9, **options) -> MixtureRequest:
    options = {"normalise": False, "seed": 17} | options
    return MixtureRequest(budget=budget, sequence_length=length, max_epochs=cap, phases=phases, **options)


def one(weights, redistribute: bool = False) -> PhaseRequest:
    return PhaseRequest("main", 1.0, weights, redistribute)


def counts(plan: MixturePlan, phase: int = 0) -> dict[str, int]:
    return {cell: share.sequences for cell, share in plan.phases[phase].cells.items()}


def tokens_named(message: str) -> int:
    found = re.search(r"(?:budget of|possible is) ([\d,]+) tokens", message)
    assert found, message
    return int(found.group(1).replace(",", ""))


# T14 (a): rounded per block of 2,048 sequences, the third source would never be read.
def test_small_weights_are_rounded_once_over_the_whole_phase() -> None:
    sequences = 1_000 * 2_048
    cells = {"a": 10**9, "b": 10**9, "c": 10**9}
    plan = plan_mixture(request(one({"a": 0.7, "b": 0.2998, "c": 0.0002}), budget=sequences * LENGTH), cells)
    assert counts(plan)["c"] in (409, 410)
    assert sum(counts(plan).values()) == sequences


# T14 (b)
def test_weights_of_another_sum_are_refused_or_normalised_and_said() -> None:
    cells = dict.fromkeys("abc", 10**6)
    phase = one({"a": 0.5, "b": 0.3, "c": 0.3})
    with pytest.raises(UsageError, match=r"1\.1, not 1"):
        plan_mixture(request(phase, budget=110_000), cells)
    plan = plan_mixture(request(phase, budget=110_000, normalise=True), cells)
    assert counts(plan) == {"a": 500, "b": 300, "c": 300}
    assert any("1.1" in note for note in plan.notes)
    assert [row["weight_asked"] for row in table_rows(plan)] == [0.5, 0.3, 0.3]


# T14 (c)
def test_more_epochs_than_the_cap_are_refused_with_the_epochs_and_the_largest_budget() -> None:
    cells = {"big": 10**8, "small": 10_000, "tiny": 5_000}
    wanted = request(one({"big": 0.5, "small": 0.4, "tiny": 0.1}), budget=1_950_000, cap=4)
    with pytest.raises(UsageError, match=r"max_epochs 4 over all phases: small 78 times, tiny 39 times") as refused:
        plan_mixture(wanted, cells)
    largest = tokens_named(str(refused.value))
    plan = plan_mixture(replace(wanted, budget=largest), cells)
    assert max(plan.epochs(cell) for cell in cells) <= 4
    with pytest.raises(UsageError):
        plan_mixture(replace(wanted, budget=largest + LENGTH), cells)


# T14 (d): flooring every file on its own loses an eighth of the sequences.
def test_total_is_exact_to_one_sequence_over_many_small_cells() -> None:
    rng = random.Random(3)
    cells = {f"file{n:02}": rng.randint(20_000, 60_000) for n in range(37)} | {"rest": 10**7}
    share = Fraction(37, 100) / 37
    weights = {cell: float(share) for cell in cells if cell != "rest"} | {"rest": 0.63}
    plan = plan_mixture(request(one(weights), budget=4_000_000, length=4_096), cells)
    assert sum(counts(plan).values()) == 4_000_000 // 4_096 == 976
    small = sum(count for cell, count in counts(plan).items() if cell != "rest")
    assert abs(small - 0.37 * 976) < 37 / 2
    assert all(abs(count - 9.76) < 1 for cell, count in counts(plan).items() if cell != "rest")
    for cell, supply in plan.cells.items():
        assert supply.sequences * 4_096 + supply.tail_tokens == supply.tokens == cells[cell]


# T14 (e)
def test_very_uneven_weights_over_equal_cells_are_exact() -> None:
    plan = plan_mixture(request(one({"a": 0.001, "b": 0.999}), budget=100_000), {"a": 10**6, "b": 10**6})
    assert counts(plan) == {"a": 1, "b": 999}


def test_phases_share_the_whole_sequences_of_the_budget() -> None:
    phases = [PhaseRequest(name, share, Proportional()) for name, share in (("x", 0.335), ("y", 0.335), ("z", 0.33))]
    plan = plan_mixture(request(*phases, budget=10_099), {"a": 10**6})
    # 33.5, 33.5 and 33: the tie falls to the earlier phase.
    assert [phase.sequences for phase in plan.phases] == [34, 33, 33]
    assert any("99 tokens of the budget" in note for note in plan.notes)


def test_counts_do_not_depend_on_the_order_of_cells_or_weights() -> None:
    rng = random.Random(5)
    cells = {f"c{n}": 100_000 + 7 * n for n in range(30)}
    weights = {cell: round(1 / 30, 4) for cell in cells}
    weights["c0"] = round(1 - 29 * round(1 / 30, 4), 4)
    wanted = request(one(weights), budget=123_400)
    plan = plan_mixture(wanted, cells)
    for _ in range(5):
        shuffled_cells = dict(rng.sample(list(cells.items()), len(cells)))
        shuffled = one(dict(rng.sample(list(weights.items()), len(weights))))
        again = plan_mixture(replace(wanted, phases=(shuffled,)), shuffled_cells)
        assert again == plan
        assert json.dumps(again.to_dict()) == json.dumps(plan.to_dict())


def test_a_weighted_cell_without_a_sequence_is_refused_with_the_budget_that_serves_it() -> None:
    cells = {"a": 10**9, "b": 10**9, "rare": 10**9}
    wanted = request(one({"a": 0.5, "b": 0.4999, "rare": 0.0001}), budget=200_000)
    with pytest.raises(UsageError, match=r"phase main: cell rare \(weight 0.0001\) would get none") as refused:
        plan_mixture(wanted, cells)
    smallest = tokens_named(str(refused.value))
    assert counts(plan_mixture(replace(wanted, budget=smallest), cells))["rare"] == 1
    with pytest.raises(UsageError, match="rare"):
        plan_mixture(replace(wanted, budget=smallest - LENGTH), cells)


def test_proportional_reads_all_cells_equally_often() -> None:
    cells = {"a": 1_234_567, "b": 55_555, "c": 987}
    everything = sum(tokens // LENGTH for tokens in cells.values())
    plan = plan_mixture(request(one(Proportional()), budget=everything * LENGTH, cap=1), cells)
    assert counts(plan) == {cell: tokens // LENGTH for cell, tokens in cells.items()}
    assert all(epochs == 1 for epochs in plan.to_dict()["exposure"].values())


def test_proportional_merges_cells_too_small_for_a_sequence_and_names_them() -> None:
    cells = {"big": 10_000_000} | {f"s{n}": 300 + 100 * n for n in range(8)}
    plan = plan_mixture(request(one(Proportional()), budget=1_000_000), cells)
    served = [cell for cell in cells if cell != "big" and counts(plan)[cell]]
    # Worth 0.3 to just below 1 sequence each and 5.2 together: five, one each for the five largest.
    assert served == ["s3", "s4", "s5", "s6", "s7"]
    assert sum(counts(plan).values()) == 10_000
    tail = next(note for note in plan.notes if "tail" in note)
    assert "8 cells" in tail and "share 5" in tail and "without a sequence: s2, s1, s0" in tail


def test_a_cap_is_compared_in_whole_sequences() -> None:
    cells = {"a": 1_000, "b": 100_000}
    phase = one({"a": 0.03, "b": 0.97})
    assert counts(plan_mixture(request(phase, budget=100_000, cap=3), cells))["a"] == 30
    with pytest.raises(UsageError, match="a 3 times"):
        plan_mixture(request(phase, budget=100_000, cap=2.99), cells)


def test_exposure_counts_all_phases() -> None:
    cells = {"a": 10_000, "b": 100_000}
    phases = (PhaseRequest("pre", 0.5, {"a": 0.5, "b": 0.5}), PhaseRequest("mid", 0.5, {"a": 0.1, "b": 0.9}))
    plan = plan_mixture(request(*phases, budget=100_000, cap=3), cells)
    assert plan.epochs("a") == 3.0
    with pytest.raises(UsageError, match=r"a 3\.\d+ times"):
        plan_mixture(request(*phases, budget=101_000, cap=3), cells)


def test_redistribution_spreads_the_excess_in_proportion_and_says_so() -> None:
    cells = {"a": 1_000, "b": 10**6, "c": 10**6}
    wanted = request(one({"a": 0.5, "b": 0.3, "c": 0.2}, redistribute=True), budget=50_000, cap=10)
    plan = plan_mixture(wanted, cells)
    assert counts(plan) == {"a": 100, "b": 240, "c": 160}
    shares = plan.phases[0].cells
    assert {cell: share.weight for cell, share in shares.items()} == {"a": 0.2, "b": 0.48, "c": 0.32}
    assert {cell: share.asked for cell, share in shares.items()} == {"a": 0.5, "b": 0.3, "c": 0.2}
    assert any("cuts the sequences of a from 250 to 100" in note for note in plan.notes)
    assert plan.to_dict()["phases"][0]["weight_sum"] == pytest.approx(1, abs=1e-12)


def test_redistribution_without_room_is_refused_with_the_largest_budget() -> None:
    cells = {"a": 1_000, "b": 2_000, "unused": 10**6}
    wanted = request(one({"a": 0.5, "b": 0.5, "unused": 0.0}, redistribute=True), budget=50_000, cap=10)
    with pytest.raises(UsageError, match=r"no room for 200 of 500 sequences") as refused:
        plan_mixture(wanted, cells)
    assert tokens_named(str(refused.value)) == 30_000
    assert counts(plan_mixture(replace(wanted, budget=30_000), cells)) == {"a": 100, "b": 200, "unused": 0}


def test_a_cap_that_touches_every_cell_of_a_phase_may_still_be_met() -> None:
    phases = (
        PhaseRequest("p1", 1 / 12, {"x": 1.0}, redistribute=True),
        PhaseRequest("p2", 11 / 12, {"x": 0.9, "y": 0.1}, redistribute=True),
    )
    plan = plan_mixture(request(*phases, budget=24, length=2, cap=1), {"x": 20, "y": 40})
    assert counts(plan, 0) == {"x": 1, "y": 0} and counts(plan, 1) == {"x": 9, "y": 2}
    assert [share.weight for share in plan.phases[0].cells.values()] == [1.0, 0.0]


def accepted(asked: MixtureRequest, cells: dict[str, int]) -> bool:
    try:
        plan_mixture(asked, cells)
    except UsageError:
        return False
    return True


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=3),
    st.sampled_from([0.5, 1.0, 1.5]),
    st.booleans(),
    st.booleans(),
)
@example([3, 2], 0.5, True, False)
@example([11, 6, 1], 0.5, False, True)
@settings(max_examples=60, deadline=None)
def test_the_budget_that_an_epoch_refusal_names_is_the_largest_there_is(
    sizes: list[int], cap: float, redistribute: bool, proportional: bool
) -> None:
    cells = dict(zip("abc", sizes, strict=False))
    weights = dict(zip("abc", {2: (0.8, 0.2), 3: (0.5, 0.3, 0.2)}[len(sizes)], strict=False))
    phase = one(Proportional() if proportional else weights, redistribute)
    over = sum(sizes) * 3
    asked = request(phase, budget=over, length=1, cap=cap)
    try:
        plan_mixture(asked, cells)
    except UsageError as fault:
        if "max_epochs" not in str(fault):
            return
        possible = [budget for budget in range(1, over) if accepted(replace(asked, budget=budget), cells)]
        assert tokens_named(str(fault)) == possible[-1] if possible else "was found" in str(fault)


def test_a_phase_that_keeps_its_weights_goes_before_one_that_gives_way() -> None:
    cells = {"a": 1_000, "b": 10**6}
    pre = PhaseRequest("pre", 0.5, {"a": 0.5, "b": 0.5}, redistribute=True)
    mid = PhaseRequest("mid", 0.5, {"a": 0.3, "b": 0.7})
    plan = plan_mixture(request(pre, mid, budget=40_000, cap=10), cells)
    assert counts(plan, 1) == {"a": 60, "b": 140}
    assert counts(plan, 0) == {"a": 40, "b": 160}


def test_a_cap_that_leaves_a_weighted_cell_nothing_is_refused() -> None:
    cells = {"a": 1_000, "b": 10**6}
    pre = PhaseRequest("pre", 0.5, {"a": 0.5, "b": 0.5}, redistribute=True)
    mid = PhaseRequest("mid", 0.5, {"a": 0.5, "b": 0.5})
    with pytest.raises(UsageError, match=r"phase pre: max_epochs 10 leaves no sequence for a"):
        plan_mixture(request(pre, mid, budget=40_000, cap=10), cells)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"budget": 50}, "phase main gets none of the 0 sequences"),
        ({"sequence_length": 0}, "sequence_length is 0"),
        ({"max_epochs": 0}, "max_epochs is 0"),
        ({"max_epochs": float("nan")}, "max_epochs is nan"),
        ({"phases": ()}, "no phase"),
        ({"phases": (PhaseRequest("x", 0.5, Proportional()),) * 2}, "names a phase twice"),
        ({"budget": 10**20}, "set a longer sequence_length"),
    ],
)
def test_requests_that_cannot_be_are_refused(changes, message) -> None:
    wanted = replace(request(one({"a": 1}), budget=10_000), **changes)
    with pytest.raises(UsageError, match=message):
        plan_mixture(wanted, {"a": 10_000})


def test_a_corpus_without_cells_is_refused() -> None:
    with pytest.raises(UsageError, match="no cell to mix"):
        plan_mixture(request(one(Proportional()), budget=10_000), {})


def test_every_refusal_is_one_sentence_of_one_line() -> None:
    with pytest.raises(UsageError) as refused:
        plan_mixture(request(one({f"x{n}": 0.01 for n in range(100)}), budget=10_000), {"a": 10_000})
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def two_phases() -> MixturePlan:
    cells = {"web": 1_000_050, "books": 200_000, "code": 90_010, "left-out": 40}
    phases = (
        PhaseRequest("pretraining", 0.8, Proportional()),
        PhaseRequest("midtraining", 0.2, {"books": 0.5, "code": 0.2, "web": 0.3}),
    )
    return plan_mixture(request(*phases, budget=900_070), cells)


def test_json_has_the_documented_shape_and_balances() -> None:
    content = json.loads(json.dumps(two_phases().to_dict()))
    assert (content["budget"], content["sequence_length"]) == (900_070, LENGTH)
    assert [(phase["name"], phase["sequences"]) for phase in content["phases"]] == [
        ("pretraining", 7_200),
        ("midtraining", 1_800),
    ]
    for phase in content["phases"]:
        assert set(phase) == {"name", "tokens", "sequences", "weight_sum", "cells"}
        assert phase["weight_sum"] == pytest.approx(1, abs=1e-9)
        assert phase["tokens"] == phase["sequences"] * LENGTH
        assert sum(entry["sequences"] for entry in phase["cells"].values()) == phase["sequences"]
        assert set(phase["cells"]) == set(content["cells"]) == set(content["exposure"])
        for cell, entry in phase["cells"].items():
            assert set(entry) == {"weight", "sequences", "tokens", "epochs"}
            assert entry["tokens"] == entry["sequences"] * LENGTH
            assert entry["epochs"] * content["cells"][cell]["sequences"] == pytest.approx(entry["sequences"])
    for cell, epochs in content["exposure"].items():
        assert epochs == pytest.approx(sum(phase["cells"][cell]["epochs"] for phase in content["phases"]))
    assert content["cells"]["web"] == {"tokens": 1_000_050, "sequences": 10_000, "tail_tokens": 50}
    assert any("100 tokens at the ends of cells" in note for note in content["notes"])


def test_a_plan_comes_back_from_json_and_a_changed_one_is_refused() -> None:
    plan = two_phases()
    content = json.loads(json.dumps(plan.to_dict()))
    back = MixturePlan.from_dict(content)
    assert back == plan
    assert back.plan_hash == plan.plan_hash
    content["phases"][0]["cells"]["web"]["sequences"] += 1
    with pytest.raises(WorkFailed, match=plan.plan_hash):
        MixturePlan.from_dict(content)


def test_what_was_asked_comes_back_from_json_too() -> None:
    cells = {"a": 1_000, "b": 10**6}
    plan = plan_mixture(request(one({"a": 0.5, "b": 0.5}, redistribute=True), budget=50_000, cap=10), cells)
    assert MixturePlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_the_hash_follows_what_decides_the_order_and_nothing_else() -> None:
    cells = {"a": 10**6, "b": 10**6, "c": 10**6}
    base = request(one({"a": 0.5, "b": 0.5}), budget=100_000)
    plan = plan_mixture(base, cells)
    same = [
        plan_mixture(replace(base, max_epochs=12), cells),
        plan_mixture(base, cells | {"not-drawn": 77_777}),
        plan_mixture(base, cells | {"a": 10**6 + 1}),
    ]
    other = [
        plan_mixture(replace(base, seed=18), cells),
        plan_mixture(replace(base, budget=100_100), cells),
        plan_mixture(base, cells | {"a": 10**6 + LENGTH}),
        plan_mixture(replace(base, phases=(one({"a": 0.501, "b": 0.499}),)), cells),
    ]
    assert {again.plan_hash for again in same} == {plan.plan_hash}
    assert len({plan.plan_hash, *(again.plan_hash for again in other)}) == 5


def test_table_rows_show_what_was_asked_and_what_rounding_makes_of_it() -> None:
    plan = plan_mixture(request(one({"a": 0.25, "b": 0.75}), budget=1_000), {"a": 10_000, "b": 10_000})
    rows = table_rows(plan)
    assert rows[0] == {
        "phase": "main",
        "cell": "a",
        "weight_asked": 0.25,
        "weight_achieved": counts(plan)["a"] / 10,
        "sequences": counts(plan)["a"],
        "tokens": counts(plan)["a"] * LENGTH,
        "epochs": counts(plan)["a"] / 100,
    }
    assert len(rows) == 2
