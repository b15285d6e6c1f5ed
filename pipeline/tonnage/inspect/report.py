"""What commands print: the report at a run's end, the plan, the outcome of a verification, recipes, rule columns."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any

from tonnage.errors import TonnageError, WorkFailed
from tonnage.inspect.mix import mixture_of_run, mixture_tables
from tonnage.inspect.stats import Table, overview
from tonnage.inspect.verify import verify
from tonnage.inspect.view import RunView, open_run
from tonnage.plan import MIXTURE, Plan, SourcePlan
from tonnage.recipe import load_recipe
from tonnage.recipe.presets import presets
from tonnage.reuse import StepState
from tonnage.run.record import Record
from tonnage.steps.decide import STEP_SCHEMAS, rule_columns

FAULTS_SHOWN = 20


def run_report(root: str, record: Record) -> Iterator[Table]:
    """The tables at the end of a run, as far as it went."""
    view = open_run(root)
    if not view.selected:
        return
    yield from overview(root, view.content)
    if view.has(MIXTURE) and record.mixed:
        yield from mixture_tables(mixture_of_run(root))


def plan_table(plan: Plan, found: Sequence[StepState]) -> Table:
    rows = [
        (state.label, state.step.key, _progress(state), "reused" if state.finished else state.why) for state in found
    ]
    files = sum(len(source.listing.files) for source in plan.sources)
    size = sum(file.bytes for source in plan.sources for file in source.listing.files)
    return Table(
        f"Plan of {plan.recipe.name}: {len(plan.sources)} sources, {files:,} files, {size:,} bytes, "
        f"{len(plan.shards):,} shards",
        ("step", "key", "tasks done", "why"),
        tuple(rows),
        tuple(_left_out(source) for source in plan.sources if source.listing.excluded),
    )


def _left_out(source: SourcePlan) -> str:
    counts = ", ".join(f"{pattern} {count:,}" for pattern, count in source.listing.excluded.items())
    return f"sources.{source.spec.name}.exclude leaves out files: {counts}"


def _progress(state: StepState) -> str:
    return f"{state.done} of {state.tasks}" if state.tasks else "-"


def plan_json(plan: Plan, found: Sequence[StepState]) -> dict[str, Any]:
    return {
        "name": plan.recipe.name,
        "sources": {
            source.spec.name: {
                "files": len(source.listing.files),
                "bytes": sum(file.bytes for file in source.listing.files),
                "excluded": dict(source.listing.excluded),
            }
            for source in plan.sources
        },
        "steps": [
            {
                "step": state.label,
                "key": state.step.key,
                "done": state.done,
                "tasks": state.tasks,
                "reused": state.finished,
                "why": state.why,
            }
            for state in found
        ],
    }


def verify_run(view: RunView) -> Iterator[str]:
    """One line a check while they are made. Raises WorkFailed at the end when anything differed."""
    failed = 0
    for check in verify(view):
        verdict = "ok" if not check.faults else f"{len(check.faults):,} FAULTS"
        yield f"{check.name:<22} {check.looked_at:>20}  {verdict}"
        for fault in check.faults[:FAULTS_SHOWN]:
            yield f"    {fault}"
        if len(check.faults) > FAULTS_SHOWN:
            yield f"    and {len(check.faults) - FAULTS_SHOWN:,} more"
        failed += bool(check.faults)
    if failed:
        raise WorkFailed(
            f"{failed} check(s) of run {view.root} failed; give the same `tonnage run` command again: what "
            f"changed is redone"
        )


def recipe_tables(folder: str) -> Iterator[Table]:
    """The recipes in `folder`, and the presets that every recipe may use."""
    rows = [_recipe_row(path) for path in sorted(glob.glob(os.path.join(folder, "**", "*.yaml"), recursive=True))]
    yield Table(f"Recipes in {folder}", ("recipe", "sources", "phases", "budget"), tuple(rows))
    yield Table(
        "Rule presets (`select: [{use: NAME}]`)",
        ("preset", "rules", "about"),
        tuple((name, len(preset["rules"]), preset["about"]) for name, preset in presets().items()),
    )


def _recipe_row(path: str) -> tuple[Any, ...]:
    try:
        recipe = load_recipe(path)
    except TonnageError as fault:
        return path, f"not a recipe: {fault}", None, None
    mixture = recipe.mixture
    phases = ", ".join(f"{name} {phase.share:g}" for name, phase in mixture.phases.items()) if mixture else None
    return path, ", ".join(recipe.sources), phases, mixture.budget if mixture else None


def columns_table() -> Table:
    """Every column that a rule may read, with its type and the step that makes it."""
    makers = {name: step for step, table_schema in STEP_SCHEMAS.items() for name in table_schema.names}
    rows = [
        (name, str(kind).lower(), makers.get(name, "documents"))
        for name, kind in sorted(rule_columns(list(STEP_SCHEMAS)).items())
    ]
    return Table("Columns for rules", ("column", "type", "made by"), tuple(rows))
