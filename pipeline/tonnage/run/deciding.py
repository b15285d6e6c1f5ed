"""The decisions of a run in their fixed order: rules, exact duplicates, fuzzy duplicates, bucket edges, cells; then the
funnel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonnage import funnel as funnels
from tonnage.funnel import SourceFunnel
from tonnage.plan import BUCKETS, RULES, SELECTION, Plan, Shard, column_steps
from tonnage.quality.buckets import edges, merge
from tonnage.reuse import WHOLE_TASK, state_of_shards
from tonnage.run.context import Context, run_tasks
from tonnage.run.duplicates import find_exact_duplicates, find_fuzzy_duplicates
from tonnage.steps import decide
from tonnage.store.files import file_fact, join, read_bytes, write_bytes
from tonnage.store.receipts import Receipt, find_receipt, write_manifest, write_receipt


def columns_of(context: Context, shard: Shard) -> decide.ShardColumns:
    """Where the columns of one shard lie."""
    source = context.plan.source(shard.source)
    keys = {name: context.key(name) for name in column_steps(context.plan.steps, source.kind)}
    return decide.ShardColumns(
        context.root, shard.source, shard.shard, keys, source.kind, source.spec.language, shard.inputs
    )


@dataclass(frozen=True)
class Decided:
    """What came of the decisions: the funnel of each source, what fuzzy duplicates add up to (empty without), bucket
    edges if any, selection receipts by source.
    """

    funnel: dict[str, SourceFunnel]
    fuzzy: Mapping[str, Any]
    edges: tuple[float, ...] | None
    selection: dict[str, list[Receipt]]


def decide_documents(context: Context, documents: dict[str, list[Receipt]]) -> Decided:
    """Rules, then exact duplicates, fuzzy duplicates, bucket edges, cells.

    Raises WorkFailed when the counts of any step do not balance.
    """
    rules = _judge(context)
    find_exact_duplicates(context, rules)
    fuzzy = find_fuzzy_duplicates(context, rules)
    bucket_edges = _bucket_edges(context)
    step = context.plan.steps[SELECTION]
    receipts = dict(state_of_shards(context.root, step, context.plan.shards).receipts)
    tasks = [
        decide.SelectTask(columns_of(context, shard), step.key, tuple(context.plan.recipe.cells), bucket_edges)
        for shard in context.plan.shards
        if shard.task not in receipts
    ]
    for receipt in run_tasks(context, SELECTION, decide.select, tasks, lambda task: task.columns.task):
        receipts[receipt.task] = receipt
    ordered = [receipts[shard.task] for shard in context.plan.shards]
    write_manifest(context.root, step.name, step.key, step.material, ordered)
    selection = _by_source(context.plan, ordered)
    funnel = funnels.build(documents, _by_source(context.plan, rules), selection)
    return Decided(funnel, fuzzy, bucket_edges, selection)


def _by_source(plan: Plan, receipts: Sequence[Receipt]) -> dict[str, list[Receipt]]:
    """Receipts of all shards, in address order, by source."""
    result: dict[str, list[Receipt]] = {source.spec.name: [] for source in plan.sources}
    for shard, receipt in zip(plan.shards, receipts, strict=True):
        result[shard.source].append(receipt)
    return result


def _judge(context: Context) -> list[Receipt]:
    step = context.plan.steps[RULES]
    receipts = dict(state_of_shards(context.root, step, context.plan.shards).receipts)
    tasks = [
        decide.RulesTask(columns_of(context, shard), step.key, context.plan.rules)
        for shard in context.plan.shards
        if shard.task not in receipts
    ]
    for receipt in run_tasks(context, RULES, decide.judge, tasks, lambda task: task.columns.task):
        receipts[receipt.task] = receipt
    ordered = [receipts[shard.task] for shard in context.plan.shards]
    write_manifest(context.root, step.name, step.key, step.material, ordered)
    return ordered


def _bucket_edges(context: Context) -> tuple[float, ...] | None:
    """The quality bucket edges: those given, or byte-weighted quantiles over the survivors."""
    quality = context.plan.recipe.annotate.quality
    if quality is None:
        return None
    if quality.edges is not None:
        return tuple(quality.edges)
    step = context.plan.steps[BUCKETS]
    path = f"{BUCKETS}-{step.key}.json"
    url = join(context.root, path)
    if find_receipt(context.root, step.name, step.key, WHOLE_TASK) is not None:
        return tuple(json.loads(read_bytes(url))["edges"])
    places = [columns_of(context, shard) for shard in context.plan.shards]
    histograms = run_tasks(context, BUCKETS, decide.survivor_histogram, places, lambda place: place.task)
    found = tuple(edges(merge(histograms), quality.buckets))
    write_bytes(url, json.dumps({"edges": found, "buckets": quality.buckets}).encode() + b"\n")
    receipt = Receipt(step.name, step.key, WHOLE_TASK, (file_fact(context.root, path, 0),))
    write_manifest(context.root, step.name, step.key, step.material, [write_receipt(context.root, receipt)])
    return found
