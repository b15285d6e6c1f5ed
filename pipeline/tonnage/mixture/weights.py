"""What a mixture asks for, and its weights as exact fractions over all cells.

A weight is taken as the decimal number that was written (0.1 is one tenth), so that sums are exact. Every refusal
that can be told from the request and the cells' sizes alone is made here; counting sequences is left to apportion and
plan.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tonnage.errors import UsageError

SUM_TOLERANCE = Fraction(1, 10**9)  # sums of doubles written out in full differ from one by far less
SHOWN = 12  # names in one message


@dataclass(frozen=True)
class Proportional:
    """Every cell in proportion to the tokens that can be read of it, those in its whole sequences.

    So all cells are read equally often. A cell too small for one sequence of a phase joins the others like it in a tail
    that is apportioned as one entry; the tail's sequences go to its members, one each, largest first.
    """


@dataclass(frozen=True)
class PhaseRequest:
    """One phase: its share of the budget, and weights by cell (a cell left out weighs 0) or Proportional.

    `redistribute` spreads what the epoch cap cuts off over the phase's other cells, in proportion to their weights.
    """

    name: str
    share: float
    weights: Mapping[str, float] | Proportional
    redistribute: bool = False


@dataclass(frozen=True)
class MixtureRequest:
    """Phases in the order of training. `budget` in tokens; `normalise` accepts weights that do not sum to one."""

    budget: int
    sequence_length: int
    max_epochs: float
    normalise: bool
    seed: int
    phases: tuple[PhaseRequest, ...]


@dataclass(frozen=True)
class ResolvedWeights:
    """Weights of one phase by cell, in the cells' order: as written, after `normalise`, and exact with a sum of one."""

    asked: tuple[float, ...]
    planned: tuple[float, ...]
    exact: tuple[Fraction, ...]
    notes: tuple[str, ...]


def exact_number(value: float, what: str) -> Fraction:
    """The decimal number as written; UsageError when it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UsageError(f"{what} is {value!r}; write a finite number")
    return Fraction(str(value))


def listed(names: Iterable[str]) -> str:
    """Names for a message, the first SHOWN of them."""
    names = list(names)
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def check_request(request: MixtureRequest) -> None:
    """Raises UsageError for a budget, length, cap, share or phase name that cannot be."""
    for name, value in (("budget", request.budget), ("sequence_length", request.sequence_length)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"the mixture's {name} is {value!r}; write a whole number of tokens above 0")
    if exact_number(request.max_epochs, "the mixture's max_epochs") <= 0:
        raise UsageError(f"the mixture's max_epochs is {request.max_epochs}; write a number above 0")
    names = [phase.name for phase in request.phases]
    if not names:
        raise UsageError("the mixture has no phase; give at least one with share: 1")
    if len(set(names)) < len(names):
        raise UsageError(f"the mixture names a phase twice, phases are {', '.join(names)}; give each a name of its own")
    exact_shares(request.phases)


def exact_shares(phases: tuple[PhaseRequest, ...]) -> tuple[Fraction, ...]:
    """Shares of the budget as fractions that sum to exactly one."""
    shares = [exact_number(phase.share, f"the share of phase {phase.name}") for phase in phases]
    for phase, share in zip(phases, shares, strict=True):
        if share <= 0:
            raise UsageError(f"the share of phase {phase.name} is {phase.share}; write a number above 0")
    whole = sum(shares, Fraction(0))
    if abs(whole - 1) > SUM_TOLERANCE:
        written = ", ".join(f"{phase.name} {phase.share}" for phase in phases)
        raise UsageError(f"the shares of the phases sum to {float(whole):.10g} ({written}); they must sum to 1")
    return tuple(share / whole for share in shares)


def resolve_weights(phase: PhaseRequest, available: Mapping[str, int], normalise: bool) -> ResolvedWeights:
    """The weights of `phase` over all cells; `available` holds the whole sequences of each cell.

    Raises UsageError for unknown cells, weights below 0 or not finite, a sum other than one (unless `normalise`), and a
    weighted cell without a whole sequence.
    """
    if isinstance(phase.weights, Proportional):
        return _proportional(phase, available)
    _refuse_unknown(phase, phase.weights, available)
    exact = [
        exact_number(phase.weights.get(cell, 0), f"phase {phase.name}: the weight of cell {cell}") for cell in available
    ]
    for cell, weight in zip(available, exact, strict=True):
        if weight < 0:
            raise UsageError(f"phase {phase.name}: the weight of cell {cell} is {float(weight)}; weights are 0 or more")
        if weight > 0 and available[cell] == 0:
            raise UsageError(
                f"phase {phase.name}: cell {cell} has weight {float(weight)} but no whole sequence to read; take it "
                f"out of the weights or set a shorter sequence_length"
            )
    notes = []
    left_out = [cell for cell in available if cell not in phase.weights]
    if left_out:
        notes.append(f"phase {phase.name}: cells its weights leave out have weight 0: {', '.join(left_out)}")
    whole = sum(exact, Fraction(0))
    asked = planned = tuple(float(weight) for weight in exact)
    if abs(whole - 1) > SUM_TOLERANCE:
        notes.append(_normalised(phase, whole, normalise))
        planned = tuple(float(weight / whole) for weight in exact)
    return ResolvedWeights(asked, planned, tuple(weight / whole for weight in exact), tuple(notes))


def _normalised(phase: PhaseRequest, whole: Fraction, normalise: bool) -> str:
    shown = f"{float(whole):.10g}"
    if whole == 0:
        raise UsageError(f"phase {phase.name}: its weights sum to 0; give at least one cell a weight above 0")
    if not normalise:
        raise UsageError(
            f"phase {phase.name}: its weights sum to {shown}, not 1; mend them, or set normalise: true to divide each "
            f"by {shown}"
        )
    return f"phase {phase.name}: weights summed to {shown} and were divided by it (normalise: true)"


def _refuse_unknown(phase: PhaseRequest, weights: Mapping[str, float], available: Mapping[str, int]) -> None:
    unknown = [cell for cell in weights if cell not in available]
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], available, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else ";"
    raise UsageError(
        f"phase {phase.name}: its weights name {listed(unknown)}, not among the cells{hint} cells are "
        f"{listed(available)}"
    )


def _proportional(phase: PhaseRequest, available: Mapping[str, int]) -> ResolvedWeights:
    whole = sum(available.values())
    if whole == 0:
        raise UsageError(f"phase {phase.name}: no cell holds one whole sequence; set a shorter sequence_length")
    exact = tuple(Fraction(count, whole) for count in available.values())
    unread = [cell for cell, count in available.items() if count == 0]
    notes = [f"phase {phase.name}: cells without a whole sequence are not read: {', '.join(unread)}"] if unread else []
    weights = tuple(float(weight) for weight in exact)
    return ResolvedWeights(weights, weights, exact, tuple(notes))
