"""From a request and the cells' sizes to the plan: counts, refusals and notes.

The arithmetic is apportion's and the weights are resolved in weights. Budgets that a refusal names are searched with
the very counting that makes the plan, so that the budget named works.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tonnage.errors import UsageError
from tonnage.kernels.interleave import MAX_TOTAL
from tonnage.mixture.apportion import Allotment, Demand, allot, apportion, largest_remainder, small_cells
from tonnage.mixture.plan import CellShare, CellSupply, MixturePlan, PhasePlan
from tonnage.mixture.weights import (
    MixtureRequest,
    Proportional,
    ResolvedWeights,
    check_request,
    exact_number,
    exact_shares,
    listed,
    resolve_weights,
)

LOOK_AROUND = 64  # sequences searched one by one where rounding makes a budget work behind one that does not


@dataclass(frozen=True)
class _Job:
    """A request over cells in the order of their names."""

    request: MixtureRequest
    cells: Mapping[str, CellSupply]
    names: tuple[str, ...]
    resolved: tuple[ResolvedWeights, ...]

    @cached_property
    def limits(self) -> tuple[int, ...]:
        """Sequences of each cell that may be read: the largest whole number within max_epochs."""
        cap = exact_number(self.request.max_epochs, "the mixture's max_epochs")
        return tuple(math.floor(cap * supply.sequences) for supply in self.cells.values())

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        return exact_shares(self.request.phases)

    @property
    def total(self) -> int:
        return self.request.budget // self.request.sequence_length

    def demands(self, total: int) -> list[Demand]:
        """What the phases ask for when `total` sequences are shared among them."""
        return [
            Demand(count, weights.exact, isinstance(phase.weights, Proportional), phase.redistribute)
            for phase, count, weights in zip(
                self.request.phases, largest_remainder(total, self.shares), self.resolved, strict=True
            )
        ]

    def tokens(self, sequences: int) -> str:
        return f"{sequences * self.request.sequence_length:,} tokens"


def plan_mixture(request: MixtureRequest, cell_tokens: Mapping[str, int]) -> MixturePlan:
    """Counts the sequences of every phase and cell; `cell_tokens` are the tokens that each cell holds.

    Sequences of phases by largest remainder from their shares, of cells by largest remainder over the whole phase;
    every total is exact to one sequence. Raises UsageError when shares or weights do not sum to one, a weight names
    no cell, a weighted cell has no sequence or would get none, or a cell would be read more than `max_epochs` times.
    """
    check_request(request)
    cells = {cell: _supply(int(cell_tokens[cell]), request.sequence_length) for cell in sorted(cell_tokens)}
    if not cells:
        raise UsageError("there is no cell to mix; keep at least one document")
    available = {cell: supply.sequences for cell, supply in cells.items()}
    resolved = tuple(resolve_weights(phase, available, request.normalise) for phase in request.phases)
    job = _Job(request, cells, tuple(cells), resolved)
    demands = job.demands(job.total)
    _check_size(job, demands)
    allotment = allot(demands, job.limits)
    if not allotment.holds:
        raise UsageError(_over_cap(job, demands, allotment))
    for phase, demand in enumerate(demands):
        _refuse_starved(job, phase, demand, allotment)
    return MixturePlan(
        budget=request.budget,
        sequence_length=request.sequence_length,
        max_epochs=request.max_epochs,
        seed=request.seed,
        cells=cells,
        phases=tuple(_phase_plan(job, phase, demand, allotment) for phase, demand in enumerate(demands)),
        notes=tuple(_notes(job, demands, allotment)),
    )


def _supply(tokens: int, length: int) -> CellSupply:
    return CellSupply(tokens, tokens // length, tokens % length)


def _phase_plan(job: _Job, phase: int, demand: Demand, allotment: Allotment) -> PhasePlan:
    counts, weights = allotment.counts[phase], job.resolved[phase]
    planned = weights.planned
    if allotment.capped[phase]:
        planned = _weights_under_cap(demand, counts, allotment.capped[phase])
    shares = map(CellShare, weights.asked, planned, counts)
    return PhasePlan(job.request.phases[phase].name, demand.sequences, dict(zip(job.names, shares, strict=True)))


def _weights_under_cap(demand: Demand, counts: tuple[int, ...], capped: frozenset[int]) -> tuple[float, ...]:
    """The weights that redistribution makes: a cut cell's is what it got, the others share the rest as they asked."""
    free = sum((weight for cell, weight in enumerate(demand.weights) if cell not in capped), Fraction(0))
    left = Fraction(demand.sequences - sum(counts[cell] for cell in capped), demand.sequences)
    scale = left / free if free else Fraction(0)  # the cap may touch every weighted cell, and leave nothing to share
    return tuple(
        float(Fraction(counts[cell], demand.sequences)) if cell in capped else float(weight * scale)
        for cell, weight in enumerate(demand.weights)
    )


