"""Executes a plan on an engine, stage by stage, doing only what no valid receipt proves done.

Here is the order of stages; what a worker does with one shard, cell or model is in steps/, what is due is reuse.py's,
what must balance is funnel.py's, and what is written about the whole run is record.py's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tonnage import funnel as funnels
from tonnage.errors import UsageError, WorkFailed
from tonnage.plan import DOCUMENTS, EXPORT, MIXTURE, SELECTION, TOKENS, Plan
from tonnage.run.context import Context, Engine, Progress
from tonnage.run.deciding import decide_documents
from tonnage.run.duplicates import check_duplicates
from tonnage.run.models import check_models, policy_of, train_models
from tonnage.run.packing import cell_tokens, export_all, pack_tokens, plan_phases
from tonnage.run.record import Record, write_record
from tonnage.run.request import check_cells, check_mixture
from tonnage.run.scanning import scan_shards
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE, FUZZY_GROUP, check_rules
from tonnage.steps.decide import rule_columns
from tonnage.store.files import remove_partials
from tonnage.store.receipts import Receipt

__all__ = ["UNTIL", "Context", "Engine", "Progress", "check", "execute"]

COLUMNS = "columns"
UNTIL = (DOCUMENTS, COLUMNS, SELECTION, TOKENS, MIXTURE, EXPORT)


def check(plan: Plan, until: str = EXPORT) -> None:
    """Raises UsageError for what can be known to be wrong before any work: a stage, a rule, a phase's weights."""
    if until not in UNTIL:
        raise UsageError(f"--until {until} is no stage; stages are {', '.join(UNTIL)}")
    check_rules(plan.rules, rule_columns(list(plan.steps)))
    reasons = [*(rule.name for rule in plan.rules), EXACT_DUPLICATE, FUZZY_DUPLICATE, FUZZY_GROUP]
    funnels.check_acknowledged(plan.recipe.acknowledge, reasons, plan.recipe.sources)
    check_duplicates(plan)
    check_cells(plan.recipe)
    check_mixture(plan.recipe)
    check_models(plan.recipe)


def execute(context: Context, until: str = EXPORT) -> Record:
    """Runs what is due of the plan, up to and including the stage `until`, and returns the run's record.

    Raises UsageError when the mixture cannot be, and WorkFailed when input, balance, an alarm or a worker stops the
    run; what was finished until then is kept.
    """
    plan = context.plan
    check(plan, until)
    remove_partials(context.root)
    documents = scan_shards(context)
    record = Record(plan, damaged=_damaged(plan, documents))
    for source in plan.sources:
        limit = plan.recipe.sources[source.spec.name].max_rejects
        funnels.check_rejects(source.spec.name, documents[source.spec.name], limit)
    if _reaches(until, COLUMNS):
        train_models(context)
        scan_shards(context)
    if _reaches(until, SELECTION):
        decided = decide_documents(context, documents)
        record = replace(record, funnel=decided.funnel, edges=decided.edges)
        write_record(context.root, record)
        funnels.check_alarms(decided.funnel, plan.recipe.acknowledge, decided.fuzzy.get("largest"))
        if _reaches(until, TOKENS) and context.has(TOKENS):
            record = _tokens_to_exports(context, record, decided.selection, until)
    write_record(context.root, record)
    return record


def _reaches(until: str, stage: str) -> bool:
    return UNTIL.index(until) >= UNTIL.index(stage)


def _tokens_to_exports(
    context: Context, record: Record, selection: Mapping[str, Sequence[Receipt]], until: str
) -> Record:
    packed = pack_tokens(context, selection)
    record = replace(record, cell_tokens=cell_tokens(packed), dtype=policy_of(context.root, context.plan).dtype)
    write_record(context.root, record)
    if _reaches(until, MIXTURE) and context.has(MIXTURE):
        plan_phases(context, packed)
        record = replace(record, mixed=True)
    if _reaches(until, EXPORT):
        record = replace(record, exports=export_all(context))
    return record


def _damaged(plan: Plan, documents: Mapping[str, Sequence[Receipt]]) -> dict[str, int]:
    """Number of damaged files by source, without zeros and without sources that accept them by keep-prefix."""
    counts = {
        name: sum(receipt.counts.get("damaged_files", 0) for receipt in receipts)
        for name, receipts in documents.items()
        if plan.recipe.sources[name].on_damaged != "keep-prefix"
    }
    return {name: count for name, count in counts.items() if count}


def check_damage(record: Record) -> None:
    """Raises WorkFailed when files were damaged: the run is whole without them, but must not look like a clean one."""
    if record.damaged:
        listed = ", ".join(f"{count} in source {name}" for name, count in record.damaged.items())
        raise WorkFailed(
            f"damaged input files were left out: {listed}; all else was done; `tonnage show RUN --rejects SOURCE` "
            f"names them; mend or exclude them, or keep what is whole of them with on_damaged: keep-prefix"
        )
