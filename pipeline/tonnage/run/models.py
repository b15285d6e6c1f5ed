"""The quality model and the tokenizer of a run: copied from the given files, or trained on seeded samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tonnage.plan import QUALITY_MODEL, TOKENIZER, Plan
from tonnage.quality.model import check_model
from tonnage.recipe import Recipe
from tonnage.reuse import WHOLE_TASK
from tonnage.run.context import Context, each_task, run_tasks
from tonnage.steps import sample
from tonnage.store.files import file_fact, join, read_bytes, write_bytes
from tonnage.store.layout import model_path
from tonnage.store.receipts import Receipt, find_receipt, write_manifest, write_receipt
from tonnage.tokenize.policy import TokenPolicy, resolve_policy


def tokenizer_path(plan: Plan) -> str:
    """The run's own copy of the tokenizer, relative to the run."""
    return model_path(TOKENIZER, plan.steps[TOKENIZER].key, sample.TOKENIZER_FILE)


def policy_of(root: str, plan: Plan) -> TokenPolicy:
    """BOS, EOS, width and marker policy, verified against the run's tokenizer."""
    settings = plan.recipe.tokenizer
    assert settings is not None
    content = read_bytes(join(root, tokenizer_path(plan)))
    return resolve_policy(content, eos=settings.eos, bos=settings.bos, parse_markers=settings.parse_markers)


def check_models(recipe: Recipe) -> None:
    """Raises UsageError for a model or tokenizer given by path that cannot be used as the recipe says."""
    quality, tokenizer = recipe.annotate.quality, recipe.tokenizer
    if quality is not None and quality.model is not None:
        check_model(quality.model, quality.label)
    if tokenizer is not None and tokenizer.file is not None:
        content = read_bytes(tokenizer.file)
        resolve_policy(content, eos=tokenizer.eos, bos=tokenizer.bos, parse_markers=tokenizer.parse_markers)


def model_ready(context: Context, step: str) -> bool:
    """Whether the model is in the run; a model given by path is copied there first."""
    key = context.key(step)
    if find_receipt(context.root, step, key, WHOLE_TASK) is not None:
        return True
    recipe = context.plan.recipe
    quality, tokenizer = recipe.annotate.quality, recipe.tokenizer
    given = quality.model if step == QUALITY_MODEL and quality else tokenizer.file if tokenizer else None
    if given is None:
        return False
    path = model_path(step, key, sample.QUALITY_FILE if step == QUALITY_MODEL else sample.TOKENIZER_FILE)
    write_bytes(join(context.root, path), read_bytes(given))
    receipt = write_receipt(
        context.root, Receipt(step, key, WHOLE_TASK, (file_fact(context.root, path, 0),), {"given": 1})
    )
    write_manifest(context.root, step, key, context.plan.steps[step].material, [receipt])
    return True


def train_models(context: Context) -> None:
    """Trains what is due, both models at the same time."""
    recipe = context.plan.recipe
    tasks: list[Any] = []
    if context.has(QUALITY_MODEL) and not model_ready(context, QUALITY_MODEL):
        assert recipe.annotate.quality is not None and recipe.annotate.quality.train is not None
        settings = recipe.annotate.quality.train
        classes = [
            _sample(context, f"sample {name}", names, settings.max_bytes_per_class, settings.max_documents_per_class)
            for name, names in (("positive", settings.positive), ("negative", settings.negative))
        ]
        tasks.append(
            sample.TrainQualityTask(
                context.root, context.key(QUALITY_MODEL), classes[0], classes[1], settings, recipe.seed
            )
        )
    if context.has(TOKENIZER) and not model_ready(context, TOKENIZER):
        assert recipe.tokenizer is not None and recipe.tokenizer.train is not None
        training = recipe.tokenizer.train
        special = tuple(dict.fromkeys(s for s in (recipe.tokenizer.eos, recipe.tokenizer.bos, *training.special) if s))
        samples = _sample(context, "sample tokenizer", list(recipe.sources), training.sample, 2**62)
        tasks.append(sample.TrainTokenizerTask(context.root, context.key(TOKENIZER), samples, training, special))
    for receipt in run_tasks(context, _training(tasks), sample.train, tasks, lambda task: task.step):
        step = context.plan.steps[receipt.step]
        write_manifest(context.root, step.name, step.key, step.material, [receipt])


def _training(tasks: Sequence[Any]) -> str:
    return "train " + " + ".join(task.step for task in tasks)


def _sample(
    context: Context, step: str, sources: Sequence[str], max_bytes: int, max_documents: int
) -> tuple[sample.Sample, ...]:
    seed = context.plan.recipe.seed
    tasks = [
        sample.RankTask(context.root, sample.Place(shard.source, shard.shard), seed, max_bytes, max_documents)
        for name in sources
        for shard in context.plan.source(name).shards
    ]
    merged = sample.NO_CANDIDATES
    for index, candidates in each_task(
        context, step, sample.rank_documents, tasks, lambda task: f"{task.place.source}/{task.place.shard:05d}"
    ):
        merged = sample.merge(merged, sample.of_shard(candidates, index), max_bytes, max_documents)
    return sample.chosen(merged, [task.place for task in tasks], max_bytes)
