"""From the recipe's mixture to the request that the mixture package plans."""

from __future__ import annotations

from tonnage.mixture import MixtureRequest, PhaseRequest, Proportional
from tonnage.recipe import Recipe


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
