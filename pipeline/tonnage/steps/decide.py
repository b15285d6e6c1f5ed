"""Decisions over columns, one documents shard a task: rule verdicts, score histograms, and the final selection.

No task here reads text. The order of decisions and what a rule means are select.py's; exact duplicates are dedup's;
which counts must balance is funnel.py's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tonnage.annotate.heuristics import HEURISTICS_SCHEMA
from tonnage.plan import CODE_FLAGS, ENCODED, EXACT, FUZZY, HEURISTICS, QUALITY, RULES, SELECTION
from tonnage.quality.buckets import Histogram, bucket_of, histogram
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE, Rule, apply_rules, cell_names, columns_needed
from tonnage.sources.code_flags import CODE_SCHEMA
from tonnage.steps.scan import ENCODED_SCHEMA, QUALITY_SCHEMA
from tonnage.store import schema
from tonnage.store.documents import read_table, write_columns
from tonnage.store.files import file_fact, join
from tonnage.store.layout import columns_path, documents_path, selection_path, shard_task
from tonnage.store.receipts import Receipt, write_receipt

VERDICTS = pa.schema([pa.field("reason", pa.string())])  # the first rule that drops the document, or null
DOCUMENT_COLUMNS = ("license", "url", "code_language", "timestamp", "source_id", "file")
CONSTANTS = ("source", "kind", "language")
STEP_SCHEMAS = {
    HEURISTICS: HEURISTICS_SCHEMA,
    CODE_FLAGS: CODE_SCHEMA,
    QUALITY: QUALITY_SCHEMA,
    ENCODED: ENCODED_SCHEMA,
}
NO_LANGUAGE = "und"  # BCP 47: undetermined


@dataclass(frozen=True)
class ShardColumns:
    """Where a shard's columns lie: `keys` of the column steps by name, and what is constant over its source.

    `inputs` names what the documents were read from; empty when a finished run is only looked at.
    """

    root: str
    source: str
    shard: int
    keys: Mapping[str, str]
    kind: str
    language: str | None
    inputs: str = ""

    @property
    def task(self) -> str:
        return shard_task(self.source, self.shard)

    def path(self, step: str) -> str:
        return columns_path(step, self.keys[step], self.source, self.shard)


def rule_columns(steps: Sequence[str]) -> dict[str, Any]:
    """Name and polars type of every column that a rule may read when `steps` are run."""
    available: dict[str, Any] = dict.fromkeys((*DOCUMENT_COLUMNS, *CONSTANTS), pl.String())
    for step in steps:
        frame = pl.from_arrow(STEP_SCHEMAS[step].empty_table()) if step in STEP_SCHEMAS else pl.DataFrame()
        assert isinstance(frame, pl.DataFrame)
        available.update(frame.schema)
    # Sources of other kinds have no code columns; rules over them are still valid and do not apply there.
    available.update({name: pl.Boolean() for name in CODE_SCHEMA.names})
    return available


def read_columns(place: ShardColumns, names: Sequence[str]) -> pl.DataFrame:
    """The columns `names` of one shard, one row a document; a column that its source does not have is null."""
    rows = read_table(join(place.root, place.path(HEURISTICS)), ["bytes"])
    frame = pl.DataFrame({"bytes": rows.column("bytes").to_numpy()})
    constants = {"source": place.source, "kind": place.kind, "language": place.language}
    for step, step_schema in STEP_SCHEMAS.items():
        wanted = [name for name in names if name in step_schema.names and name != "bytes"]
        if wanted and step in place.keys:
            frame = frame.hstack(_frame(join(place.root, place.path(step)), wanted))
    from_documents = [name for name in names if name in DOCUMENT_COLUMNS]
    if from_documents:
        url = join(place.root, documents_path(place.source, place.shard))
        frame = frame.hstack(_frame(url, from_documents))
    missing = [name for name in names if name not in frame.columns]
    types = rule_columns(())
    return frame.with_columns(
        pl.lit(constants.get(name), dtype=types.get(name, pl.String())).alias(name) for name in missing
    )


def _frame(url: str, names: Sequence[str]) -> pl.DataFrame:
    frame = pl.from_arrow(read_table(url, names))
    assert isinstance(frame, pl.DataFrame)
    return frame


def tally(groups: np.ndarray, labels: Sequence[str], sizes: np.ndarray, tokens: np.ndarray) -> dict[str, Any]:
    """{label: {documents, bytes, tokens}} where `groups` holds indices into `labels`, -1 for none; zeros left out."""
    inside = groups >= 0
    chosen = groups[inside]
    counts = np.bincount(chosen, minlength=len(labels))
    sums = [_sum_by(chosen, values[inside], len(labels)) for values in (sizes, tokens)]
    return {
        label: {"documents": int(counts[i]), "bytes": int(sums[0][i]), "tokens": int(sums[1][i])}
        for i, label in enumerate(labels)
        if counts[i]
    }


def _sum_by(groups: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Exact int64 sums; np.bincount's weights would be rounded to float64."""
    result = np.zeros(size, np.int64)
    np.add.at(result, groups, values)
    return result


def measures(place: ShardColumns) -> tuple[np.ndarray, np.ndarray]:
    """(UTF-8 bytes, tokens without BOS and EOS) of each document, int64; tokens are 0 when there is no tokenizer."""
    sizes = read_table(join(place.root, place.path(HEURISTICS)), ["bytes"]).column("bytes").to_numpy()
    if ENCODED not in place.keys:
        return sizes, np.zeros(len(sizes), np.int64)
    return sizes, read_table(join(place.root, place.path(ENCODED)), ["tokens"]).column("tokens").to_numpy()


