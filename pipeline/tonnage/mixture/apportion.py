"""Whole sequences from exact weights: largest remainder, the tail of small cells, and the cap on epochs.

Everything is integer arithmetic on exact fractions and goes by the order of its arguments alone: ties fall to the
earlier entry. What the entries are, and how a refusal is worded, is for the callers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Demand:
    """What one phase asks for: `sequences` in all, shared by `weights` (one a cell, 0 or more, of any sum above 0).

    `tail` merges cells too small for a sequence of their own; `redistribute` spreads over the other cells what the
    cap cuts.
    """

    sequences: int
    weights: tuple[Fraction, ...]
    tail: bool = False
    redistribute: bool = False


@dataclass(frozen=True)
class Allotment:
    """`counts[phase][cell]` sequences; `capped[phase]` the cells that the cap cut there.

    `over`: cells that would be read beyond their limit. `unfilled[phase]`: sequences for which no weighted cell had
    room left. The allotment holds when both are empty.
    """

    counts: tuple[tuple[int, ...], ...]
    capped: tuple[frozenset[int], ...]
    over: tuple[int, ...]
    unfilled: dict[int, int]

    @property
    def holds(self) -> bool:
        return not self.over and not self.unfilled


def largest_remainder(total: int, weights: Sequence[Fraction]) -> list[int]:
    """Shares `total` by weights: each entry gets its ideal rounded down, then the largest remainders get one more.

    The sum is exactly `total` and every entry within one of its ideal (Hamilton's method of apportionment). Weights
    are 0 or more and need not sum to one; an entry of weight 0 gets nothing.
    """
    scale = math.lcm(*(weight.denominator for weight in weights))
    parts = [weight.numerator * (scale // weight.denominator) for weight in weights]
    whole = sum(parts)
    if whole <= 0:
        raise ValueError("the weights sum to nothing")
    counts = [total * part // whole for part in parts]
    remainders = [total * part % whole for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda entry: -remainders[entry])
    for entry in by_remainder[: total - sum(counts)]:
        counts[entry] += 1
    return counts


def small_cells(total: int, weights: Sequence[Fraction]) -> list[int]:
    """The entries whose ideal share of `total` is above nothing and below one, largest first."""
    whole = sum(weights)
    small = [entry for entry, weight in enumerate(weights) if 0 < total * weight < whole]
    return sorted(small, key=lambda entry: -weights[entry])


def apportion(total: int, weights: Sequence[Fraction], tail: bool) -> list[int]:
    """Largest remainder; with `tail`, the entries below one sequence stand in it as one entry.

    What that entry gets goes to its members, one sequence each, largest first. It never gets more than it has members,
    since each of them is worth less than one.
    """
    members = small_cells(total, weights) if tail else []
    if not members:
        return largest_remainder(total, weights)
    small = set(members)
    kept = [Fraction(0) if entry in small else weight for entry, weight in enumerate(weights)]
    *counts, shared = largest_remainder(total, [*kept, sum((weights[entry] for entry in members), Fraction(0))])
    for entry in members[:shared]:
        counts[entry] = 1
    return counts


def allot(demands: Sequence[Demand], limits: Sequence[int]) -> Allotment:
    """Sequences of every phase and cell, with no cell read more often than its limit over all phases.

    Phases that do not redistribute get what they ask for, or the allotment does not hold. For the others this is
    water-filling: a cell that would pass its limit is cut to it, its sequences divided among these phases as they
    asked, and what is missing goes to the cells not yet cut, by their weights; again until no cell passes its limit.
    Whoever was cut stays cut, since what the others get only grows.
    """
    counts = [apportion(demand.sequences, demand.weights, demand.tail) for demand in demands]
    flexible = [phase for phase, demand in enumerate(demands) if demand.redistribute]
    capped: list[set[int]] = [set() for _ in demands]
    unfilled: dict[int, int] = {}
    cells = range(len(limits))
    fixed = [sum(counts[phase][cell] for phase in range(len(demands)) if phase not in flexible) for cell in cells]
    over = [cell for cell in cells if fixed[cell] > limits[cell]]
    while not over:
        passed = [cell for cell in cells if sum(row[cell] for row in counts) > limits[cell]]
        if not passed:
            break
        for cell in passed:
            asked = [Fraction(counts[phase][cell]) for phase in flexible]
            shares = largest_remainder(limits[cell] - fixed[cell], asked)
            for phase, share, wanted in zip(flexible, shares, asked, strict=True):
                counts[phase][cell] = share
                if wanted:
                    capped[phase].add(cell)
        for phase in flexible:
            missing = _refill(demands[phase], counts[phase], capped[phase])
            if missing:
                unfilled[phase] = missing
        if unfilled:
            break
    frozen = tuple(frozenset(cells) for cells in capped)
    return Allotment(tuple(tuple(row) for row in counts), frozen, tuple(over), unfilled)


def _refill(demand: Demand, counts: list[int], capped: set[int]) -> int:
    """Apportions anew what the capped cells leave, in place; returns the sequences that no cell can take."""
    left = demand.sequences - sum(counts[cell] for cell in capped)
    free = [Fraction(0) if cell in capped else weight for cell, weight in enumerate(demand.weights)]
    if not any(free):
        return left
    for cell, count in enumerate(apportion(left, free, demand.tail)):
        if cell not in capped:
            counts[cell] = count
    return 0
