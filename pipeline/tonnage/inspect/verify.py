"""Verification: everything a run claims, computed again from what lies on disk.

Hashes of every file, identities of every document, every rule's verdict, every duplicate's kept twin, every count of
the
funnel, every token shard's borders and a sample of its texts, and the sums of the mixture. Reads everything, writes
nothing; one check is one function that yields its faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import xxhash

from tonnage.funnel import DUPLICATES, SourceFunnel
from tonnage.inspect import duplicates
from tonnage.inspect.mix import mixture_of_run
from tonnage.inspect.view import RunView
from tonnage.plan import DOCUMENTS, ENCODED, EXACT, EXPORT, FUZZY, HEURISTICS, MIXTURE
from tonnage.run.packing import MIXTURE_FILE
from tonnage.run.record import funnel_of, stats_of_funnel
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE, apply_rules, columns_needed
from tonnage.steps.decide import ShardColumns, read_columns
from tonnage.steps.pack import texts_of
from tonnage.store.documents import read_row_groups, read_table
from tonnage.store.files import FileFact, join, read_bytes, unchanged
from tonnage.store.layout import documents_path, rejects_path, selection_path
from tonnage.store.receipts import manifest_path, read_manifest
from tonnage.tokenize.check import check_shard
from tonnage.tokenize.writer import read_manifest as read_tokens_manifest

DECODED_DOCUMENTS = 20
COMPARED_DUPLICATES = 200  # duplicates whose texts are compared again


@dataclass(frozen=True)
class Check:
    """One check: how many things were looked at, and a sentence for each fault."""

    name: str
    looked_at: str
    faults: tuple[str, ...]


def verify(view: RunView) -> Iterator[Check]:
    """All checks that apply to what the run has reached, one after another."""
    yield _check("files unchanged", "files", _files(view))
    yield _check("document ids", "documents", _ids(view))
    if view.selected:
        yield _check("rule verdicts", "documents", _verdicts(view))
        if view.has(EXACT):
            yield _check("exact duplicates", "duplicates", _exact_duplicates(view))
        if view.has(FUZZY):
            yield _check("fuzzy duplicates", "duplicates", _fuzzy_duplicates(view))
        yield _check("counts of the funnel", "counts", _counts(view))
    if view.packed:
        yield _check("token shards", "documents", _tokens(view))
    if view.packed and view.content["mixed"]:
        yield _check("mixture", "cells", _mixture(view))


Faults = Iterator[str | int]  # a fault as a sentence, or how many more things were looked at


def _check(name: str, unit: str, faults: Faults) -> Check:
    count = 0
    found: list[str] = []
    for item in faults:
        if isinstance(item, int):
            count += item
        else:
            found.append(item)
    return Check(name, f"{count:,} {unit}", tuple(found))


def _finished(view: RunView) -> Iterator[tuple[str, str]]:
    """(step, key) of every step that was done when the run's record was written."""
    for source in view.content["sources"]:
        yield DOCUMENTS, source["documents_key"]
    for name, step in view.content["steps"].items():
        if step["seconds"] is not None and (name != MIXTURE or view.content["mixed"]):
            yield name, step["key"]
    for export in view.content["exports"]:
        yield f"{EXPORT}-{export['format']}", export["key"]


def _files(view: RunView) -> Faults:
    for name, key in dict.fromkeys(_finished(view)):
        manifest = read_manifest(view.root, name, key)
        if manifest is None:
            yield f"{manifest_path(name, key)}, which lists the files of a finished step, is missing or damaged"
            continue
        for task in manifest["tasks"]:
            for entry in task["files"]:
                fact = FileFact(**entry)
                if not unchanged(view.root, fact, thorough=True):
                    yield f"{fact.path} is missing or not the file that was written"
                yield 1


