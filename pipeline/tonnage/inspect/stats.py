"""Tables of a run's counts by source, rule, cell or shard, as rows; printing is tables.py's.

Every number is one that a stage counted and the balance law has checked; nothing is estimated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tonnage import funnel as funnels
from tonnage.errors import UsageError
from tonnage.funnel import SourceFunnel
from tonnage.plan import DOCUMENTS, EXACT, FUZZY, SELECTION
from tonnage.run.duplicates import SUMMARY
from tonnage.run.record import funnel_of
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE
from tonnage.store.receipts import read_manifest

BY = ("source", "rule", "cell", "shard")
DUPLICATES = ((EXACT, EXACT_DUPLICATE), (FUZZY, FUZZY_DUPLICATE))
TOKEN_COLUMNS = ("tokens", "kept tokens")


@dataclass(frozen=True)
class Table:
    """A titled table: numbers are left as numbers, None is a blank."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()


def stats_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """The stable shape of `stats --json`."""
    funnel_of(content)
    return dict(content["stats"])


def table_by(root: str, content: Mapping[str, Any], by: str) -> Table:
    """One table of the run whose run.json is `content`. Raises UsageError for an unknown `by`."""
    makers = {"source": _by_source, "rule": _by_rule, "cell": _by_cell}
    if by not in BY:
        raise UsageError(f"--by {by} is no table; tables are {', '.join(BY)}")
    table = _by_shard(root, content) if by == "shard" else makers[by](content)
    return table if _tokens_counted(content) else _without_tokens(table)


def _tokens_counted(content: Mapping[str, Any]) -> bool:
    """Whether documents were encoded: markers are counted where tokens are."""
    return content["stats"]["markers"] is not None


def _without_tokens(table: Table) -> Table:
    """A column of zeros would say that the documents hold no tokens; nobody has counted them."""
    shown = [index for index, name in enumerate(table.columns) if name not in TOKEN_COLUMNS]
    columns, *rows = (tuple(row[index] for index in shown) for row in (table.columns, *table.rows))
    return Table(table.title, columns, tuple(rows), table.notes)


def overview(root: str, content: Mapping[str, Any]) -> list[Table]:
    """By source, by rule (those that dropped something), by cell."""
    by_source, by_rule, by_cell = (table_by(root, content, by) for by in ("source", "rule", "cell"))
    return [by_source, _without_idle(by_rule), *duplicate_tables(root, content), by_cell]


def duplicate_tables(root: str, content: Mapping[str, Any]) -> list[Table]:
    """Who duplicates whom, how large clusters are, how alike fuzzy duplicates are; only where something fell."""
    found = {step: counts for step, _ in DUPLICATES if (counts := _summary(root, content, step)).get("removed")}
    if not found:
        return []
    tables = [_pairs_table(found), _clusters_table(found)]
    if FUZZY in found:
        tables.append(_similarity_table(content, found[FUZZY]))
    return tables


def _summary(root: str, content: Mapping[str, Any], step: str) -> Mapping[str, Any]:
    manifest = read_manifest(root, step, content["steps"][step]["key"]) if step in content["steps"] else None
    return next((task["counts"] for task in manifest["tasks"] if task["task"] == SUMMARY), {}) if manifest else {}


def _pairs_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    counts: dict[tuple[str, str], list[int]] = {}
    for place, step in enumerate(found):
        for falls, targets in found[step]["pairs"].items():
            for stays, count in targets.items():
                counts.setdefault((falls, stays), [0] * len(found))[place] = count
    rows = tuple((*pair, *numbers) for pair, numbers in sorted(counts.items()))
    return Table("Who duplicates whom", ("falls", "stays", *(f"{step} duplicates" for step in found)), rows)


