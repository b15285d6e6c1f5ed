"""The mixture of a run, or of a recipe whose run has its tokens, as JSON and as tables. The arithmetic is mixture's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tonnage.errors import UsageError
from tonnage.inspect.stats import Table
from tonnage.inspect.view import open_run
from tonnage.mixture import plan_mixture
from tonnage.recipe import Recipe
from tonnage.run.request import cells_to_mix, check_mixture, mixture_request

SHAPE = ("budget", "sequence_length", "phases", "exposure")


def mixture_of_run(root: str) -> dict[str, Any]:
    """The mixture of the run's own recipe over its own cells.

    Raises UsageError when the run has no mixture or no tokens yet.
    """
    view = open_run(root)
    return mixture_of_recipe(Recipe.model_validate(view.content["recipe"]), root)


def mixture_of_recipe(recipe: Recipe, root: str) -> dict[str, Any]:
    """The mixture that `recipe` asks for over the cells that the run at `root` has packed."""
    if recipe.mixture is None:
        raise UsageError(f"recipe {recipe.name} has no mixture; add one with a budget and phases")
    view = open_run(root)
    assert view.tokens_key
    tokens = {cell: counts["tokens"] for cell, counts in view.content["stats"]["cells"].items()}
    check_mixture(recipe)
    return plan_mixture(mixture_request(recipe), cells_to_mix(recipe, tokens)).to_dict()


def mixture_tables(content: Mapping[str, Any]) -> list[Table]:
    """One table a phase, and the exposure over all phases."""
    tables = []
    for phase in content["phases"]:
        rows: list[tuple[Any, ...]] = [
            (cell, entry["weight"], entry["sequences"], entry["tokens"], f"{entry['epochs']:.3f}")
            for cell, entry in phase["cells"].items()
        ]
        rows.append(("total", phase["weight_sum"], phase["sequences"], phase["tokens"], None))
        title = f"Phase {phase['name']}: {phase['tokens']:,} tokens"
        tables.append(Table(title, ("cell", "weight", "sequences", "tokens", "epochs"), tuple(rows)))
    drawn_rows: list[tuple[Any, ...]] = []
    for cell, epochs in content["exposure"].items():
        drawn = sum(phase["cells"][cell]["tokens"] for phase in content["phases"] if cell in phase["cells"])
        drawn_rows.append((cell, content["cells"][cell]["tokens"], drawn, f"{epochs:.3f}"))
    title = f"All phases: {content['budget']:,} tokens in sequences of {content['sequence_length']:,}"
    notes = tuple(content.get("notes", ()))
    tables.append(Table(title, ("cell", "tokens in the corpus", "tokens drawn", "epochs"), tuple(drawn_rows), notes))
    return tables
