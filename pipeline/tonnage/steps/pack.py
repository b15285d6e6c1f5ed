"""Token shards: the kept documents of one cell, in the order of addresses, from ids that the scan has encoded.

Which document is in which cell was decided by selection; how ids become a shard with BOS and EOS, and the check of what
was written, is tokenize's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tonnage.plan import ENCODED, TOKENS, Shard
from tonnage.store.documents import read_row_groups, read_table
from tonnage.store.files import file_fact, join
from tonnage.store.layout import (
    columns_path,
    documents_path,
    encoded_path,
    selection_path,
    token_documents_path,
    tokens_path,
)
from tonnage.store.receipts import Receipt, write_receipt
from tonnage.tokenize.check import decode_check
from tonnage.tokenize.policy import TokenPolicy
from tonnage.tokenize.writer import TokenChunk, open_encoded, write_token_shard

CHUNK_TOKENS = 1 << 24
CHECKED_DOCUMENTS = 20


@dataclass(frozen=True)
class PackTask:
    """One token shard: `shard` of `cell`, made of the kept documents of `shards`."""

    root: str
    key: str
    selection_key: str
    encoded_key: str
    cell: str
    shard: int
    shards: tuple[Shard, ...]
    policy: TokenPolicy
    tokenizer: str

    @property
    def name(self) -> str:
        return f"{self.cell}/{self.shard:05d}"


def group_shards(
    shards: Sequence[Shard], tokens: Mapping[str, int], shard_tokens: int
) -> tuple[tuple[Shard, ...], ...]:
    """Consecutive documents shards, cut where a cell's tokens so far pass `shard_tokens`; shards without any left
    out.
    """
    groups: list[tuple[Shard, ...]] = []
    current: list[Shard] = []
    total = 0
    for shard in shards:
        if tokens.get(shard.task, -1) < 0:
            continue
        current.append(shard)
        total += tokens[shard.task]
        if total >= shard_tokens:
            groups.append(tuple(current))
            current, total = [], 0
    return (*groups, tuple(current)) if current else tuple(groups)


def pack(task: PackTask) -> Receipt:
    """Writes one token shard with its document index, checks it, and returns its receipt.

    Raises WorkFailed when an id is outside the vocabulary, lengths do not add up, or a decoded document differs from
    its text.
    """
    start = time.perf_counter()
    written = write_token_shard(task.root, task.key, task.cell, task.shard, task.policy, _chunks(task))
    decode_check(
        task.root, task.key, task.cell, task.shard, task.tokenizer, task.policy, texts_of(task.root), CHECKED_DOCUMENTS
    )
    facts = (
        file_fact(task.root, tokens_path(task.key, task.cell, task.shard), written.tokens),
        file_fact(task.root, token_documents_path(task.key, task.cell, task.shard), written.documents),
    )
    counts = {"cell": task.cell, "shard": task.shard, "documents": written.documents, "tokens": written.tokens}
    seconds = round(time.perf_counter() - start, 3)
    return write_receipt(task.root, Receipt(TOKENS, task.key, task.name, facts, counts, seconds))


def _chunks(task: PackTask) -> Iterator[TokenChunk]:
    for shard in task.shards:
        yield from _chunks_of(task, shard)


def _chunks_of(task: PackTask, shard: Shard) -> Iterator[TokenChunk]:
    place = (shard.source, shard.shard)
    cells = read_table(join(task.root, selection_path(task.selection_key, *place)), ["cell"]).column("cell")
    rows = np.flatnonzero(np.equal(cells.to_numpy(zero_copy_only=False), task.cell))
    if not len(rows):
        return
    counts = read_table(join(task.root, columns_path(ENCODED, task.encoded_key, *place)), ["tokens"])
    lengths = counts.column("tokens").to_numpy()
    first = np.concatenate([[0], np.cumsum(lengths)])
    ids = read_table(join(task.root, documents_path(*place)), ["id"]).column("id").to_numpy(zero_copy_only=False)
    encoded = open_encoded(join(task.root, encoded_path(task.encoded_key, *place)), task.policy)
    for part in _bounded(rows, lengths):
        yield TokenChunk.gather(
            encoded, first[part], lengths[part], ids[part], source=shard.source, shard=shard.shard, rows=part
        )


def _bounded(rows: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
    """`rows` cut into runs of about CHUNK_TOKENS tokens."""
    piece = (np.cumsum(lengths[rows]) - 1) // CHUNK_TOKENS
    yield from np.split(rows, np.flatnonzero(np.diff(piece)) + 1)


def texts_of(root: str) -> Callable[[str, int, Sequence[int]], dict[int, str]]:
    """A function that gives the texts of some rows of one documents shard of the run at `root`."""

    def texts(source: str, shard: int, rows: Sequence[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        seen = 0
        for batch in read_row_groups(join(root, documents_path(source, shard)), ["text"]):
            for row in rows:
                if seen <= row < seen + batch.num_rows:
                    found[row] = batch.column("text")[row - seen].as_py()
            seen += batch.num_rows
        return found

    return texts
