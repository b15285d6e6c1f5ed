"""Duplicates over the whole corpus: the tasks of dedup in their order, exact first, then fuzzy.

Tasks whose receipts are valid are not done again, so a stopped run goes on where it was; what the tasks hand to one
another is deleted once a step is done. What the tasks do is dedup's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tonnage.dedup import candidates, exact, tally, verification
from tonnage.dedup.corpus import Corpus, Part
from tonnage.dedup.signatures import Banding, Shingling
from tonnage.errors import UsageError, WorkFailed
from tonnage.plan import EXACT, FUZZY, RULES, SIGNATURES, Plan, Step
from tonnage.recipe.schema import Fuzzy
from tonnage.reuse import state_of_whole
from tonnage.run.context import Context, run_tasks
from tonnage.store.files import join, remove_folder
from tonnage.store.layout import columns_folder, exchange_folder
from tonnage.store.receipts import Receipt, find_receipt, write_manifest, write_receipt

SUMMARY = "summary"  # the receipt that holds what a step's duplicates add up to
LEAST_MATCH = 0.5  # probability at the threshold below which bands and rows are refused


def shingling_of(fuzzy: Fuzzy) -> Shingling:
    """What the recipe's signatures are made of."""
    return Shingling(fuzzy.ngram, fuzzy.bands * fuzzy.rows, fuzzy.seed)


def banding_of(fuzzy: Fuzzy) -> Banding:
    """How the recipe's signatures are cut into bands."""
    return Banding(fuzzy.bands, fuzzy.rows, fuzzy.arrangements)


def check_duplicates(plan: Plan) -> None:
    """Raises UsageError when the recipe's bands miss most pairs whose Jaccard similarity is the threshold."""
    fuzzy = plan.recipe.dedup.fuzzy
    if fuzzy is None or fuzzy.verify is False or fuzzy.force:
        return
    banding, threshold = banding_of(fuzzy), fuzzy.verify.threshold
    if banding.match(threshold) < LEAST_MATCH:
        raise UsageError(
            f"dedup.fuzzy: {fuzzy.bands} bands x {fuzzy.rows} rows find two documents of similarity {threshold:g} with "
            f"probability {banding.match(threshold):.3f} only; the match curve is {banding.curve()}; take fewer rows "
            f"or more bands, or accept it with dedup.fuzzy.force: true"
        )


def _corpus(context: Context, decided: Sequence[str]) -> Corpus:
    """All documents shards, those of earlier corpora first; `decided` are the steps that say who still takes part."""
    fuzzy = context.plan.recipe.dedup.fuzzy
    signatures = columns_folder(SIGNATURES, context.key(SIGNATURES)) if fuzzy is not None else ""
    verdicts = tuple(columns_folder(step, context.key(step)) for step in decided if context.has(step))
    own = [
        Part(
            context.root,
            source.spec.name,
            len(source.shards),
            verdicts,
            signatures=signatures,
            exempt=fuzzy is not None and source.spec.name in fuzzy.exempt,
        )
        for source in context.plan.sources
    ]
    return Corpus((*(part for earlier in context.plan.earlier for part in earlier.parts()), *own))


def _passed(context: Context, rules: Sequence[Receipt]) -> int:
    """Documents of this run that passed the rules, and those that earlier corpora kept."""
    return sum(receipt.counts["passed"] for receipt in rules) + sum(run.documents for run in context.plan.earlier)


def _receipts(
    context: Context, step: Step, label: str, function: Callable[[Any], Receipt], tasks: Mapping[str, Any]
) -> list[Receipt]:
    """The receipts of `tasks` by name, in their order; only tasks without a valid one are done."""
    found = {name: find_receipt(context.root, step.name, step.key, name) for name in tasks}
    due = [name for name, receipt in found.items() if receipt is None]
    names = {id(tasks[name]): name for name in due}
    done = run_tasks(
        context, f"{step.name} {label}".strip(), function, [tasks[name] for name in due], lambda task: names[id(task)]
    )
    made = dict(zip(due, done, strict=True))
    return [receipt if receipt is not None else made[name] for name, receipt in found.items()]


def find_exact_duplicates(context: Context, rules: Sequence[Receipt]) -> None:
    """Exact duplicates among the documents that passed the rules."""
    if not context.has(EXACT):
        return
    step = context.plan.steps[EXACT]
    if state_of_whole(context.root, step).finished:
        return
    corpus = _corpus(context, [RULES])
    places = corpus.places()
    partitions = exact.partitions_for(_passed(context, rules))
    maps = {f"{exact.MAP}/{place.task}": exact.MapTask(context.root, step.key, place, partitions) for place in places}
    mapped = _receipts(context, step, "map", exact.exact_map, maps)
    reduces = {
        f"{exact.REDUCE}/{number:06d}": exact.ReduceTask(context.root, step.key, number, partitions, corpus)
        for number in range(partitions)
    }
    reduced = _receipts(context, step, "reduce", exact.exact_reduce, reduces)
    writes = {
        place.task: exact.WriteTask(context.root, step.key, place, corpus, partitions)
        for place in places
        if not place.earlier
    }
    written = _receipts(context, step, "write", exact.exact_write, writes)
    exact.check_balance(mapped, reduced, written)
    _finish(context, step, written, tally.add_up(receipt.counts for receipt in reduced))


