"""Verification of fuzzy duplicates: a document falls only for one kept document that contains enough of its shingles.

Shingles are made again from the texts of grouped documents and sent to partitions by group; there each group is decided
in keep order (priority of its source, then longer text, then address) by the overlap kernel; then the verdicts go back
to the documents shards. A document falls for one that stays, never along a chain. How groups came about is candidates'.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tonnage.dedup import tally
from tonnage.dedup.candidates import GROUPS, STEP
from tonnage.dedup.corpus import ROW_BITS, Corpus, Place, nodes_of, row_aligned
from tonnage.dedup.signatures import Shingling, signature_values
from tonnage.errors import WorkFailed
from tonnage.exchange import gather_partition, write_partitions, writing_partitions
from tonnage.kernels import overlap
from tonnage.kernels.hashing import mixed_all
from tonnage.kernels.minhash import shingles
from tonnage.kernels.words import scan_words
from tonnage.store import schema
from tonnage.store.arrow_text import as_column, buffers
from tonnage.store.documents import read_row_groups, rows_of, write_columns
from tonnage.store.files import file_fact, join
from tonnage.store.layout import columns_path, documents_path, exchange_path
from tonnage.store.receipts import Receipt, write_receipt

FUZZY_VERSION = 1
SHINGLES, VERIFY = "shingles", "verify"
SHINGLES_A_PARTITION = 1 << 24  # 128 MB
MOST_SHINGLES = 1 << 25  # of a group that is decided as a whole: 256 MB, and up to 384 MB of index
CONTAINMENT, JACCARD, UNCHECKED = "containment", "jaccard", "unchecked"

MEMBERS = pa.schema(
    [
        pa.field("group", pa.int64(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
        pa.field("node", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("source_id", pa.string()),
        pa.field("shingles", pa.large_list(pa.uint64()), nullable=False),
    ]
)
VERDICTS = pa.schema(
    [
        pa.field("node", pa.int64(), nullable=False),
        pa.field("kept", pa.int64(), nullable=False),  # -1 for a document that stays
        pa.field("kept_source_id", pa.string()),
        pa.field("containment", pa.float32()),
        pa.field("jaccard", pa.float32()),
        pa.field("group", pa.int64(), nullable=False),
        pa.field("comparisons", pa.int32(), nullable=False),
        pa.field("bounded", pa.bool_(), nullable=False),
    ]
)


@dataclass(frozen=True)
class Proof:
    """When a document falls: its `measure` with one kept document reaches `threshold`.

    `measure` is containment, jaccard, or unchecked: then every member of a group falls for its first. With `per_source`
    documents fall only for documents of their own source, or of an earlier corpus. In groups of more than
    `exact_members` documents each document visits at most `lookups` entries of the index.
    """

    measure: str
    threshold: float
    per_source: bool
    exact_members: int
    lookups: int


@dataclass(frozen=True)
class ShinglesTask:
    """The grouped documents of one documents shard; `groups` files name them, `partitions` take them."""

    root: str
    key: str
    place: Place
    shingling: Shingling
    groups: int
    shards: int
    partitions: int


@dataclass(frozen=True)
class VerifyTask:
    """One partition of whole groups, from the files of all documents shards."""

    root: str
    key: str
    partition: int
    partitions: int
    corpus: Corpus
    proof: Proof


@dataclass(frozen=True)
class WriteTask:
    """One documents shard of this run, from the verdicts of all partitions."""

    root: str
    key: str
    place: Place
    corpus: Corpus
    partitions: int


def partitions_for(total_shingles: int) -> int:
    """How many partitions hold about SHINGLES_A_PARTITION shingles each."""
    return max(1, -(-total_shingles // SHINGLES_A_PARTITION))


def send_shingles(task: ShinglesTask) -> Receipt:
    """Sends the shingles of the shard's grouped documents to the partition of their group, row group by row group."""
    start = time.perf_counter()
    paths = [join(task.root, exchange_path(STEP, task.key, GROUPS, number)) for number in range(task.groups)]
    members = gather_partition(paths, task.place.ordinal, task.shards)
    path = exchange_path(STEP, task.key, SHINGLES, task.place.ordinal)
    with writing_partitions(join(task.root, path), MEMBERS, task.partitions) as writer:
        for table in _with_shingles(task, members) if len(members) else ():
            hashed = mixed_all(table.column("group").to_numpy().astype(np.uint64)) + table.column(
                "part"
            ).to_numpy().astype(np.uint64)
            writer.write(table, (hashed % np.uint64(task.partitions)).astype(np.int64))
        rows = writer.rows
    if rows != len(members):
        raise WorkFailed(
            f"{task.place.task}: {len(members):,} documents were grouped, {rows:,} found again; nothing after this can "
            f"be trusted, please report it"
        )
    return _written(task.root, task.key, f"{SHINGLES}/{task.place.task}", path, {"members": rows}, start)