def _check_size(job: _Job, demands: list[Demand]) -> None:
    request = job.request
    if job.total > MAX_TOTAL:
        raise UsageError(
            f"the budget makes {job.total:,} sequences, more than {MAX_TOTAL:,} that can be ordered; set a longer "
            f"sequence_length"
        )
    for phase, demand in zip(request.phases, demands, strict=True):
        if not demand.sequences:
            raise UsageError(
                f"phase {phase.name} gets none of the {job.total:,} sequences of {request.sequence_length:,} tokens; "
                f"raise the budget of {request.budget:,} tokens or the phase's share of {phase.share}"
            )


def _boundary(works: Callable[[int], bool], good: int, bad: int) -> int:
    """A total that works, next to one that does not, between `good` which works and `bad` which does not."""
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return good


def _over_cap(job: _Job, demands: list[Demand], allotment: Allotment) -> str:
    cap = f"max_epochs {job.request.max_epochs:g}"
    asked = [apportion(demand.sequences, demand.weights, demand.tail) for demand in demands]
    drawn = [sum(row[cell] for row in asked) for cell in range(len(job.names))]
    over = [cell for cell, limit in enumerate(job.limits) if drawn[cell] > limit]
    supply = [job.cells[name].sequences for name in job.names]
    over.sort(key=lambda cell: -drawn[cell] / supply[cell])
    epochs = listed(f"{job.names[cell]} {drawn[cell] / supply[cell]:.4g} times" for cell in over)
    if allotment.unfilled:
        phase, missing = next(iter(allotment.unfilled.items()))
        found = (
            f"phase {job.request.phases[phase].name}: within {cap} its cells have no room for {missing:,} of "
            f"{demands[phase].sequences:,} sequences, even redistributed (asked to be read: {epochs})"
        )
        mend = "lower the budget, raise max_epochs or give weight to more cells"
    else:
        found = f"cells would be read more often than {cap} over all phases: {epochs}"
        mend = "lower the budget, raise max_epochs or set redistribute: true in the phases"
    return f"{found}; {_largest_budget(job)}; {mend}"


def _largest_budget(job: _Job) -> str:
    """A budget within the cap that also gives every weighted cell a sequence, as large as was found."""

    def works(total: int) -> bool:
        demands = job.demands(total)
        allotment = allot(demands, job.limits)
        return allotment.holds and _serves_all(demands, allotment)

    smallest = _smallest_serving(job, 0)
    around = range(max(1, smallest - LOOK_AROUND), min(job.total, smallest + LOOK_AROUND))
    first = next(filter(works, around), None)
    if first is None:
        return "no smaller budget that gives every weighted cell a sequence within it was found"
    return f"a budget of {job.tokens(_last_near(works, _boundary(works, first, job.total), job.total))} is possible"


def _last_near(works: Callable[[int], bool], good: int, bad: int) -> int:
    """The last total that works without more than LOOK_AROUND that do not before it, from `good` and below `bad`.

    By largest remainder a cell may get one sequence less of a larger total, so a total can work behind one that does
    not.
    """
    total = good
    while total < min(bad, good + LOOK_AROUND):
        total += 1
        if total < bad and works(total):
            good = total
    return good


