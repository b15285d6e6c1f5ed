"""Exact duplicates over the whole corpus: of documents with the same id, the first by source order, shard and row
stays.

Only documents that passed the rules take part, so none falls as the duplicate of one that a rule drops; documents of
earlier corpora come before all others. Three kinds of tasks, handed over by exchange: map, one documents shard each,
sends ids to partitions; reduce, one partition each, finds the groups; write, one documents shard of this run each,
gathers the verdicts on its rows. In which order they run is run's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tonnage.dedup import tally
from tonnage.dedup.corpus import ROW_BITS, Corpus, Place, nodes_of, row_aligned
from tonnage.errors import WorkFailed
from tonnage.exchange import gather_partition, write_partitions
from tonnage.store import schema
from tonnage.store.documents import read_table, rows_of, write_columns
from tonnage.store.files import file_fact, join
from tonnage.store.layout import columns_path, documents_path, exchange_path
from tonnage.store.receipts import Receipt, write_receipt

EXACT_VERSION = 2
STEP = "exact"
MAP, REDUCE = "map", "reduce"
ROWS_A_PARTITION = 1 << 20  # 24 bytes a row: about 24 MB of one partition, and a few times that while it is sorted

MEMBERS = pa.schema(
    [
        pa.field("high", pa.uint64(), nullable=False),  # the id's first and last eight bytes
        pa.field("low", pa.uint64(), nullable=False),
        pa.field("node", pa.int64(), nullable=False),
    ]
)
PAIRS = pa.schema([pa.field("node", pa.int64(), nullable=False), pa.field("kept", pa.int64(), nullable=False)])


@dataclass(frozen=True)
class MapTask:
    """One documents shard, of this run or an earlier one."""

    root: str
    key: str
    place: Place
    partitions: int


@dataclass(frozen=True)
class ReduceTask:
    """One partition over the files of all map tasks."""

    root: str
    key: str
    partition: int
    partitions: int
    corpus: Corpus


@dataclass(frozen=True)
class WriteTask:
    """One documents shard of this run, from the pairs that all reduce tasks found."""

    root: str
    key: str
    place: Place
    corpus: Corpus
    partitions: int


def partitions_for(rows: int) -> int:
    """How many partitions keep a reduce task's memory bounded: about ROWS_A_PARTITION rows each."""
    return max(1, -(-rows // ROWS_A_PARTITION))


def exact_map(task: MapTask) -> Receipt:
    """Sends the ids of the shard's documents that passed the rules to their partitions."""
    start = time.perf_counter()
    ids = read_table(task.place.documents, ["id"]).column("id")
    rows = np.flatnonzero(task.place.takes_part())
    high, low = _halves(ids.take(pa.array(rows)))
    nodes = nodes_of(task.place.ordinal, rows)
    table = pa.Table.from_arrays([pa.array(high), pa.array(low), pa.array(nodes)], schema=MEMBERS)
    partition = (low % np.uint64(task.partitions)).astype(np.int64)
    path = exchange_path(STEP, task.key, MAP, task.place.ordinal)
    write_partitions(join(task.root, path), table, partition, task.partitions)
    counts = {"documents": len(ids), "members": len(rows)}
    return _written(task.root, task.key, f"{MAP}/{task.place.task}", path, counts, start)


def _halves(ids: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Hex ids of 32 digits as two uint64 arrays."""
    digits = "".join(ids.to_pylist())
    halves = np.frombuffer(bytes.fromhex(digits), ">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])


def exact_reduce(task: ReduceTask) -> Receipt:
    """Finds the groups of equal ids in one partition; a pair for each member of this run but the first."""
    start = time.perf_counter()
    paths = [join(task.root, exchange_path(STEP, task.key, MAP, ordinal)) for ordinal in range(task.corpus.shards)]
    table = gather_partition(paths, task.partition, task.partitions)
    columns = {name: table.column(name).to_numpy() for name in MEMBERS.names}
    order = np.lexsort([columns[name] for name in ("node", "low", "high")])
    high, low, nodes = (columns[name][order] for name in MEMBERS.names)
    first = np.ones(len(order), bool)
    first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    kept = nodes[np.flatnonzero(first)[np.cumsum(first) - 1]] if len(order) else nodes
    # Within an earlier corpus equal documents have been decided on, and two earlier corpora may share some.
    falls = ~first & task.corpus.own(nodes)
    pairs = pa.Table.from_arrays([pa.array(nodes[falls]), pa.array(kept[falls])], schema=PAIRS)
    path = exchange_path(STEP, task.key, REDUCE, task.partition)
    write_partitions(join(task.root, path), pairs, nodes[falls] >> ROW_BITS, task.corpus.shards)
    counts = {
        "members": len(order),
        "stay": int(np.count_nonzero(~falls)),
        "removed": int(np.count_nonzero(falls)),
        "clusters": tally.clusters(kept[falls]),
        "pairs": tally.source_pairs(task.corpus, nodes[falls], kept[falls]),
    }
    return _written(task.root, task.key, f"{REDUCE}/{task.partition:06d}", path, counts, start)


def exact_write(task: WriteTask) -> Receipt:
    """The duplicate columns of one documents shard: the kept document's address beside each that falls, else null."""
    start = time.perf_counter()
    part = task.place.part
    rows = rows_of(part.root, documents_path(part.source, task.place.shard))
    paths = [join(task.root, exchange_path(STEP, task.key, REDUCE, partition)) for partition in range(task.partitions)]
    pairs = gather_partition(paths, task.place.ordinal, task.corpus.shards)
    place = pairs.column("node").to_numpy() & ((1 << ROW_BITS) - 1)
    columns = row_aligned(rows, place, task.corpus.addresses(pairs.column("kept").to_numpy()))
    path = columns_path(STEP, task.key, part.source, task.place.shard)
    write_columns(join(task.root, path), pa.Table.from_arrays(columns, schema=schema.EXACT_DUPLICATES))
    counts = {"documents": rows, "duplicates": len(pairs)}
    return _written(task.root, task.key, task.place.task, path, counts, start)


def _written(root: str, key: str, name: str, path: str, counts: Mapping[str, Any], start: float) -> Receipt:
    fact = file_fact(root, path, next(iter(counts.values())))
    return write_receipt(root, Receipt(STEP, key, name, (fact,), counts, round(time.perf_counter() - start, 3)))


def check_balance(mapped: Sequence[Receipt], reduced: Sequence[Receipt], written: Sequence[Receipt]) -> None:
    """Raises WorkFailed unless members - those that stay = removed, the same at both ends of the exchange."""
    sent = sum(receipt.counts["members"] for receipt in mapped)
    members, stay, removed = (
        sum(receipt.counts[name] for receipt in reduced) for name in ("members", "stay", "removed")
    )
    marked = sum(receipt.counts["duplicates"] for receipt in written)
    if sent != members or members - stay != removed or removed != marked:
        raise WorkFailed(
            f"exact duplicates do not balance: {sent:,} documents sent, {members:,} received, of which {stay:,} stay, "
            f"{removed:,} removed, {marked:,} marked; nothing after this can be trusted, please report it"
        )