@dataclass(frozen=True)
class RulesTask:
    columns: ShardColumns
    key: str
    rules: tuple[Rule, ...]


def judge(task: RulesTask) -> Receipt:
    """Rule verdicts of one shard: reason of each document, and how often each rule dropped or did not apply."""
    start = time.perf_counter()
    place = task.columns
    frame = read_columns(place, columns_needed(task.rules))
    verdicts = apply_rules(task.rules, frame, place.source)
    names = [rule.name for rule in task.rules]
    reasons = np.array([*names, None], dtype=object)[verdicts.reason]
    path = columns_path(RULES, task.key, place.source, place.shard)
    write_columns(join(place.root, path), pa.Table.from_arrays([pa.array(reasons, pa.string())], schema=VERDICTS))
    counts = {
        "documents": len(reasons),
        "passed": int(np.count_nonzero(verdicts.reason == -1)),
        "dropped": tally(verdicts.reason.astype(np.int64), names, *measures(place)),
        "not_applicable": dict(verdicts.not_applicable),
    }
    return _written(place, RULES, task.key, path, counts, start)


def _written(place: ShardColumns, step: str, key: str, path: str, counts: dict[str, Any], start: float) -> Receipt:
    facts = (file_fact(place.root, path, counts["documents"]),)
    seconds = round(time.perf_counter() - start, 3)
    return write_receipt(place.root, Receipt(step, key, place.task, facts, counts, seconds, place.inputs))


@dataclass(frozen=True)
class SelectTask:
    """`edges` are the quality bucket edges, None without quality; `cells` the recipe's dimensions."""

    columns: ShardColumns
    key: str
    cells: tuple[str, ...]
    edges: tuple[float, ...] | None = field(default=None)


def reasons_of(place: ShardColumns) -> np.ndarray:
    """Why each document falls, None for survivors: rules first, then exact duplicates, then fuzzy ones; object[n]."""
    verdicts = read_table(join(place.root, place.path(RULES)), ["reason"]).column("reason")
    reasons = verdicts.to_numpy(zero_copy_only=False).astype(object)
    for step, reason in ((EXACT, EXACT_DUPLICATE), (FUZZY, FUZZY_DUPLICATE)):
        if step in place.keys:
            twin = read_table(join(place.root, place.path(step)), ["duplicate_row"]).column("duplicate_row")
            reasons[np.asarray(twin.is_valid())] = reason
    return reasons


def survives(reasons: np.ndarray) -> np.ndarray:
    """bool[n]: where no reason is."""
    return np.fromiter((reason is None for reason in reasons.tolist()), bool, len(reasons))


def _where(condition: np.ndarray, values: np.ndarray) -> np.ndarray:
    """object[n]: `values` where the condition holds, None elsewhere."""
    result = np.full(len(condition), None, dtype=object)
    result[condition] = values[condition]
    return result


def scores_of(place: ShardColumns) -> np.ndarray:
    """Quality score of each document, float32[n]."""
    table = read_table(join(place.root, place.path(QUALITY)), ["quality_score"])
    return np.asarray(table.column("quality_score").to_numpy())


def survivor_histogram(place: ShardColumns) -> Histogram:
    """UTF-8 bytes of the survivors of one shard by score: what the bucket edges are computed from."""
    alive = survives(reasons_of(place))
    return histogram(scores_of(place)[alive], measures(place)[0][alive])


def select(task: SelectTask) -> Receipt:
    """The final selection of one shard: keep, reason and cell of each document."""
    start = time.perf_counter()
    place = task.columns
    reasons = reasons_of(place)
    keep = survives(reasons)
    cells = _cells(task, len(reasons))
    table = pa.Table.from_arrays(
        [pa.array(keep), pa.array(reasons, pa.string()), pa.array(_where(keep, cells), pa.string())],
        schema=schema.SELECTION,
    )
    path = selection_path(task.key, place.source, place.shard)
    write_columns(join(place.root, path), table)
    sizes, tokens = measures(place)
    counts = {
        "documents": len(reasons),
        "all": tally(np.zeros(len(reasons), np.int64), ["all"], sizes, tokens).get("all", NOTHING),
        "kept": tally(keep.astype(np.int64) - 1, ["kept"], sizes, tokens).get("kept", NOTHING),
        "dropped": _tally_names(_where(~keep, reasons), sizes, tokens),
        "cells": _tally_names(_where(keep, cells), sizes, tokens),
    }
    return _written(place, SELECTION, task.key, path, counts, start)


NOTHING = {"documents": 0, "bytes": 0, "tokens": 0}


def _tally_names(names: np.ndarray, sizes: np.ndarray, tokens: np.ndarray) -> dict[str, Any]:
    labels = sorted({name for name in names.tolist() if name is not None})
    index = {label: i for i, label in enumerate(labels)}
    groups = np.fromiter((index.get(name, -1) for name in names.tolist()), np.int64, len(names))
    return tally(groups, labels, sizes, tokens)


def _cells(task: SelectTask, rows: int) -> np.ndarray:
    place = task.columns
    values: dict[str, Any] = {
        "source": [place.source] * rows,
        "kind": [place.kind] * rows,
        "language": [place.language or NO_LANGUAGE] * rows,
    }
    if "quality" in task.cells and task.edges is not None:
        values["quality"] = bucket_of(scores_of(place), task.edges).tolist()
    return cell_names(task.cells, values, rows)
