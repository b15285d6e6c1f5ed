"""Tokens, mixture and exports of a run, from a finished selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import orjson

from tonnage.errors import WorkFailed
from tonnage.export import EXPORTS, ExportInput
from tonnage.mixture import MixturePlan, plan_mixture
from tonnage.plan import ENCODED, EXPORT, MIXTURE, SELECTION, TOKEN_SHARD_TOKENS, TOKENS, export_step
from tonnage.reuse import WHOLE_TASK, state_of_whole
from tonnage.run.context import Context, run_tasks
from tonnage.run.models import policy_of, tokenizer_path
from tonnage.run.request import cells_to_mix, mixture_request
from tonnage.steps import pack
from tonnage.store.files import file_fact, join, write_bytes
from tonnage.store.receipts import Receipt, find_receipt, write_manifest, write_receipt
from tonnage.tokenize.policy import TokenPolicy
from tonnage.tokenize.writer import tokens_manifest_path
from tonnage.tokenize.writer import write_manifest as write_tokens_manifest

MIXTURE_FILE = "mixture.json"
INDEX_TASK = "index"  # the receipt of tokens.json, beside those of the shards


def pack_tokens(context: Context, selection: Mapping[str, Sequence[Receipt]]) -> list[Receipt]:
    """Token shards of every cell, those done before kept; their receipts by cell, then shard.

    Raises WorkFailed when documents or tokens packed differ from those selected.
    """
    step = context.plan.steps[TOKENS]
    state = state_of_whole(context.root, step)
    policy = policy_of(context.root, context.plan)
    if state.finished and INDEX_TASK in state.receipts:
        return [state.receipts[task] for task in sorted(state.receipts) if task != INDEX_TASK]
    tasks = _pack_tasks(context, selection, policy)
    receipts: dict[str, Receipt] = {}
    due = []
    for task in tasks:
        receipt = find_receipt(context.root, step.name, step.key, task.name)
        if receipt is None:
            due.append(task)
        else:
            receipts[task.name] = receipt
    for receipt in run_tasks(context, TOKENS, pack.pack, due, lambda task: task.name):
        receipts[receipt.task] = receipt
    ordered = [receipts[task.name] for task in tasks]
    _check_packed(selection, ordered, policy)
    cells: dict[str, list[dict[str, int]]] = {}
    for receipt in ordered:
        counts = receipt.counts
        shard = {"shard": counts["shard"], "documents": counts["documents"], "tokens": counts["tokens"]}
        cells.setdefault(counts["cell"], []).append(shard)
    write_tokens_manifest(context.root, step.key, policy, cells)
    fact = file_fact(context.root, tokens_manifest_path(step.key), 0)
    index = write_receipt(context.root, Receipt(step.name, step.key, INDEX_TASK, (fact,)))
    write_manifest(context.root, step.name, step.key, step.material, [*ordered, index])
    return ordered


def _pack_tasks(
    context: Context, selection: Mapping[str, Sequence[Receipt]], policy: TokenPolicy
) -> list[pack.PackTask]:
    by_cell: dict[str, dict[str, int]] = {}
    for receipts in selection.values():
        for receipt in receipts:
            for cell, counts in receipt.counts["cells"].items():
                by_cell.setdefault(cell, {})[receipt.task] = counts["tokens"]
    return [
        pack.PackTask(
            root=context.root,
            key=context.key(TOKENS),
            selection_key=context.key(SELECTION),
            encoded_key=context.key(ENCODED),
            cell=cell,
            shard=number,
            shards=group,
            policy=policy,
            tokenizer=tokenizer_path(context.plan),
        )
        for cell in sorted(by_cell)
        for number, group in enumerate(pack.group_shards(context.plan.shards, by_cell[cell], TOKEN_SHARD_TOKENS))
    ]


def _check_packed(selection: Mapping[str, Sequence[Receipt]], packed: Sequence[Receipt], policy: TokenPolicy) -> None:
    """The balance law between selection and token shards, cell by cell."""
    documents: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    added = (policy.bos_id is not None) + (policy.eos_id is not None)
    for receipts in selection.values():
        for receipt in receipts:
            for cell, counts in receipt.counts["cells"].items():
                documents[cell] += counts["documents"]
                tokens[cell] += counts["tokens"] + added * counts["documents"]
    for receipt in packed:
        documents[receipt.counts["cell"]] -= receipt.counts["documents"]
        tokens[receipt.counts["cell"]] -= receipt.counts["tokens"]
    for cell in sorted(documents):
        if documents[cell] or tokens[cell]:
            raise WorkFailed(
                f"cell {cell} does not balance: {documents[cell]:+,} documents and {tokens[cell]:+,} tokens "
                f"selected but "
                f"not packed; nothing after this can be trusted, please report it"
            )


def cell_tokens(packed: Sequence[Receipt]) -> dict[str, int]:
    """Tokens of each cell, BOS and EOS included."""
    result: dict[str, int] = {}
    for receipt in packed:
        result[receipt.counts["cell"]] = result.get(receipt.counts["cell"], 0) + receipt.counts["tokens"]
    return result


def plan_phases(context: Context, packed: Sequence[Receipt]) -> MixturePlan:
    """The mixture over the cells as packed, written to mixture.json.

    Raises UsageError when a weight, budget or epoch cap cannot be met.
    """
    step, recipe = context.plan.steps[MIXTURE], context.plan.recipe
    mixture = plan_mixture(mixture_request(recipe), cells_to_mix(recipe, cell_tokens(packed)))
    if find_receipt(context.root, step.name, step.key, WHOLE_TASK) is not None:
        return mixture
    content = orjson.dumps(mixture.to_dict(), option=orjson.OPT_INDENT_2) + b"\n"
    write_bytes(join(context.root, MIXTURE_FILE), content)
    fact = file_fact(context.root, MIXTURE_FILE, 0)
    receipt = write_receipt(context.root, Receipt(step.name, step.key, WHOLE_TASK, (fact,)))
    write_manifest(context.root, step.name, step.key, step.material, [receipt])
    return mixture


def export_all(context: Context) -> list[dict[str, str]]:
    """Makes the exports that the recipe asks for; format, folder (exports/FORMAT) and key of each."""
    made = []
    plan = context.plan
    mixture = MIXTURE_FILE if context.has(MIXTURE) else None
    source = ExportInput(context.root, plan.steps[TOKENS].key, tokenizer=tokenizer_path(plan), mixture=mixture)
    for wanted in plan.recipe.export:
        step = export_step(plan, wanted)
        folder = f"{EXPORT}s/{wanted.format}"
        made.append({"format": wanted.format, "folder": folder, "key": step.key})
        if find_receipt(context.root, step.name, step.key, WHOLE_TASK) is not None:
            continue
        context.progress.start(f"{EXPORT} {wanted.format}", tasks=1)
        options = {"text": wanted.text} if wanted.format == "parquet" else {}
        report = EXPORTS[wanted.format](source, join(context.root, folder), **options)
        context.progress.advance(tasks=1)
        context.progress.finish()
        facts = tuple(file_fact(context.root, f"{folder}/{path}", 0) for path in report.files)
        receipt = write_receipt(context.root, Receipt(step.name, step.key, WHOLE_TASK, facts))
        write_manifest(context.root, step.name, step.key, step.material, [receipt])
    return made
