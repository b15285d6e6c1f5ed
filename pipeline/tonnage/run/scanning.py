"""Documents and columns of a run: which shards are due for which column, scanned together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage.plan import (
    CODE_FLAGS,
    DOCUMENTS,
    ENCODED,
    HEURISTICS,
    QUALITY,
    QUALITY_MODEL,
    SIGNATURES,
    TOKENIZER,
    column_steps,
)
from tonnage.reuse import shards_of, state_of_shards
from tonnage.run.context import Context
from tonnage.run.duplicates import shingling_of
from tonnage.run.models import model_ready, policy_of, tokenizer_path
from tonnage.steps import sample, scan
from tonnage.store.files import join, names_in, remove
from tonnage.store.layout import columns_path, documents_path, model_path, rejects_path, shard_name
from tonnage.store.receipts import Receipt, find_receipt, write_manifest


def scan_shards(context: Context) -> dict[str, list[Receipt]]:
    """Does what is due of documents and of every column whose model is there; the documents' receipts by source."""
    columns = _columns(context)
    done: dict[str, dict[str, Receipt]] = {
        source.spec.name: dict(state_of_shards(context.root, source.step, source.shards).receipts)
        for source in context.plan.sources
    }
    tasks = []
    for source in context.plan.sources:
        for shard in source.shards:
            due = tuple(
                column
                for column in columns
                if (column.name != CODE_FLAGS or source.spec.kind == "code")
                and find_receipt(context.root, column.name, column.key, shard.task, inputs=shard.inputs) is None
            )
            key = None if shard.task in done[source.spec.name] else source.step.key
            if due or key is not None:
                tasks.append(scan.ScanTask(context.root, source.spec, shard, key, due))
    if tasks:
        _run_scan(context, tasks, done)
    result = {
        source.spec.name: [done[source.spec.name][shard.task] for shard in source.shards]
        for source in context.plan.sources
    }
    for source in context.plan.sources:
        write_manifest(context.root, DOCUMENTS, source.step.key, source.step.material, result[source.spec.name])
    _write_column_manifests(context, columns)
    _remove_lost_shards(context)
    return result


def _remove_lost_shards(context: Context) -> None:
    """Deletes shards that a source had before it shrank: they would look like part of the run."""
    for source in context.plan.sources:
        name = source.spec.name
        planned = {shard_name(shard.shard) for shard in source.shards}
        examples = [documents_path(name, 0), rejects_path(name, 0)]
        steps = column_steps(context.plan.steps, source.kind)
        examples += [columns_path(step, context.key(step), name, 0) for step in steps]
        for folder in (join(context.root, example.rpartition("/")[0]) for example in examples):
            for file in names_in(folder):
                if file.partition(".")[0] not in planned:
                    remove(join(folder, file))


def _run_scan(context: Context, tasks: Sequence[scan.ScanTask], done: Mapping[str, dict[str, Receipt]]) -> None:
    reading = any(task.documents_key is not None for task in tasks)
    names = sorted({column.name for task in tasks for column in task.columns})
    step = " + ".join(([DOCUMENTS] if reading else []) + names)
    context.prepare()
    sizes = [sum(piece.end - piece.start for piece in task.shard.read.pieces) for task in tasks] if reading else []
    context.progress.start(step, tasks=len(tasks), bytes=sum(sizes))
    said = [scan.Scanned()] * len(tasks)

    def through(index: int, part: scan.Scanned) -> None:
        before, said[index] = said[index], part
        context.progress.advance(
            documents=part.documents - before.documents, text_bytes=part.text_bytes - before.text_bytes
        )

    arriving = context.engine.each(scan.scan, tasks, label=lambda task: f"{step} {task.shard.task}", on_part=through)
    for index, receipts in arriving:
        task = tasks[index]
        context.progress.advance(tasks=1, bytes=sizes[index] if reading else 0)
        if receipts[0].step == DOCUMENTS:
            done[task.spec.name][task.shard.task] = receipts[0]
    context.progress.finish()


def _write_column_manifests(context: Context, columns: Sequence[scan.Column]) -> None:
    for column in columns:
        step = context.plan.steps[column.name]
        state = state_of_shards(context.root, step, shards_of(context.plan, column.name))
        if state.finished:
            write_manifest(context.root, step.name, step.key, step.material, list(state.receipts.values()))


def _columns(context: Context) -> list[scan.Column]:
    """Every column step that can be computed now: its model is given or trained."""
    columns = [scan.Column(name, context.key(name)) for name in (HEURISTICS, CODE_FLAGS) if context.has(name)]
    fuzzy = context.plan.recipe.dedup.fuzzy
    if fuzzy is not None:
        columns.append(scan.Column(SIGNATURES, context.key(SIGNATURES), shingling=shingling_of(fuzzy)))
    quality = context.plan.recipe.annotate.quality
    if quality is not None and model_ready(context, QUALITY_MODEL):
        columns.append(
            scan.Column(
                QUALITY,
                context.key(QUALITY),
                model=model_path(QUALITY_MODEL, context.key(QUALITY_MODEL), sample.QUALITY_FILE),
                label=quality.label,
                normalise=quality.normalise,
            )
        )
    if context.has(ENCODED) and model_ready(context, TOKENIZER):
        columns.append(
            scan.Column(
                ENCODED,
                context.key(ENCODED),
                model=tokenizer_path(context.plan),
                policy=policy_of(context.root, context.plan),
            )
        )
    return columns