def _serves_all(demands: list[Demand], allotment: Allotment) -> bool:
    """Whether every phase has sequences, and every weighted cell has some of them."""
    return all(demand.sequences and not _starved(demand, allotment, phase) for phase, demand in enumerate(demands))


def _starved(demand: Demand, allotment: Allotment, phase: int) -> list[int]:
    """Weighted cells that get no sequence. In a tail that is as announced, unless the cap did it."""
    counts, capped = allotment.counts[phase], allotment.capped[phase]
    return [
        cell
        for cell, weight in enumerate(demand.weights)
        if weight and not counts[cell] and (not demand.tail or cell in capped)
    ]


def _refuse_starved(job: _Job, phase: int, demand: Demand, allotment: Allotment) -> None:
    starved = _starved(demand, allotment, phase)
    if not starved:
        return
    name = job.request.phases[phase].name
    written = job.resolved[phase].asked
    if any(cell in allotment.capped[phase] for cell in starved):
        cut = listed(f"{job.names[cell]} (weight {written[cell]:g})" for cell in starved)
        raise UsageError(
            f"phase {name}: max_epochs {job.request.max_epochs:g} leaves no sequence for {cut}; raise max_epochs, or "
            f"set the weight to 0"
        )
    cells = listed(f"cell {job.names[cell]} (weight {written[cell]:g})" for cell in starved)
    raise UsageError(
        f"phase {name}: {cells} would get none of the phase's {demand.sequences:,} sequences; a budget of "
        f"{job.tokens(_smallest_serving(job, job.total))} gives every weighted cell one, or raise or remove the weight"
    )


def _smallest_serving(job: _Job, beyond: int) -> int:
    """The first total after `beyond`, itself too small, that serves every weighted cell; the cap is left aside."""
    unlimited = [MAX_TOTAL * 2**64] * len(job.names)

    def serves(total: int) -> bool:
        demands = job.demands(total)
        return _serves_all(demands, allot(demands, unlimited))

    enough = job.total
    while not serves(enough):
        enough *= 2
    return _boundary(serves, enough, beyond)


def _notes(job: _Job, demands: list[Demand], allotment: Allotment) -> Iterable[str]:
    for phase, demand in enumerate(demands):
        yield from job.resolved[phase].notes
        yield from _tail_note(job, phase, demand, allotment)
        yield from _cap_note(job, phase, demand, allotment)
    length = job.request.sequence_length
    rest = job.request.budget % length
    if rest:
        yield f"{rest:,} tokens of the budget do not fill a sequence of {length:,} and are not used"
    unread = sum(supply.tail_tokens for supply in job.cells.values())
    if unread:
        yield f"{unread:,} tokens at the ends of cells do not fill a sequence of {length:,} and are not read"


def _tail_note(job: _Job, phase: int, demand: Demand, allotment: Allotment) -> Iterable[str]:
    members = small_cells(demand.sequences, demand.weights) if demand.tail else []
    if members:
        served = [cell for cell in members if allotment.counts[phase][cell]]
        unserved = ", ".join(job.names[cell] for cell in members if cell not in served)
        yield (
            f"phase {job.request.phases[phase].name}: {len(members):,} cells are each worth less than one sequence and "
            f"share {len(served):,} as a tail, largest first"
            + (f"; without a sequence: {unserved}" if unserved else "")
        )


def _cap_note(job: _Job, phase: int, demand: Demand, allotment: Allotment) -> Iterable[str]:
    capped = sorted(allotment.capped[phase])
    if capped:
        asked = apportion(demand.sequences, demand.weights, demand.tail)
        got = allotment.counts[phase]
        cut = ", ".join(f"{job.names[cell]} from {asked[cell]:,} to {got[cell]:,}" for cell in capped)
        yield (
            f"phase {job.request.phases[phase].name}: max_epochs {job.request.max_epochs:g} cuts the sequences of "
            f"{cut}; the rest went to its other cells in proportion (redistribute: true)"
        )