def _finish(context: Context, step: Step, written: Sequence[Receipt], counts: Mapping[str, Any]) -> None:
    """The step's manifest with what its duplicates add up to; what its tasks handed over goes."""
    summary = write_receipt(context.root, Receipt(step.name, step.key, SUMMARY, (), counts))
    write_manifest(context.root, step.name, step.key, step.material, [*written, summary])
    remove_folder(join(context.root, exchange_folder(step.name, step.key)))


def find_fuzzy_duplicates(context: Context, rules: Sequence[Receipt]) -> Mapping[str, Any]:
    """Fuzzy duplicates among the documents that are left; what they add up to, empty when none were looked for."""
    fuzzy = context.plan.recipe.dedup.fuzzy
    if fuzzy is None:
        return {}
    step = context.plan.steps[FUZZY]
    state = state_of_whole(context.root, step)
    if state.finished:
        return state.receipts[SUMMARY].counts
    corpus = _corpus(context, [RULES, EXACT])
    grouped, partitions = _group(context, step, fuzzy, corpus, rules)
    totals = tally.add_up(receipt.counts for receipt in grouped)
    proofs = verification.partitions_for(totals["shingles"])
    sending = {
        f"{verification.SHINGLES}/{place.task}": verification.ShinglesTask(
            context.root, step.key, place, shingling_of(fuzzy), partitions, corpus.shards, proofs
        )
        for place in corpus.places()
    }
    _receipts(context, step, "shingles", verification.send_shingles, sending)
    verifying = {
        f"{verification.VERIFY}/{number:06d}": verification.VerifyTask(
            context.root, step.key, number, proofs, corpus, _proof(fuzzy)
        )
        for number in range(proofs)
    }
    verified = _receipts(context, step, "verify", verification.verify, verifying)
    writing = {
        place.task: verification.WriteTask(context.root, step.key, place, corpus, proofs)
        for place in corpus.places()
        if not place.earlier
    }
    written = _receipts(context, step, "write", verification.write, writing)
    verification.check_balance(grouped, verified, written)
    counts = {**totals, **tally.add_up(receipt.counts for receipt in verified), "largest_group": totals["largest"]}
    _finish(context, step, written, counts)
    return counts


def _proof(fuzzy: Fuzzy) -> verification.Proof:
    checked = fuzzy.verify is not False
    return verification.Proof(
        measure=fuzzy.verify.measure if fuzzy.verify is not False else verification.UNCHECKED,
        threshold=fuzzy.verify.threshold if fuzzy.verify is not False else 0.0,
        per_source=fuzzy.keep == "per-source",
        exact_members=fuzzy.exact_members if checked else 0,
        lookups=fuzzy.lookups,
    )


def _group(
    context: Context, step: Step, fuzzy: Fuzzy, corpus: Corpus, rules: Sequence[Receipt]
) -> tuple[list[Receipt], int]:
    """The receipts of the candidate groups, and how many partitions hold them."""
    banding = banding_of(fuzzy)
    partitions = candidates.partitions_for(_passed(context, rules) * banding.bands * banding.arrangements)
    maps = {
        f"{candidates.MAP}/{place.task}": candidates.MapTask(
            context.root, step.key, place, banding, fuzzy.min_shingles, partitions
        )
        for place in corpus.places()
    }
    _receipts(context, step, "map", candidates.map_bands, maps)

    def tasks(name: str, reads: str, inputs: int, **settings: int) -> dict[str, candidates.PartitionTask]:
        return {
            f"{name}/{number:06d}": candidates.PartitionTask(
                context.root, step.key, number, partitions, reads, inputs, **settings
            )
            for number in range(partitions)
        }

    sizes = {"most_shingles": verification.MOST_SHINGLES, "shards": corpus.shards}
    reads = candidates.MATCH
    _receipts(context, step, "match", candidates.match, tasks(reads, candidates.MAP, corpus.shards))
    if partitions == 1:  # whatever hangs together was joined there
        return _receipts(context, step, "groups", candidates.group, tasks(candidates.GROUPS, reads, 1, **sizes)), 1
    before = None
    for turn in range(candidates.MOST_ROUNDS):
        large = candidates.name_of_round(candidates.LARGE_STAR, turn)
        stars = _receipts(context, step, large, candidates.large_star, tasks(large, reads, partitions, turn=turn))
        now = tally.add_up(receipt.counts for receipt in stars)
        if now == before or not now["edges"]:
            groups = tasks(candidates.GROUPS, reads, partitions, **sizes)
            return _receipts(context, step, "groups", candidates.group, groups), partitions
        before = now
        small = candidates.name_of_round(candidates.SMALL_STAR, turn)
        _receipts(context, step, small, candidates.small_star, tasks(small, large, partitions, turn=turn))
        reads = small
    raise WorkFailed(
        f"candidate groups did not settle in {candidates.MOST_ROUNDS} rounds; this is a fault, please report it"
    )
