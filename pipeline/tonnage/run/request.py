"""From the recipe's mixture to the request that the mixture package plans, and what can be refused before any work.

The cells that there can be follow from the recipe alone: its sources, their kinds and languages, its quality buckets.
Which of them hold tokens is known once documents are selected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tonnage.errors import UsageError
from tonnage.mixture import MixtureRequest, PhaseRequest, Proportional
from tonnage.mixture.weights import check_request, resolve_weights
from tonnage.plan import kind_of
from tonnage.recipe import Recipe
from tonnage.select import cell_names
from tonnage.steps.decide import NO_LANGUAGE


def mixture_request(recipe: Recipe) -> MixtureRequest:
    """The recipe's phases as a MixtureRequest; the recipe must have a mixture."""
    mixture = recipe.mixture
    assert mixture is not None
    return MixtureRequest(
        budget=mixture.budget,
        sequence_length=mixture.sequence_length,
        max_epochs=mixture.max_epochs,
        normalise=mixture.normalise,
        seed=recipe.seed,
        phases=tuple(
            PhaseRequest(
                name=name,
                share=phase.share,
                weights=Proportional() if "strategy" in phase.weights else dict(phase.weights),
                redistribute=phase.redistribute,
            )
            for name, phase in mixture.phases.items()
        ),
    )


def possible_cells(recipe: Recipe) -> tuple[str, ...]:
    """Every cell that a document of this recipe can be in, sorted."""
    return tuple(sorted(_values_of_cells(recipe)))


def check_cells(recipe: Recipe) -> None:
    """Raises UsageError when two cells would have one name: 'a-b' and 'c' are joined as 'a' and 'b-c' are."""
    for name, values in _values_of_cells(recipe).items():
        if len(values) > 1:
            first, second, *_ = ["/".join(value) for value in sorted(values)]
            raise UsageError(f"cells: {first} and {second} would both be cell {name}; rename a source or a language")


def _values_of_cells(recipe: Recipe) -> dict[str, set[tuple[str, ...]]]:
    """For each cell that can be, the values of the recipe's dimensions that lead to its name."""
    quality = recipe.annotate.quality
    buckets = np.arange(quality.buckets if quality is not None else 1)
    found: dict[str, set[tuple[str, ...]]] = {}
    for name, source in recipe.sources.items():
        values: dict[str, Sequence[str] | np.ndarray] = {
            "source": [name] * len(buckets),
            "kind": [kind_of(source.kind)] * len(buckets),
            "language": [source.language or NO_LANGUAGE] * len(buckets),
            "quality": buckets,
        }
        names = cell_names(recipe.cells, values, len(buckets))
        for cell, *parts in zip(names, *(values[dimension] for dimension in recipe.cells), strict=True):
            found.setdefault(cell, set()).add(tuple(map(str, parts)))
    return found


def check_mixture(recipe: Recipe) -> None:
    """Raises UsageError for shares or weights that do not sum to one, or that name a cell that cannot be."""
    if recipe.mixture is None:
        return
    request = mixture_request(recipe)
    check_request(request)
    cells = dict.fromkeys(possible_cells(recipe), 1)
    for phase in request.phases:
        if not isinstance(phase.weights, Proportional):
            resolve_weights(phase, cells, request.normalise)


def cells_to_mix(recipe: Recipe, tokens: Mapping[str, int]) -> dict[str, int]:
    """Tokens by cell for the mixture: those packed, and cells that weights name though nothing fell into them."""
    assert recipe.mixture is not None
    named = {cell for phase in recipe.mixture.phases.values() for cell in phase.weights}
    return {**{cell: 0 for cell in possible_cells(recipe) if cell in named}, **tokens}