def _ids(view: RunView) -> Faults:
    for place in view.shards():
        rows = 0
        for batch in read_row_groups(join(view.root, documents_path(place.source, place.shard)), ["id", "text"]):
            pairs = zip(batch.column("id").to_pylist(), batch.column("text"), strict=True)
            for row, (name, text) in enumerate(pairs, rows):
                if xxhash.xxh3_128_hexdigest(text.as_buffer() or b"") != name:
                    yield f"{place.task} row {row}: id {name} is not the hash of its text"
            rows += batch.num_rows
        yield rows


def _reasons(view: RunView, place: ShardColumns) -> list[str | None]:
    table = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)), ["reason"])
    return list(table.column("reason").to_pylist())


def _verdicts(view: RunView) -> Faults:
    rules = view.rules
    names = [*(rule.name for rule in rules), None]
    for place in view.shards():
        verdicts = apply_rules(rules, read_columns(place, columns_needed(rules)), place.source)
        again = [names[index] for index in verdicts.reason.tolist()]
        for row, (now, then) in enumerate(zip(again, _reasons(view, place), strict=True)):
            if now != (None if then in DUPLICATES else then):
                yield f"{place.task} row {row}: the rules say {now or 'keep'}, the selection says {then or 'keep'}"
        yield len(again)


def _exact_duplicates(view: RunView) -> Faults:
    """Every exact duplicate points to a kept document of the same id, and no two kept documents share an id."""
    kept: dict[str, str] = {}
    for place in view.shards():
        ids = read_table(join(view.root, documents_path(place.source, place.shard)), ["id"]).column("id").to_pylist()
        for row, (name, reason) in enumerate(zip(ids, _reasons(view, place), strict=True)):
            if reason is None and name in kept:
                yield f"{place.task} row {row} and {kept[name]} are both kept with id {name}"
            elif reason is None:
                kept[name] = f"{place.task} row {row}"
    texts = duplicates.Texts(view)
    for duplicate in duplicates.sample(view, EXACT_DUPLICATE, COMPARED_DUPLICATES):
        if texts.text(duplicate.address) != texts.text(duplicate.kept):
            yield f"{duplicate.address} falls as the same text as {duplicate.kept}, which has another"
    yield from duplicates.pointer_faults(view, EXACT_DUPLICATE)


def _fuzzy_duplicates(view: RunView) -> Faults:
    """Every fuzzy duplicate points to a document that stays; a sample is as alike as its columns say."""
    for fault in duplicates.similarity_faults(view, COMPARED_DUPLICATES):
        if isinstance(fault, str):
            yield fault
    yield from duplicates.pointer_faults(view, FUZZY_DUPLICATE)


def _counts(view: RunView) -> Faults:
    """Every count of the funnel again, from the columns; and what `stats --json` says of it."""
    funnel = funnel_of(view.content)
    found: dict[str, Counter[str]] = {name: Counter() for name in view.sources}
    for place in view.shards():
        found[place.source].update(_counts_of_shard(view, place))
    for name, entry in funnel.items():
        if entry.read != entry.documents.documents + entry.rejected:
            yield f"source {name}: {entry.read:,} rows read are not documents + rejects"
        yield from _compare(f"source {name}", found[name], _claimed(entry), "the columns")
    stats, again = view.content["stats"], stats_of_funnel(funnel)
    for part in ("sources", "total"):
        if stats[part] != again[part]:
            yield f"stats.{part} and the funnel in run.json contradict each other"


