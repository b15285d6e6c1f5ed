"""Documents of a run, to look at: kept, dropped by a rule with the deciding numbers, of a cell, or rejects.

A look is the same each time: the documents whose id hashes lowest among those asked for, from all shards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tonnage.errors import UsageError
from tonnage.funnel import DUPLICATES
from tonnage.inspect.differences import SideBySide, side_by_side
from tonnage.inspect.duplicates import STEPS, Address, Duplicate, Texts, sample
from tonnage.inspect.view import RunView
from tonnage.plan import FUZZY
from tonnage.select import FUZZY_DUPLICATE, columns_of_rule
from tonnage.steps.decide import ShardColumns, read_columns
from tonnage.store.documents import read_row_groups, read_table
from tonnage.store.files import join
from tonnage.store.layout import documents_path, rejects_path, selection_path, shard_name

TEXT_CHARACTERS = 600


@dataclass(frozen=True)
class Shown:
    """One document: its address as a headline, `facts` in the order to print, and the beginning of its text."""

    headline: str
    facts: tuple[tuple[str, Any], ...]
    text: str
    more_characters: int


def documents(view: RunView, *, dropped: str | None, cell: str | None, count: int) -> list[Shown]:
    """`count` documents: dropped by rule `dropped` ('any' for every rule), or kept in `cell`, or kept at all.

    Raises UsageError for an unknown rule or cell.
    """
    wanted = _condition(view, dropped, cell)
    chosen = heapq.nsmallest(count, _candidates(view, wanted))
    shards = list(view.shards())
    return [_shown(view, shards[ordinal], row) for _, ordinal, row in chosen]


def _condition(view: RunView, dropped: str | None, cell: str | None) -> Callable[[Any], np.ndarray]:
    if not view.selected:
        raise UsageError(f"run {view.root} stopped before its selection; give the same `tonnage run` command again")
    if dropped is not None:
        rules = [*(rule.name for rule in view.rules), *DUPLICATES]
        if dropped != "any" and dropped not in rules:
            raise UsageError(f"--dropped {dropped} is no rule of this run; rules are {', '.join(rules)}, or any")
        if dropped == "any":
            return lambda table: ~table["keep"]
        return lambda table: np.equal(table["reason"], dropped)
    if cell is not None:
        cells = sorted(view.content["stats"]["cells"])
        if cell not in cells:
            raise UsageError(f"--cell {cell} is no cell of this run; cells are {', '.join(cells)}")
        return lambda table: np.equal(table["cell"], cell)
    return lambda table: table["keep"]


def _candidates(view: RunView, wanted: Callable[[Any], np.ndarray]) -> Iterator[tuple[str, int, int]]:
    """(id reversed as rank, ordinal of the shard, row) of every document asked for."""
    for ordinal, place in enumerate(view.shards()):
        selection = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)))
        table = {name: selection.column(name).to_numpy(zero_copy_only=False) for name in ("keep", "reason", "cell")}
        rows = np.flatnonzero(wanted({**table, "keep": table["keep"].astype(bool)}))
        if len(rows):
            ids = read_table(join(view.root, documents_path(place.source, place.shard)), ["id"]).column("id")
            for row, name in zip(rows.tolist(), ids.take(rows).to_pylist(), strict=True):
                yield name[::-1], ordinal, row


def _shown(view: RunView, place: ShardColumns, row: int) -> Shown:
    document = document_at(view, place, row)
    selection = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)))
    decision = selection.slice(row, 1).to_pylist()[0]
    facts: list[tuple[str, Any]] = [
        ("file", f"{document['file']}:{document['position']}" if document["position"] else document["file"])
    ]
    facts += [(name, document[name]) for name in ("source_id", "url", "license", "code_language") if document[name]]
    if decision["keep"]:
        facts.append(("cell", decision["cell"]))
    else:
        facts.append(("dropped by", decision["reason"]))
        facts += _evidence(view, place, row, decision["reason"])
    text = document["text"]
    headline = f"{place.source}/{shard_name(place.shard)} row {row}  {document['id']}"
    return Shown(headline, tuple(facts), text[:TEXT_CHARACTERS], max(0, len(text) - TEXT_CHARACTERS))


def document_at(view: RunView, place: ShardColumns, row: int) -> dict[str, Any]:
    """All columns of one document. Raises UsageError when its shard has no such row."""
    seen = 0
    for batch in read_row_groups(join(view.root, documents_path(place.source, place.shard))):
        if row < seen + batch.num_rows:
            return dict(batch.slice(row - seen, 1).to_pylist()[0])
        seen += batch.num_rows
    raise UsageError(f"{place.task} has no row {row}")


def _evidence(view: RunView, place: ShardColumns, row: int, reason: str) -> list[tuple[str, Any]]:
    """The numbers that decided, and the condition they met."""
    if reason in DUPLICATES:
        columns = read_table(join(view.root, place.path(STEPS[reason]))).slice(row, 1).to_pylist()[0]
        kept = Duplicate(Address(None, place.source, place.shard, row), "", reason, columns).kept
        evidence = ("duplicate_source_id", "containment", "jaccard", "comparisons")
        there = [(name, columns[name]) for name in evidence if columns.get(name) is not None]
        return [("kept instead", str(kept)), *there]
    rule = next(rule for rule in view.rules if rule.name == reason)
    names = columns_of_rule(rule)
    values = read_columns(place, names).row(row, named=True)
    return [("drops when", rule.drop), *((name, values[name]) for name in names)]


@dataclass(frozen=True)
class ShownPair:
    """A fuzzy duplicate beside the document that stays: both addresses, `facts`, and their texts."""

    falls: str
    stays: str
    facts: tuple[tuple[str, Any], ...]
    texts: SideBySide


def duplicate_pairs(view: RunView, count: int) -> list[ShownPair]:
    """`count` fuzzy duplicates beside what they fall for; the same ones each time.

    Raises UsageError when the run has no fuzzy duplicates to look for.
    """
    if not view.selected or FUZZY not in view.content["steps"]:
        raise UsageError(f"run {view.root} looked for no fuzzy duplicates; add dedup.fuzzy to its recipe, run it again")
    texts = Texts(view)
    return [_pair(texts, duplicate) for duplicate in sample(view, FUZZY_DUPLICATE, count)]


def _pair(texts: Texts, duplicate: Duplicate) -> ShownPair:
    names = ("containment", "jaccard", "comparisons")
    return ShownPair(
        str(duplicate.address),
        str(duplicate.kept),
        tuple((name, duplicate.row[name]) for name in names),
        side_by_side(texts.text(duplicate.address), texts.text(duplicate.kept)),
    )


def rejects(view: RunView, source: str, count: int) -> list[Shown]:
    """The first `count` rejects of a source, in the order of the input. Raises UsageError for an unknown source."""
    if source not in view.sources:
        raise UsageError(f"--rejects {source} is no source of this run; sources are {', '.join(view.sources)}")
    result: list[Shown] = []
    for place in view.shards():
        if place.source != source:
            continue
        for batch in read_row_groups(join(view.root, rejects_path(place.source, place.shard))):
            for row in batch.to_pylist():
                if len(result) == count:
                    return result
                result.append(_reject(row))
    return result


def _reject(row: dict[str, Any]) -> Shown:
    raw = (row["raw"] or b"").decode("utf-8", errors="backslashreplace")
    where = "" if row["position"] < 0 else f":{row['position']}"
    facts = [(name, row[name]) for name in ("reason", "detail", "offset") if row[name] is not None]
    return Shown(f"{row['file']}{where}", tuple(facts), raw[:TEXT_CHARACTERS], max(0, len(raw) - TEXT_CHARACTERS))
