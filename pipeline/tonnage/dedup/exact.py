"""Exact duplicates over the whole corpus: of documents with the same id, the first by source order, shard and row
stays.

Only documents that passed the rules take part, so none falls as the duplicate of one that a rule drops. Three kinds of
tasks, handed over by exchange: map, one documents shard each, sends ids to partitions; reduce, one partition each,
finds the groups; write, one documents shard each, gathers the verdicts on its rows. In which order they run is run's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tonnage.errors import WorkFailed
from tonnage.exchange import gather_partition, write_partitions
from tonnage.store import schema
from tonnage.store.documents import read_table, write_columns
from tonnage.store.files import file_fact, join
from tonnage.store.layout import columns_path, shard_task
from tonnage.store.receipts import Receipt, write_receipt

EXACT_VERSION = 1
STEP = "exact"
ROWS_A_PARTITION = 1 << 20  # 40 bytes a row: about 40 MB of one partition, and as much again while it is sorted

MEMBERS = pa.schema(
    [
        pa.field("high", pa.uint64(), nullable=False),  # the id's first and last eight bytes
        pa.field("low", pa.uint64(), nullable=False),
        pa.field("source", pa.int32(), nullable=False),  # place of the source in the recipe
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("ordinal", pa.int32(), nullable=False),  # of the documents shard in the whole corpus
        pa.field("row", pa.int64(), nullable=False),
    ]
)
PAIRS = pa.schema(
    [
        pa.field("ordinal", pa.int32(), nullable=False),  # documents shard of the duplicate
        pa.field("row", pa.int64(), nullable=False),
        pa.field("kept_source", pa.int32(), nullable=False),
        pa.field("kept_shard", pa.int32(), nullable=False),
        pa.field("kept_row", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True)
class MapTask:
    """One documents shard; `documents` and `verdicts` are paths within the run, row-aligned."""

    root: str
    key: str
    source: str
    source_index: int
    shard: int
    ordinal: int
    documents: str
    verdicts: str
    partitions: int


@dataclass(frozen=True)
class ReduceTask:
    """One partition over the files of all map tasks."""

    root: str
    key: str
    partition: int
    maps: tuple[str, ...]


@dataclass(frozen=True)
class WriteTask:
    """The documents shard of map task `of`, from the pairs that all reduce tasks found; `sources` in recipe order."""

    root: str
    key: str
    of: MapTask
    sources: tuple[str, ...]
    pairs: tuple[str, ...]


def partitions_for(rows: int) -> int:
    """How many partitions keep a reduce task's memory bounded: about ROWS_A_PARTITION rows each."""
    return max(1, -(-rows // ROWS_A_PARTITION))


def map_path(key: str, task: MapTask) -> str:
    return f"exchange/{STEP}-{key}/map-{task.ordinal:06d}.arrow"


def reduce_path(key: str, partition: int) -> str:
    return f"exchange/{STEP}-{key}/reduce-{partition:06d}.arrow"


def exact_map(task: MapTask) -> Receipt:
    """Sends the ids of the shard's documents that passed the rules to their partitions."""
    start = time.perf_counter()
    ids = read_table(join(task.root, task.documents), ["id"]).column("id")
    reasons = read_table(join(task.root, task.verdicts), ["reason"]).column("reason")
    rows = np.flatnonzero(np.asarray(reasons.is_null()))
    high, low = _halves(ids.take(pa.array(rows)))
    count = len(rows)
    table = pa.Table.from_arrays(
        [
            pa.array(high),
            pa.array(low),
            pa.array(np.full(count, task.source_index, np.int32)),
            pa.array(np.full(count, task.shard, np.int32)),
            pa.array(np.full(count, task.ordinal, np.int32)),
            pa.array(rows.astype(np.int64)),
        ],
        schema=MEMBERS,
    )
    partition = (low % np.uint64(task.partitions)).astype(np.int64)
    path = map_path(task.key, task)
    write_partitions(join(task.root, path), table, partition, task.partitions)
    counts = {"documents": len(ids), "members": count}
    return _written(task.root, task.key, f"map/{shard_task(task.source, task.shard)}", path, counts, start)


def _halves(ids: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Hex ids of 32 digits as two uint64 arrays."""
    digits = "".join(ids.to_pylist())
    halves = np.frombuffer(bytes.fromhex(digits), ">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])


def exact_reduce(task: ReduceTask) -> Receipt:
    """Finds the groups of equal ids in one partition; a pair for each member but the first."""
    start = time.perf_counter()
    table = gather_partition([join(task.root, path) for path in task.maps], task.partition)
    columns = {name: table.column(name).to_numpy() for name in MEMBERS.names}
    order = np.lexsort([columns[name] for name in ("row", "shard", "source", "low", "high")])
    columns = {name: column[order] for name, column in columns.items()}
    first = np.ones(len(order), bool)
    first[1:] = (columns["high"][1:] != columns["high"][:-1]) | (columns["low"][1:] != columns["low"][:-1])
    kept = np.flatnonzero(first)[np.cumsum(first) - 1] if len(order) else np.zeros(0, np.int64)
    falls = ~first
    pairs = pa.Table.from_arrays(
        [
            pa.array(columns["ordinal"][falls]),
            pa.array(columns["row"][falls]),
            pa.array(columns["source"][kept][falls]),
            pa.array(columns["shard"][kept][falls]),
            pa.array(columns["row"][kept][falls]),
        ],
        schema=PAIRS,
    )
    path = reduce_path(task.key, task.partition)
    write_partitions(join(task.root, path), pairs, columns["ordinal"][falls].astype(np.int64), len(task.maps))
    counts = {"members": len(order), "clusters": int(first.sum()), "removed": int(falls.sum())}
    return _written(task.root, task.key, f"reduce/{task.partition:06d}", path, counts, start)


def exact_write(task: WriteTask) -> Receipt:
    """The duplicate columns of one documents shard: the kept document's address beside each that falls, else null."""
    start = time.perf_counter()
    rows = len(read_table(join(task.root, task.of.verdicts), ["reason"]))
    pairs = gather_partition([join(task.root, path) for path in task.pairs], task.of.ordinal)
    place = pairs.column("row").to_numpy()
    falls = np.zeros(rows, bool)
    falls[place] = True
    source = np.full(rows, None, dtype=object)
    source[place] = np.array(task.sources, dtype=object)[pairs.column("kept_source").to_numpy()]
    shard = np.zeros(rows, np.int32)
    shard[place] = pairs.column("kept_shard").to_numpy()
    row = np.zeros(rows, np.int64)
    row[place] = pairs.column("kept_row").to_numpy()
    table = pa.Table.from_arrays(
        [pa.array(source, pa.string()), pa.array(shard, mask=~falls), pa.array(row, mask=~falls)],
        schema=schema.DUPLICATES,
    )
    path = columns_path(STEP, task.key, task.of.source, task.of.shard)
    write_columns(join(task.root, path), table)
    counts = {"documents": rows, "duplicates": int(falls.sum())}
    return _written(task.root, task.key, shard_task(task.of.source, task.of.shard), path, counts, start)


def _written(root: str, key: str, name: str, path: str, counts: dict[str, int], start: float) -> Receipt:
    fact = file_fact(root, path, next(iter(counts.values())))
    return write_receipt(root, Receipt(STEP, key, name, (fact,), counts, round(time.perf_counter() - start, 3)))


def check_balance(mapped: Sequence[Receipt], reduced: Sequence[Receipt], written: Sequence[Receipt]) -> None:
    """Raises WorkFailed unless members - clusters = removed, the same at both ends of the exchange."""
    sent = sum(receipt.counts["members"] for receipt in mapped)
    members, clusters, removed = (
        sum(receipt.counts[name] for receipt in reduced) for name in ("members", "clusters", "removed")
    )
    marked = sum(receipt.counts["duplicates"] for receipt in written)
    if sent != members or members - clusters != removed or removed != marked:
        raise WorkFailed(
            f"exact duplicates do not balance: {sent:,} documents sent, {members:,} received in {clusters:,} groups, "
            f"{removed:,} removed, {marked:,} marked; nothing after this can be trusted, please report it"
        )
