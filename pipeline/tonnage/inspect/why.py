"""One document through every step of its run: what was read, which rules looked at it, what it was compared with, where
it went. Nothing is decided here; what the columns say is put into words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tonnage.errors import UsageError
from tonnage.inspect.duplicates import Address, Texts
from tonnage.inspect.show import document_at
from tonnage.inspect.stats import Table
from tonnage.inspect.view import RunView
from tonnage.plan import EXACT, FUZZY, QUALITY, SIGNATURES
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE, Rule, apply_rules, columns_needed, columns_of_rule
from tonnage.steps.decide import ShardColumns, read_columns
from tonnage.store.documents import read_table
from tonnage.store.files import exists, join
from tonnage.store.layout import documents_path, selection_path, shard_name, token_documents_path
from tonnage.tokenize.writer import read_manifest as read_tokens_manifest

ADDRESS = re.compile(r"(?P<source>[^/\s]+)/(?P<shard>\d+)(?: row |:)(?P<row>\d+)")
LEAST_DIGITS = 8  # of an id that is given in part

Step = tuple[str, str, str]  # step, outcome, why


def why(view: RunView, wanted: str) -> Table:
    """The steps of the document `wanted`: an id or its beginning, the user's own id, or an address.

    Raises UsageError when no document, or more than one, is meant.
    """
    if not view.selected:
        raise UsageError(f"run {view.root} stopped before its selection; give the same `tonnage run` command again")
    place, row = _find(view, wanted)
    document = document_at(view, place, row)
    steps = tuple(_steps(view, place, row, document))
    return Table(
        f"{place.source}/{shard_name(place.shard)} row {row}  {document['id']}", ("step", "outcome", "why"), steps
    )


def _find(view: RunView, wanted: str) -> tuple[ShardColumns, int]:
    address = ADDRESS.fullmatch(wanted)
    if address is not None:
        for place in view.shards():
            if (place.source, place.shard) == (address["source"], int(address["shard"])):
                return place, int(address["row"])
    found = [hit for place in view.shards() for hit in _matches(view, place, wanted)]
    if not found:
        raise UsageError(
            f"no document of run {view.root} is called {wanted}; give an id (8 or more of its digits), your own id, or "
            f"an address such as web/00000:17"
        )
    if len(found) > 1:
        listed = ", ".join(f"{place.source}/{shard_name(place.shard)}:{row}" for place, row in found[:5])
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        raise UsageError(
            f"{wanted} is the name of {len(found):,} documents: {listed}{more}; give one of these addresses"
        )
    return found[0]


def _matches(view: RunView, place: ShardColumns, wanted: str) -> Iterator[tuple[ShardColumns, int]]:
    table = read_table(join(view.root, documents_path(place.source, place.shard)), ["id", "source_id"])
    partly = len(wanted) >= LEAST_DIGITS
    rows = zip(table.column("id").to_pylist(), table.column("source_id").to_pylist(), strict=True)
    for row, (name, own) in enumerate(rows):
        if own == wanted or (partly and name.startswith(wanted)):
            yield place, row


def _steps(view: RunView, place: ShardColumns, row: int, document: dict[str, Any]) -> Iterator[Step]:
    yield _read(document)
    selection = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)))
    decision = selection.slice(row, 1).to_pylist()[0]
    for step in _rules(view, place, row):
        yield step
        if step[1] == "drop":
            return
    for name, reason, explain in ((EXACT, EXACT_DUPLICATE, _exact), (FUZZY, FUZZY_DUPLICATE, _fuzzy)):
        if view.has(name):
            yield explain(view, place, row)
        if decision["reason"] == reason:
            return
    if decision["reason"] is not None:
        yield "selection", "drop", decision["reason"]
        return
    if view.has(QUALITY):
        score = read_table(join(view.root, place.path(QUALITY)), ["quality_score"]).column("quality_score")[row].as_py()
        edges = view.content["edges"] or []
        bucket = int(np.searchsorted(edges, score, side="right"))
        yield "quality", f"q{bucket}", f"score {score:.4f}; buckets end at {', '.join(f'{edge:.4f}' for edge in edges)}"
    yield "selection", "keep", f"cell {decision['cell']}"
    if view.packed:
        yield _tokens(view, place, row, decision["cell"])


def _read(document: dict[str, Any]) -> Step:
    where = f"{document['file']}:{document['position']}" if document["position"] else document["file"]
    names = ("source_id", "url", "license", "timestamp", "code_language")
    facts = [f"{name} {document[name]}" for name in names if document[name]]
    size = f"{len(document['text']):,} characters, {len(document['text'].encode()):,} bytes"
    return "read", "document", "; ".join([where, size, *facts])


def _rules(view: RunView, place: ShardColumns, row: int) -> Iterator[Step]:
    """Every rule up to the first that drops the document; rules that keep it are gathered in one line."""
    frame = read_columns(place, columns_needed(view.rules)).slice(row, 1)
    passed: list[str] = []
    silent: list[str] = []
    for rule in view.rules:
        verdict = apply_rules([rule], frame, place.source)
        if verdict.reason[0] == 0:
            yield from _passed(passed, silent)
            yield rule.name, "drop", f"{rule.drop}  ({_values(rule, frame.row(0, named=True))})"
            return
        (silent if verdict.not_applicable[rule.name] else passed).append(rule.name)
    yield from _passed(passed, silent)


def _passed(passed: list[str], silent: list[str]) -> Iterator[Step]:
    if passed:
        yield f"{len(passed)} rules", "keep", ", ".join(passed)
    if silent:
        yield f"{len(silent)} rules", "not applicable", ", ".join(silent)


def _values(rule: Rule, values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_number(values[name])}" for name in columns_of_rule(rule))


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _row(view: RunView, place: ShardColumns, step: str, row: int) -> dict[str, Any]:
    return dict(read_table(join(view.root, place.path(step))).slice(row, 1).to_pylist()[0])


def _kept(view: RunView, columns: dict[str, Any]) -> str:
    """The document that stays, followed from an exact copy that fell later as a fuzzy duplicate."""
    address = Address(*(columns[f"duplicate_{name}"] for name in ("run", "source", "shard", "row")))
    other = Texts(view).view(address.run)
    selection = read_table(join(other.root, selection_path(other.selection_key, address.source, address.shard)))
    reason = selection.column("reason")[address.row].as_py()
    return str(address) if reason is None else f"{address}, which itself is dropped as {reason}"


def _exact(view: RunView, place: ShardColumns, row: int) -> Step:
    columns = _row(view, place, EXACT, row)
    if columns["duplicate_row"] is None:
        return EXACT_DUPLICATE, "keep", "no earlier document has the same text"
    return EXACT_DUPLICATE, "drop", f"the same text as {_kept(view, columns)}"


def _fuzzy(view: RunView, place: ShardColumns, row: int) -> Step:
    columns = _row(view, place, FUZZY, row)
    fuzzy = view.content["recipe"]["dedup"]["fuzzy"]
    shingles = read_table(join(view.root, place.path(SIGNATURES)), ["shingles"]).column("shingles")[row].as_py()
    own = f"{shingles:,} distinct shingles of {fuzzy['ngram']} words"
    if columns["group"] is None:
        rest = "no document shares a band with it"
        if shingles < fuzzy["min_shingles"]:
            rest = f"fewer than {fuzzy['min_shingles']}, so it was not compared"
        elif place.source in fuzzy["exempt"]:
            rest = "its source is exempt"
        return FUZZY_DUPLICATE, "keep", f"{own}; {rest}"
    compared = f"compared with {columns['comparisons']:,} kept documents of its group"
    if columns["bounded"]:
        compared += f", then stopped at the bound of {fuzzy['lookups']:,} look-ups"
    if columns["duplicate_row"] is None:
        return FUZZY_DUPLICATE, "keep", f"{own}; {compared}, none holds enough of it"
    similarity = f"containment {columns['containment']:.4f}, Jaccard {columns['jaccard']:.4f}"
    own_id = f" (your id {columns['duplicate_source_id']})" if columns["duplicate_source_id"] else ""
    return FUZZY_DUPLICATE, "drop", f"{own}; {similarity} with {_kept(view, columns)}{own_id}; {compared}"


def _tokens(view: RunView, place: ShardColumns, row: int, cell: str) -> Step:
    """Where its tokens lie."""
    for shard in read_tokens_manifest(view.root, view.tokens_key).cells.get(cell, ()):
        path = token_documents_path(view.tokens_key, cell, shard.shard)
        if not exists(join(view.root, path)):
            continue
        table = read_table(join(view.root, path))
        columns = {name: table.column(name).to_numpy(zero_copy_only=False) for name in ("source", "shard", "row")}
        mine = (columns["source"] == place.source) & (columns["shard"] == place.shard) & (columns["row"] == row)
        if mine.any():
            entry = table.slice(int(np.flatnonzero(mine)[0]), 1).to_pylist()[0]
            where = f"{cell}/{shard_name(shard.shard)} from token {entry['first']:,}"
            return "tokens", f"{entry['length']:,} tokens", where
    return "tokens", "missing", f"no token shard of cell {cell} holds it; `tonnage verify` says more"