def _clusters_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Clusters by size, in powers of two from 4 on."""
    counts: dict[int, list[int]] = {}
    for place, step in enumerate(found):
        for size, count in found[step]["clusters"].items():
            rank = int(size) if int(size) < 4 else 1 << (int(size).bit_length() - 1)
            counts.setdefault(rank, [0] * len(found))[place] += count
    rows = tuple(
        (str(rank) if rank < 4 else f"{rank:,} to {2 * rank - 1:,}", *numbers)
        for rank, numbers in sorted(counts.items())
    )
    note = "A cluster is a document that stays with those that fall for it."
    return Table("Clusters of duplicates", ("documents", *(f"{step} clusters" for step in found)), rows, (note,))


def _similarity_table(content: Mapping[str, Any], counts: Mapping[str, Any]) -> Table:
    bins = len(counts["containment"])
    rows = tuple(
        (f"{low / bins:.2f} to {(low + 1) / bins:.2f}", counts["containment"][low], counts["jaccard"][low])
        for low in range(bins)
        if counts["containment"][low] or counts["jaccard"][low]
    )
    notes = [
        f"{counts['members']:,} documents stood in {counts['groups']:,} candidate groups, the largest of "
        f"{counts['largest_group']:,}; {counts['comparisons']:,} comparisons."
    ]
    fuzzy = content["recipe"]["dedup"]["fuzzy"]
    if fuzzy["verify"] is False:
        notes.append("They were not verified: every member of a group falls for its first.")
    if counts["bounded"]:
        notes.append(
            f"{counts['bounded']:,} documents of groups over {fuzzy['exact_members']:,} met the bound of "
            f"{fuzzy['lookups']:,} look-ups: some of these may stay that would have fallen."
        )
    if counts["cut"]:
        notes.append(
            f"{counts['cut']:,} groups with {counts['cut_members']:,} documents were too large for memory and decided "
            f"in parts: duplicates in different parts stay."
        )
    return Table("How alike fuzzy duplicates are", ("similarity", "containment", "Jaccard"), rows, tuple(notes))


def _without_idle(table: Table) -> Table:
    """The table by rule without the rules that dropped nothing, which are named below it."""
    idle = [row[0] for row in table.rows if row[1] == 0 and row[0] != "kept"]
    if not idle:
        return table
    note = f"{len(idle)} rules dropped nothing: {', '.join(idle)}."
    rows = tuple(row for row in table.rows if row[0] not in idle)
    return Table(table.title, table.columns, rows, (*table.notes, note))


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _by_source(content: Mapping[str, Any]) -> Table:
    funnel = funnel_of(content)
    total = funnels.total(funnel)
    rows = [_source_row(name, entry) for name, entry in funnel.items()]
    if len(rows) > 1:
        rows.append(_source_row("total", total))
    return Table(
        "From raw rows to kept documents",
        ("source", "read", "rejected", "documents", "dropped", "kept", "kept %", "kept bytes", "kept tokens"),
        tuple(rows),
        tuple(_reading_notes(total)),
    )


def _source_row(name: str, entry: SourceFunnel) -> tuple[Any, ...]:
    documents = entry.documents.documents
    return (
        name,
        entry.read,
        entry.rejected,
        documents,
        documents - entry.kept.documents,
        entry.kept.documents,
        share(entry.kept.documents, documents),
        entry.kept.bytes,
        entry.kept.tokens,
    )


def _reading_notes(total: SourceFunnel) -> list[str]:
    notes = []
    if total.not_text:
        notes.append(f"{total.not_text:,} of the rejected rows are files that hold no text at all.")
    if total.notes:
        listed = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in sorted(total.notes.items()))
        notes.append(f"While reading: {listed}.")
    return notes


def _by_rule(content: Mapping[str, Any]) -> Table:
    funnel = funnel_of(content)
    total = funnels.total(funnel)
    names = [rule["name"] for rule in content["rules"]]
    duplicates = [reason for step, reason in DUPLICATES if step in content["steps"]]
    order = [*names, *duplicates]
    conditions = {rule["name"]: _condition(rule) for rule in content["rules"]}
    conditions |= {EXACT_DUPLICATE: "the text was seen before, at an earlier address", FUZZY_DUPLICATE: _proof(content)}
    rows: list[tuple[Any, ...]] = [
        (
            rule,
            total.dropped[rule].documents if rule in total.dropped else 0,
            share(total.dropped[rule].documents if rule in total.dropped else 0, total.documents.documents),
            total.dropped[rule].bytes if rule in total.dropped else 0,
            total.dropped[rule].tokens if rule in total.dropped else 0,
            total.not_applicable.get(rule, 0),
            conditions[rule],
        )
        for rule in order
    ]
    kept = ("kept", total.kept.documents, share(total.kept.documents, total.documents.documents))
    rows.append((*kept, total.kept.bytes, total.kept.tokens, None, ""))
    return Table(
        "Documents dropped by each rule, in the order in which rules decide",
        ("rule", "documents", "%", "bytes", "tokens", "not applicable", "drops when"),
        tuple(rows),
        (
            "A document is counted under the first rule that drops it; not applicable: it reached the rule, "
            "which says nothing of it.",
        ),
    )


def _proof(content: Mapping[str, Any]) -> str:
    """What proves a fuzzy duplicate in this run."""
    fuzzy = content["recipe"]["dedup"].get("fuzzy")
    if fuzzy is None:
        return ""
    if fuzzy["verify"] is False:
        return "it shares a band with another document (not verified)"
    if fuzzy["verify"]["jaccard"] is not None:
        return f"its Jaccard similarity with one kept document is {fuzzy['verify']['jaccard']:g} or more"
    return f"one kept document holds {fuzzy['verify']['containment'] or 0.75:g} or more of its shingles"


def _condition(rule: Mapping[str, Any]) -> str:
    return str(rule["drop"])


def _by_cell(content: Mapping[str, Any]) -> Table:
    total = funnels.total(funnel_of(content))
    stored = content["stats"]["cells"]
    rows = [
        (cell, amount.documents, amount.bytes, stored[cell]["tokens"], share(amount.bytes, total.kept.bytes))
        for cell, amount in total.cells.items()
    ]
    notes = (*_marker_notes(content), *_quality_notes(content))
    return Table("Kept documents by cell", ("cell", "documents", "bytes", "tokens", "% of bytes"), tuple(rows), notes)


def _marker_notes(content: Mapping[str, Any]) -> list[str]:
    count = content["stats"]["markers"]
    if not count:
        return []
    became = "became control tokens" if content["recipe"]["tokenizer"]["parse_markers"] else "were encoded as text"
    return [f"{count:,} strings in the texts of documents look like the tokenizer's control tokens; they {became}."]


def _quality_notes(content: Mapping[str, Any]) -> list[str]:
    notes = []
    if content["edges"]:
        notes.append(f"Quality buckets end at scores {', '.join(f'{edge:.4f}' for edge in content['edges'])}.")
    if content["quality_card"]:
        held = content["quality_card"]["held_out"]
        counts = held["documents"]
        notes.append(
            f"The quality model parts {counts['positive']:,} positive from {counts['negative']:,} negative documents "
            f"that it was not trained on with ROC-AUC {held['roc_auc']:.4f}."
        )
    return notes


def _by_shard(root: str, content: Mapping[str, Any]) -> Table:
    read: dict[str, Mapping[str, Any]] = {}
    for source in content["sources"]:
        manifest = read_manifest(root, DOCUMENTS, source["documents_key"])
        for task in manifest["tasks"] if manifest else []:
            read[task["task"]] = task["counts"]
    manifest = read_manifest(root, SELECTION, content["steps"][SELECTION]["key"])
    rows = []
    for task in manifest["tasks"] if manifest else []:
        counts, raw = task["counts"], read.get(task["task"], {})
        kept = counts["kept"]
        rows.append(
            (
                task["task"],
                raw.get("rows"),
                raw.get("rejects"),
                counts["documents"],
                counts["documents"] - kept["documents"],
                kept["documents"],
                kept["bytes"],
                kept["tokens"],
            )
        )
    return Table(
        "By shard",
        ("shard", "read", "rejected", "documents", "dropped", "kept", "kept bytes", "kept tokens"),
        tuple(rows),
    )