def _with_shingles(task: ShinglesTask, members: pa.Table) -> Iterator[pa.Table]:
    """MEMBERS tables of the shard's grouped documents, in the order of rows."""
    order = np.argsort(members.column("node").to_numpy())
    rows, group, parts = (members.column(name).to_numpy()[order] for name in ("node", "group", "parts"))
    rows = rows & ((1 << ROW_BITS) - 1)
    part = np.zeros(len(rows), np.int32)
    if (parts > 1).any():
        part = _parts(task.place, rows, parts)
    first = 0
    for batch in read_row_groups(task.place.documents, ["text", "source_id"]):
        begin, stop = np.searchsorted(rows, [first, first + batch.num_rows])
        if stop > begin:
            chosen = batch.take(pa.array(rows[begin:stop] - first))
            hashes, bounds = sorted_shingles(as_column(chosen.column("text")), task.shingling)
            yield pa.Table.from_arrays(
                [
                    pa.array(group[begin:stop]),
                    pa.array(part[begin:stop]),
                    pa.array(nodes_of(task.place.ordinal, rows[begin:stop])),
                    pc.binary_length(chosen.column("text")),
                    chosen.column("source_id"),
                    pa.LargeListArray.from_arrays(pa.array(bounds), pa.array(hashes)),
                ],
                schema=MEMBERS,
            )
        first += batch.num_rows


