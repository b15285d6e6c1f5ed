"""The plan of a mixture: a table of the sequences that every phase reads of every cell, and its form on disk.

A cell has floor(tokens / sequence_length) sequences (its documents end to end, in the order of the store); what is
left at the end is not read. The table's integers alone decide the order of training. How they are counted is
planning.py's, the order itself order.py's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import xxhash

from tonnage.errors import WorkFailed

ORDER_VERSION = 1  # part of the plan's hash: another way to order the same counts is another plan


@dataclass(frozen=True)
class CellSupply:
    """What a cell holds: tokens, whole sequences, and the tokens after the last whole sequence."""

    tokens: int
    sequences: int
    tail_tokens: int


@dataclass(frozen=True)
class CellShare:
    """A cell in a phase: the weight as written, the weight planned with (of a sum of one), sequences drawn."""

    asked: float
    weight: float
    sequences: int


@dataclass(frozen=True)
class PhasePlan:
    """A phase of `sequences` sequences; `cells` holds every cell of the corpus, by name."""

    name: str
    sequences: int
    cells: Mapping[str, CellShare]


@dataclass(frozen=True)
class MixturePlan:
    """Phases in the order of training over `cells`, by name. Equal requests over equal cells give equal plans."""

    budget: int
    sequence_length: int
    max_epochs: float
    seed: int
    cells: Mapping[str, CellSupply]
    phases: tuple[PhasePlan, ...]
    notes: tuple[str, ...]

    def __hash__(self) -> int:
        return hash(self.plan_hash)

    @property
    def sequences(self) -> int:
        """Sequences of all phases: positions of the order are 0 <= k < sequences."""
        return sum(phase.sequences for phase in self.phases)

    @cached_property
    def plan_hash(self) -> str:
        """16 hex digits, xxh3_64 of all that decides the order: seed, length, phases, drawn cells, their sequences."""
        drawn = {cell for phase in self.phases for cell, share in phase.cells.items() if share.sequences}
        material = {
            "version": ORDER_VERSION,
            "seed": self.seed,
            "sequence_length": self.sequence_length,
            "cells": {cell: self.cells[cell].sequences for cell in drawn},
            "phases": [
                [phase.name, {cell: share.sequences for cell, share in phase.cells.items() if share.sequences}]
                for phase in self.phases
            ],
        }
        return xxhash.xxh3_64_hexdigest(json.dumps(material, sort_keys=True, separators=(",", ":")).encode())

    def epochs(self, cell: str) -> float:
        """How often the cell is read over all phases."""
        return _epochs(sum(phase.cells[cell].sequences for phase in self.phases), self.cells[cell])

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values: the shape of `tonnage mix --json`, and what `from_dict` needs besides.

        `asked` holds the weights as written of those phases whose weights were normalised or redistributed.
        """
        return {
            "budget": self.budget,
            "sequence_length": self.sequence_length,
            "max_epochs": self.max_epochs,
            "seed": self.seed,
            "plan_hash": self.plan_hash,
            "phases": [self._phase_dict(phase) for phase in self.phases],
            "exposure": {cell: self.epochs(cell) for cell in self.cells},
            "cells": {
                cell: {"tokens": supply.tokens, "sequences": supply.sequences, "tail_tokens": supply.tail_tokens}
                for cell, supply in self.cells.items()
            },
            "asked": {
                phase.name: {cell: share.asked for cell, share in phase.cells.items()}
                for phase in self.phases
                if any(share.asked != share.weight for share in phase.cells.values())
            },
            "notes": list(self.notes),
        }

    def _phase_dict(self, phase: PhasePlan) -> dict[str, Any]:
        return {
            "name": phase.name,
            "tokens": phase.sequences * self.sequence_length,
            "sequences": phase.sequences,
            "weight_sum": math.fsum(share.weight for share in phase.cells.values()),
            "cells": {
                cell: {
                    "weight": share.weight,
                    "sequences": share.sequences,
                    "tokens": share.sequences * self.sequence_length,
                    "epochs": _epochs(share.sequences, self.cells[cell]),
                }
                for cell, share in phase.cells.items()
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> MixturePlan:
        """The plan that `to_dict` wrote; WorkFailed when its hash shows that it was changed since."""
        phases = []
        for phase in content["phases"]:
            asked = content["asked"].get(phase["name"])
            cells = {
                cell: CellShare(asked[cell] if asked else entry["weight"], entry["weight"], entry["sequences"])
                for cell, entry in sorted(phase["cells"].items())
            }
            phases.append(PhasePlan(phase["name"], phase["sequences"], cells))
        plan = cls(
            budget=content["budget"],
            sequence_length=content["sequence_length"],
            max_epochs=content["max_epochs"],
            seed=content["seed"],
            cells={cell: CellSupply(**entry) for cell, entry in sorted(content["cells"].items())},
            phases=tuple(phases),
            notes=tuple(content["notes"]),
        )
        sums = [sum(share.sequences for share in phase.cells.values()) for phase in plan.phases]
        if plan.plan_hash != content["plan_hash"] or sums != [phase.sequences for phase in plan.phases]:
            raise WorkFailed(
                f"the mixture plan {content['plan_hash']} was changed after it was made (its content hashes to "
                f"{plan.plan_hash}); run the mixture again"
            )
        return plan


def table_rows(plan: MixturePlan) -> list[dict[str, Any]]:
    """One row a phase and cell, for printing: what was asked, and what the plan gives after rounding to sequences."""
    return [
        {
            "phase": phase.name,
            "cell": cell,
            "weight_asked": share.asked,
            "weight_achieved": share.sequences / phase.sequences,
            "sequences": share.sequences,
            "tokens": share.sequences * plan.sequence_length,
            "epochs": _epochs(share.sequences, plan.cells[cell]),
        }
        for phase in plan.phases
        for cell, share in phase.cells.items()
    ]


def _epochs(sequences: int, supply: CellSupply) -> float:
    return sequences / supply.sequences if supply.sequences else 0.0
