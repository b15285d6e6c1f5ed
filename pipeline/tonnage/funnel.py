"""The funnel: what was read, rejected, dropped by which rule, kept, per source; its balance, and its alarms.

Built from receipts' counts alone. Stages count; this module adds up and refuses what does not add up.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tonnage.errors import UsageError, WorkFailed
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE, FUZZY_GROUP, NOTHING_KEPT
from tonnage.store.receipts import Receipt

ALARM_SHARE = 0.9  # one rule dropping more than this share of a source's documents stops a run
DUPLICATE_SHARE = 0.5  # duplicates being more than this share of the documents of a source that passed its rules
GROUP_SHARE = 0.01  # more than this share of the corpus falling for one document
GROUP_LEAST = 20  # fewer falling for one document are no alarm in a small corpus
DUPLICATES = (EXACT_DUPLICATE, FUZZY_DUPLICATE)
NOT_TEXT = "not_text"


@dataclass(frozen=True)
class Amount:
    """Documents, their UTF-8 bytes and their tokens (without BOS and EOS)."""

    documents: int = 0
    bytes: int = 0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.documents + other.documents, self.bytes + other.bytes, self.tokens + other.tokens)

    @staticmethod
    def of(counts: Mapping[str, int]) -> Amount:
        return Amount(counts["documents"], counts["bytes"], counts["tokens"])


@dataclass(frozen=True)
class SourceFunnel:
    """One source: `read` raw rows, of which `rejected` (`not_text` of them no text at all); then documents."""

    read: int
    rejected: int
    not_text: int
    documents: Amount
    dropped: Mapping[str, Amount]
    kept: Amount
    cells: Mapping[str, Amount]
    not_applicable: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)


def build(
    documents: Mapping[str, Sequence[Receipt]],
    rules: Mapping[str, Sequence[Receipt]],
    selection: Mapping[str, Sequence[Receipt]],
) -> dict[str, SourceFunnel]:
    """The funnel of each source from the receipts of its shards, by source in the recipe's order.

    Raises WorkFailed on any imbalance.
    """
    return {name: _build_one(name, documents[name], rules[name], selection[name]) for name in documents}


def _build_one(
    name: str, documents: Sequence[Receipt], rules: Sequence[Receipt], selection: Sequence[Receipt]
) -> SourceFunnel:
    raw: Counter[str] = Counter()
    for receipt in documents:
        raw.update(receipt.counts)
    not_applicable: Counter[str] = Counter()
    for receipt in rules:
        not_applicable.update(receipt.counts["not_applicable"])
    funnel = SourceFunnel(
        read=raw["rows"],
        rejected=raw["rejects"],
        not_text=raw[NOT_TEXT],
        documents=_sum(Amount.of(receipt.counts["all"]) for receipt in selection),
        dropped=_sums(receipt.counts["dropped"] for receipt in selection),
        kept=_sum(Amount.of(receipt.counts["kept"]) for receipt in selection),
        cells=_sums(receipt.counts["cells"] for receipt in selection),
        not_applicable=dict(not_applicable),
        notes={k: v for k, v in raw.items() if v and k not in ("rows", "documents", "rejects", "bytes", NOT_TEXT)},
    )
    _check(name, funnel, raw, rules)
    return funnel


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = Amount()
    for amount in amounts:
        total += amount
    return total


def _sums(tables: Iterable[Mapping[str, Any]]) -> dict[str, Amount]:
    total: dict[str, Amount] = {}
    for table in tables:
        for name, counts in table.items():
            total[name] = total.get(name, Amount()) + Amount.of(counts)
    return {name: total[name] for name in sorted(total)}


def _check(name: str, funnel: SourceFunnel, raw: Mapping[str, int], rules: Sequence[Receipt]) -> None:
    """The balance law, in documents, bytes and (where there are any) tokens."""
    balances = [
        ("rows read", funnel.read, "documents + rejects", raw["documents"] + funnel.rejected),
        ("documents", raw["documents"], "documents selected from", funnel.documents.documents),
        ("documents", raw["documents"], "documents judged by rules", sum(r.counts["documents"] for r in rules)),
        ("bytes of documents", raw["bytes"], "bytes selected from", funnel.documents.bytes),
    ]
    parts = funnel.kept + _sum(funnel.dropped.values())
    cells = _sum(funnel.cells.values())
    for unit in ("documents", "bytes", "tokens"):
        whole = getattr(funnel.documents, unit)
        balances.append((f"{unit} of all documents", whole, f"{unit} kept + dropped", getattr(parts, unit)))
        balances.append((f"{unit} kept", getattr(funnel.kept, unit), f"{unit} in cells", getattr(cells, unit)))
    for left, a, right, b in balances:
        if a != b:
            raise WorkFailed(
                f"source {name} does not balance: {left} {a:,}, {right} {b:,}; nothing after this can be trusted, "
                f"please report it"
            )


def check_rejects(name: str, receipts: Sequence[Receipt], limit: float) -> None:
    """Raises WorkFailed when more than `limit` of the rows that should be text were rejected, or a source is silent."""
    raw: Counter[str] = Counter()
    for receipt in receipts:
        raw.update(receipt.counts)
    faults, rows = raw["rejects"] - raw[NOT_TEXT], raw["rows"] - raw[NOT_TEXT]
    if raw["silent_files"]:
        raise WorkFailed(
            f"source {name}: {raw['silent_files']} non-empty file(s) gave no record at all; `tonnage show RUN "
            f"--rejects "
            f"{name}` names them; mend or exclude them"
        )
    if rows and faults > limit * rows:
        raise WorkFailed(
            f"source {name}: {faults:,} of {rows:,} rows were rejected, more than max_rejects = {limit:g} allows; "
            f"`tonnage show RUN --rejects {name}` names them; mend the input or raise sources.{name}.max_rejects"
        )
    if not rows:
        raise WorkFailed(f"source {name}: no row was read from its files; check its path and kind")


def check_acknowledged(acknowledged: Sequence[str], rules: Iterable[str], sources: Iterable[str]) -> None:
    """Raises UsageError for an entry that no alarm of these rules and sources can match."""
    possible = [f"{rule}:{source}" for source in sources for rule in (*rules, NOTHING_KEPT)]
    for entry in acknowledged:
        if entry not in possible:
            near = difflib.get_close_matches(entry, possible, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"acknowledge: no alarm can be named {entry!r}; {hint}write RULE:SOURCE with a rule and a source of "
                f"this recipe, or {NOTHING_KEPT}:SOURCE"
            )


def check_alarms(
    funnels: Mapping[str, SourceFunnel], acknowledged: Sequence[str], largest: Mapping[str, Any] | None = None
) -> None:
    """Raises WorkFailed for a rule that drops more than 90 % of a source, duplicates that are more than half of what
    passed its rules, a source reduced to nothing, or one document for which more than 1 % of the corpus falls.

    `acknowledged` holds the alarms that the recipe expects, each as RULE:SOURCE; `largest` says for which document most
    fall, as dedup.tally.largest does.
    """
    found = [alarm for name, funnel in funnels.items() for alarm in alarms_of(name, funnel)]
    found += _group_alarms(funnels, largest or {"removed": 0})
    alarms = [alarm for alarm in found if alarm[0] not in acknowledged]
    if alarms:
        names = ", ".join(f'"{alarm}"' for alarm, _ in alarms)
        sentences = "; ".join(sentence for _, sentence in alarms)
        raise WorkFailed(
            f"{sentences}; look with `tonnage show RUN --dropped RULE` or --duplicates, then mend the rule, or accept "
            f"it in the recipe with acknowledge: [{names}]"
        )


def alarms_of(name: str, funnel: SourceFunnel) -> list[tuple[str, str]]:
    """(alarm, sentence) of one source."""
    total = funnel.documents.documents
    result = [
        (
            f"{rule}:{name}",
            f"rule {rule} drops {amount.documents:,} of {total:,} documents of source {name}",
        )
        for rule, amount in funnel.dropped.items()
        if rule not in DUPLICATES and total and amount.documents > ALARM_SHARE * total
    ]
    reached = funnel.kept.documents
    for reason in reversed(DUPLICATES):
        fallen = funnel.dropped.get(reason, Amount()).documents
        reached += fallen
        if fallen > DUPLICATE_SHARE * reached:
            sentence = f"{reason}s are {fallen:,} of the {reached:,} documents of source {name} that came so far"
            result.append((f"{reason}:{name}", sentence))
    if total and not funnel.kept.documents:
        result.append((f"{NOTHING_KEPT}:{name}", f"nothing is kept of source {name} ({total:,} documents)"))
    return result


def _group_alarms(funnels: Mapping[str, SourceFunnel], largest: Mapping[str, Any]) -> list[tuple[str, str]]:
    removed, corpus = largest["removed"], sum(funnel.documents.documents for funnel in funnels.values())
    if removed <= max(GROUP_LEAST, GROUP_SHARE * corpus):
        return []
    where = f"{largest['source']}/{largest['shard']:05d} row {largest['row']}"
    where = where if largest["run"] is None else f"{where} of {largest['run']}"
    sentence = f"{removed:,} of {corpus:,} documents fall as fuzzy duplicates of one ({where})"
    return [(f"{FUZZY_GROUP}:{largest['falls_in']}", sentence)]


def total(funnels: Mapping[str, SourceFunnel]) -> SourceFunnel:
    """The sum over all sources."""
    values = list(funnels.values())
    return SourceFunnel(
        read=sum(f.read for f in values),
        rejected=sum(f.rejected for f in values),
        not_text=sum(f.not_text for f in values),
        documents=_sum(f.documents for f in values),
        dropped=_merge(f.dropped for f in values),
        kept=_sum(f.kept for f in values),
        cells=_merge(f.cells for f in values),
        not_applicable=dict(sum((Counter(f.not_applicable) for f in values), Counter())),
        notes=dict(sum((Counter(f.notes) for f in values), Counter())),
    )


def _merge(tables: Iterable[Mapping[str, Amount]]) -> dict[str, Amount]:
    merged: dict[str, Amount] = {}
    for table in tables:
        for name, amount in table.items():
            merged[name] = merged.get(name, Amount()) + amount
    return {name: merged[name] for name in sorted(merged)}