def _parts(place: Place, rows: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Documents of a group too large for memory are parted by the first place of their signatures.

    Two documents of Jaccard similarity s come into the same part with a probability of at least s.
    """
    chosen = []
    first = 0
    for batch in read_row_groups(place.signatures, ["signature"]):
        begin, stop = np.searchsorted(rows, [first, first + batch.num_rows])
        chosen.append(signature_values(batch.column("signature"))[rows[begin:stop] - first, 0])
        first += batch.num_rows
    return (mixed_all(np.concatenate(chosen).astype(np.uint64)) % parts.astype(np.uint64)).astype(np.int32)


def sorted_shingles(text: pa.LargeStringArray, shingling: Shingling) -> tuple[np.ndarray, np.ndarray]:
    """The distinct shingles of n documents, rising within each: (hashes uint64[m], bounds int64[n + 1])."""
    hashes, bounds = shingles(scan_words(*buffers(text)), shingling.ngram)
    overlap.sort_each(hashes, bounds)
    return hashes, bounds


def verify(task: VerifyTask) -> Receipt:
    """Decides every group of one partition; the verdicts on documents of this run, and what they add up to."""
    start = time.perf_counter()
    paths = [join(task.root, exchange_path(STEP, task.key, SHINGLES, number)) for number in range(task.corpus.shards)]
    groups = _Groups.of(gather_partition(paths, task.partition, task.partitions), task.corpus, task.proof)
    found = groups.decide(task.proof)
    own = groups.realm > 0
    falls = found.kept >= 0
    sizes = np.diff(groups.bounds)
    whole = sizes + np.where(falls, sizes[found.kept], 0) - found.shared
    containment = (found.shared / np.maximum(sizes, 1)).astype(np.float32)
    jaccard = (found.shared / np.maximum(whole, 1)).astype(np.float32)
    kept_ids = groups.source_ids.take(pa.array(found.kept, mask=~falls))
    table = pa.Table.from_arrays(
        [
            pa.array(groups.node),
            pa.array(np.where(falls, groups.node[found.kept], -1)),
            kept_ids,
            pa.array(containment, mask=~falls),
            pa.array(jaccard, mask=~falls),
            pa.array(groups.group),
            pa.array(found.comparisons.astype(np.int32)),
            pa.array(found.bounded),
        ],
        schema=VERDICTS,
    ).filter(pa.array(own))
    path = exchange_path(STEP, task.key, VERIFY, task.partition)
    write_partitions(join(task.root, path), table, table.column("node").to_numpy() >> ROW_BITS, task.corpus.shards)
    counts = _counts(task.corpus, groups, found, containment, jaccard)
    return _written(task.root, task.key, f"{VERIFY}/{task.partition:06d}", path, counts, start)


@dataclass(frozen=True)
class _Groups:
    """The documents of one partition, group after group, each in keep order; `starts` int64[g + 1] cuts the groups.

    `realm` is 0 for documents of earlier corpora, else a number above: documents fall only within their own, or for
    realm 0.
    """

    group: np.ndarray
    node: np.ndarray
    realm: np.ndarray
    source_ids: pa.Array
    shingles: np.ndarray
    bounds: np.ndarray
    starts: np.ndarray

    @staticmethod
    def of(table: pa.Table, corpus: Corpus, proof: Proof) -> _Groups:
        group, part, node, size = (table.column(name).to_numpy() for name in ("group", "part", "node", "bytes"))
        priority = corpus.part_of(node >> ROW_BITS)
        order = np.lexsort([node, -size, priority, part, group])
        ordered = table.select(["source_id", "shingles"]).take(pa.array(order)).combine_chunks()
        listed = ordered.column("shingles").combine_chunks()
        if isinstance(listed, pa.ChunkedArray):
            listed = listed.chunk(0) if listed.num_chunks else pa.array([], MEMBERS.field("shingles").type)
        group, part, priority = group[order], part[order], priority[order]
        new = np.ones(len(order), bool)
        new[1:] = (group[1:] != group[:-1]) | (part[1:] != part[:-1])
        earlier = np.array([entry.run is not None for entry in corpus.parts])
        realm = np.where(earlier[priority], 0, priority + 1 if proof.per_source else 1)
        return _Groups(
            group,
            node[order],
            realm.astype(np.int32),
            ordered.column("source_id").combine_chunks(),
            np.asarray(listed.values),
            np.asarray(listed.offsets),
            np.append(np.flatnonzero(new), len(order)),
        )

    def decide(self, proof: Proof) -> overlap.Verdicts:
        if proof.measure == UNCHECKED:
            return overlap.first_of_each(self.shingles, self.bounds, self.starts, self.realm)
        return overlap.decide(
            self.shingles,
            self.bounds,
            self.starts,
            self.realm,
            measure=overlap.JACCARD if proof.measure == JACCARD else overlap.CONTAINMENT,
            threshold=proof.threshold,
            exact_members=proof.exact_members,
            lookups=proof.lookups,
        )


def _counts(
    corpus: Corpus, groups: _Groups, found: overlap.Verdicts, containment: np.ndarray, jaccard: np.ndarray
) -> dict[str, Any]:
    falls = found.kept >= 0
    own = groups.realm > 0
    fallen, kept = groups.node[falls], groups.node[found.kept[falls]]
    return {
        "members": len(groups.node),
        "earlier": int(np.count_nonzero(~own)),
        "stay": int(np.count_nonzero(own & ~falls)),
        "removed": len(fallen),
        "comparisons": int(found.comparisons.sum()),
        "bounded": int(np.count_nonzero(found.bounded)),
        "clusters": tally.clusters(kept),
        "pairs": tally.source_pairs(corpus, fallen, kept),
        "containment": tally.histogram(containment[falls]),
        "jaccard": tally.histogram(jaccard[falls]),
        "largest": tally.largest(corpus, fallen, kept),
    }


def write(task: WriteTask) -> Receipt:
    """The duplicate columns of one documents shard, null for documents without candidates."""
    start = time.perf_counter()
    part = task.place.part
    rows = rows_of(part.root, documents_path(part.source, task.place.shard))
    paths = [join(task.root, exchange_path(STEP, task.key, VERIFY, number)) for number in range(task.partitions)]
    found = gather_partition(paths, task.place.ordinal, task.corpus.shards)
    place = found.column("node").to_numpy() & ((1 << ROW_BITS) - 1)
    kept = found.column("kept").to_numpy()
    addresses = task.corpus.addresses(np.maximum(kept, 0))
    stays = pa.array(kept < 0)
    masked = [pc.if_else(stays, pa.scalar(None, column.type), column) for column in addresses]
    evidence = [
        found.column(name).combine_chunks()
        for name in ("kept_source_id", "containment", "jaccard", "group", "comparisons", "bounded")
    ]
    columns = row_aligned(rows, place, [*masked, *evidence])
    path = columns_path(STEP, task.key, part.source, task.place.shard)
    write_columns(join(task.root, path), pa.Table.from_arrays(columns, schema=schema.FUZZY_DUPLICATES))
    counts = {"documents": rows, "duplicates": int(np.count_nonzero(kept >= 0)), "grouped": len(found)}
    return _written(task.root, task.key, task.place.task, path, counts, start)


def _written(root: str, key: str, name: str, path: str, counts: Mapping[str, Any], start: float) -> Receipt:
    fact = file_fact(root, path, next(iter(counts.values())))
    return write_receipt(root, Receipt(STEP, key, name, (fact,), counts, round(time.perf_counter() - start, 3)))


def check_balance(grouped: Sequence[Receipt], verified: Sequence[Receipt], written: Sequence[Receipt]) -> None:
    """Raises WorkFailed unless grouped = earlier + stay + removed, and removed = marked, at every hand-over."""

    def total(receipts: Sequence[Receipt], name: str) -> int:
        return sum(receipt.counts[name] for receipt in receipts)

    grouped_members, members = total(grouped, "members"), total(verified, "members")
    earlier, stay, removed = (total(verified, name) for name in ("earlier", "stay", "removed"))
    marked = total(written, "duplicates")
    if not (grouped_members == members == earlier + stay + removed and removed == marked):
        raise WorkFailed(
            f"fuzzy duplicates do not balance: {grouped_members:,} documents grouped, {members:,} verified, of which "
            f"{earlier:,} belong to earlier corpora, {stay:,} stay and {removed:,} fall, {marked:,} marked; nothing "
            f"after this can be trusted, please report it"
        )