def _counts_of_shard(view: RunView, place: ShardColumns) -> Counter[str]:
    selection = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)))
    columns: dict[str, Any] = {name: selection.column(name) for name in ("reason", "cell")}
    columns["bytes"] = read_table(join(view.root, place.path(HEURISTICS)), ["bytes"]).column("bytes")
    tokens = pa.repeat(pa.scalar(0, pa.int64()), len(selection))
    if view.has(ENCODED):
        tokens = read_table(join(view.root, place.path(ENCODED)), ["tokens"]).column("tokens")
    frame = pl.DataFrame({**columns, "tokens": tokens})
    count: Counter[str] = Counter(rejected=len(read_table(join(view.root, rejects_path(place.source, place.shard)))))
    parts = [
        ("documents", frame),
        ("kept", frame.filter(pl.col("reason").is_null())),
        *((f"dropped by {name}", rows) for (name,), rows in frame.drop_nulls("reason").group_by("reason")),
        *((f"cell {name}", rows) for (name,), rows in frame.drop_nulls("cell").group_by("cell")),
    ]
    for name, rows in parts:
        count.update(
            {name: rows.height, f"{name}, bytes": rows["bytes"].sum(), f"{name}, tokens": rows["tokens"].sum()}
        )
    return count


def _claimed(entry: SourceFunnel) -> dict[str, int]:
    """What the funnel says of one source, under the names of `_counts_of_shard`."""
    amounts = {"documents": entry.documents, "kept": entry.kept}
    amounts |= {f"dropped by {rule}": amount for rule, amount in entry.dropped.items()}
    amounts |= {f"cell {cell}": amount for cell, amount in entry.cells.items()}
    result = {"rejected": entry.rejected}
    for name, amount in amounts.items():
        result |= {name: amount.documents, f"{name}, bytes": amount.bytes, f"{name}, tokens": amount.tokens}
    return result


def _compare(where: str, found: Mapping[str, int], claimed: Mapping[str, int], place: str) -> Faults:
    for name in sorted({*found, *claimed}):
        if found.get(name, 0) != claimed.get(name, 0):
            yield f"{where}: {name} is {found.get(name, 0):,} in {place}, {claimed.get(name, 0):,} in run.json"
        yield 1


def _tokens(view: RunView) -> Faults:
    manifest = read_tokens_manifest(view.root, view.tokens_key)
    text_of: Callable[..., Any] = texts_of(view.root)
    cells = view.content["stats"]["cells"]
    for cell in sorted({*manifest.cells, *cells}):
        documents = tokens = 0
        for shard in manifest.cells.get(cell, ()):
            faults = check_shard(
                view.root, manifest, cell, shard.shard, join(view.root, view.tokenizer), text_of, DECODED_DOCUMENTS
            )
            yield from faults
            documents += shard.documents
            tokens += shard.tokens
        found = {"documents": documents, "tokens": tokens}
        yield from _compare(f"cell {cell}", found, cells.get(cell, {}), "the token shards")
        yield documents - 2


def _mixture(view: RunView) -> Faults:
    mixture = orjson.loads(read_bytes(join(view.root, MIXTURE_FILE)))
    if mixture != orjson.loads(orjson.dumps(mixture_of_run(view.root))):
        yield f"{MIXTURE_FILE} is not what the run's recipe makes of the run's cells"
    length = mixture["sequence_length"]
    for phase in mixture["phases"]:
        sequences = sum(cell["sequences"] for cell in phase["cells"].values())
        if sequences != phase["sequences"] or sequences * length != phase["tokens"]:
            yield f"phase {phase['name']}: its cells have {sequences:,} sequences, it claims {phase['sequences']:,}"
        if abs(sum(cell["weight"] for cell in phase["cells"].values()) - 1) > 1e-9:
            yield f"phase {phase['name']}: its weights do not sum to one"
        yield len(phase["cells"])
    if sum(phase["sequences"] for phase in mixture["phases"]) != mixture["budget"] // length:
        yield "the phases do not add up to the budget"
    for cell, epochs in mixture["exposure"].items():
        available = view.content["stats"]["cells"].get(cell, {"tokens": 0})["tokens"] // length
        drawn = sum(phase["cells"].get(cell, {"sequences": 0})["sequences"] for phase in mixture["phases"])
        if available and not np.isclose(drawn / available, epochs):
            yield f"cell {cell}: {drawn:,} sequences of {available:,} are not {epochs:g} epochs"
