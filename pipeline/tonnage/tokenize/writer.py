"""Token shards on disk: raw little-endian ids, an index of documents beside them, and the manifest that explains them.

A shard is a plain run of ids, BOS and EOS included; where documents begin and end is in its index alone, never guessed
from EOS. Width, vocabulary, BOS, EOS, tokenizer and versions are in tokens.json of the folder, and readers take them
from there. Documents come in chunks and leave in chunks. Which documents a shard holds is for the callers; whether it
holds them rightly is check.py's.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tonnage.errors import WorkFailed
from tonnage.kernels.splice import gather, offsets_of, wrap
from tonnage.store.documents import writing_parquet
from tonnage.store.files import exists, is_local, join, local_path, read_bytes, stamp_of, write_bytes, writing
from tonnage.store.layout import token_documents_path, tokens_path
from tonnage.store.schema import TOKEN_DOCUMENTS
from tonnage.tokenize.engine import check_range
from tonnage.tokenize.policy import TokenPolicy, width_of

TOKENS_VERSION = 1
BYTE_ORDER = "little"


@dataclass(frozen=True)
class TokenChunk:
    """Some documents of one documents shard, without BOS and EOS.

    Document i is ids[offsets[i] : offsets[i + 1]], its id documents[i], its row rows[i] of shard `shard` of `source`.
    `ids` has the policy's dtype; `offsets` int64[n + 1] from 0; `rows` int64[n].
    """

    ids: np.ndarray
    offsets: np.ndarray
    documents: Sequence[str] | np.ndarray
    source: str
    shard: int
    rows: np.ndarray

    @staticmethod
    def gather(
        encoded: np.ndarray,
        first: np.ndarray,
        lengths: np.ndarray,
        documents: Sequence[str] | np.ndarray,
        *,
        source: str,
        shard: int,
        rows: np.ndarray,
    ) -> TokenChunk:
        """The documents whose ids are encoded[first[i] : first[i] + lengths[i]], copied together.

        Raises WorkFailed when `encoded` does not reach that far.
        """
        try:
            ids, offsets = gather(encoded, first, lengths)
        except ValueError as fault:
            raise WorkFailed(
                f"the encoded ids of {source} shard {shard} are cut off ({fault}); delete them and run again"
            ) from fault
        return TokenChunk(ids, offsets, documents, source, shard, np.asarray(rows, np.int64))

    def slice(self, start: int, end: int) -> TokenChunk:
        """Documents start to end, sharing memory."""
        low, high = int(self.offsets[start]), int(self.offsets[end])
        offsets = self.offsets[start : end + 1] - low
        documents, rows = self.documents[start:end], self.rows[start:end]
        return TokenChunk(self.ids[low:high], offsets, documents, self.source, self.shard, rows)


@dataclass(frozen=True)
class TokenShard:
    """What one shard holds: `tokens` with BOS and EOS."""

    shard: int
    documents: int
    tokens: int


class _ShardWriter:
    """Writes chunks to one shard; its files appear when `close` is called after the last one."""

    def __init__(self, root: str, key: str, cell: str, shard: int, policy: TokenPolicy) -> None:
        self._name = f"{cell} shard {shard}"
        self._shard = shard
        self._policy = policy
        with contextlib.ExitStack() as stack:
            self._stream = stack.enter_context(writing(join(root, tokens_path(key, cell, shard))))
            index_url = join(root, token_documents_path(key, cell, shard))
            self._index = stack.enter_context(writing_parquet(index_url, TOKEN_DOCUMENTS))
            self._stack = stack.pop_all()
        self.tokens = 0
        self.documents = 0

    def __enter__(self) -> _ShardWriter:
        return self

    def __exit__(self, *exception: Any) -> bool | None:
        return self._stack.__exit__(*exception)

    def add(self, chunk: TokenChunk) -> None:
        if chunk.ids.dtype != self._policy.numpy_dtype:
            raise WorkFailed(
                f"{self._name}: ids are {chunk.ids.dtype}, the vocabulary of {self._policy.vocab_size:,} asks for "
                f"{self._policy.dtype}; delete the run's encoded columns and run again"
            )
        check_range(chunk.ids, self._policy, self._name)
        ids, lengths = wrap(chunk.ids, chunk.offsets, self._policy.bos_id, self._policy.eos_id)
        self._stream.write(ids.data)
        self._index.write(self._index_rows(chunk, lengths))
        self.tokens += len(ids)
        self.documents += len(lengths)

    def _index_rows(self, chunk: TokenChunk, lengths: np.ndarray) -> pa.RecordBatch:
        count = len(lengths)
        columns = [
            pa.array(chunk.documents, pa.string()),
            pa.repeat(pa.scalar(chunk.source, pa.string()), count),
            pa.repeat(pa.scalar(chunk.shard, pa.int32()), count),
            pa.array(chunk.rows, pa.int64()),
            pa.array(self.tokens + offsets_of(lengths)[:-1]),
            pa.array(lengths),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=TOKEN_DOCUMENTS)

    def finished(self) -> TokenShard:
        """Raises WorkFailed when nothing was written: an empty shard is a fault upstream, not a result."""
        if not self.tokens:
            raise WorkFailed(
                f"{self._name} would hold {self.documents} documents and no token; check the selection of this cell"
            )
        return TokenShard(self._shard, self.documents, self.tokens)


def write_token_shard(
    root: str, key: str, cell: str, shard: int, policy: TokenPolicy, chunks: Iterable[TokenChunk]
) -> TokenShard:
    """Writes all of `chunks` as one shard and its index, in their order.

    Raises WorkFailed when an id is outside of the vocabulary, ids have another width than the policy's, or there is no
    token at all; then no file appears.
    """
    with _ShardWriter(root, key, cell, shard, policy) as writer:
        for chunk in chunks:
            writer.add(chunk)
        return writer.finished()


def write_token_shards(
    root: str,
    key: str,
    cell: str,
    policy: TokenPolicy,
    chunks: Iterable[TokenChunk],
    *,
    shard_first: int = 0,
    shard_tokens: int,
) -> list[TokenShard]:
    """As `write_token_shard`, a new shard beginning with the first document that would take one past `shard_tokens`.

    Documents are never split: one longer than `shard_tokens` has a shard of its own.
    """
    shards: list[TokenShard] = []
    pieces = _cut(chunks, policy.added, shard_tokens)
    piece = next(pieces, None)
    while piece is not None:
        with _ShardWriter(root, key, cell, shard_first + len(shards), policy) as writer:
            writer.add(piece[0])
            while (piece := next(pieces, None)) is not None and not piece[1]:
                writer.add(piece[0])
            shards.append(writer.finished())
    return shards


def _cut(chunks: Iterable[TokenChunk], added: int, shard_tokens: int) -> Iterator[tuple[TokenChunk, bool]]:
    """Pieces of the chunks in order, and whether each begins a new shard."""
    filled = 0
    for chunk in chunks:
        ends = chunk.offsets[1:] + added * np.arange(1, len(chunk.offsets))
        start, before = 0, 0
        while start < len(ends):
            end = int(np.searchsorted(ends, before + shard_tokens - filled, side="right"))
            begins = end <= start and filled > 0
            if begins:
                filled = 0
                end = int(np.searchsorted(ends, before + shard_tokens, side="right"))
            end = max(end, start + 1)
            yield chunk.slice(start, end), begins
            filled += int(ends[end - 1]) - before
            start, before = end, int(ends[end - 1])


@dataclass(frozen=True)
class TokensManifest:
    """What tokens.json says: the policy, and the shards of every cell in order."""

    key: str
    policy: TokenPolicy
    cells: Mapping[str, tuple[TokenShard, ...]]

    def shard(self, cell: str, shard: int) -> TokenShard:
        """Raises WorkFailed when the manifest has no such shard."""
        for entry in self.cells.get(cell, ()):
            if entry.shard == shard:
                return entry
        raise WorkFailed(
            f"the tokens {self.key} have no shard {shard} of cell {cell!r}; they have {_named(self.cells)}"
        )


def _named(cells: Mapping[str, Sequence[TokenShard]]) -> str:
    return ", ".join(f"{cell} ({len(shards)})" for cell, shards in cells.items()) or "none"


def tokens_manifest_path(key: str) -> str:
    """Where the manifest lies within a run."""
    return f"tokens-{key}/tokens.json"


def write_manifest(
    root: str, key: str, policy: TokenPolicy, cells: Mapping[str, Sequence[Mapping[str, int] | TokenShard]]
) -> None:
    """tokens.json: byte order, policy, and for each cell its shards with their counts of documents and tokens."""
    content = {
        "version": TOKENS_VERSION,
        "byte_order": BYTE_ORDER,
        **policy.to_dict(),
        "cells": {
            cell: [asdict(shard) if isinstance(shard, TokenShard) else dict(shard) for shard in shards]
            for cell, shards in cells.items()
        },
    }
    write_bytes(join(root, tokens_manifest_path(key)), json.dumps(content, indent=1).encode() + b"\n")


def read_manifest(root: str, key: str) -> TokensManifest:
    """Raises WorkFailed when there is none, it is damaged, or its facts contradict one another."""
    url = join(root, tokens_manifest_path(key))
    if not exists(url):
        raise WorkFailed(f"{url} is missing, so that nobody knows how to read the tokens; run the recipe to its end")
    try:
        content = json.loads(read_bytes(url))
        policy = TokenPolicy.from_dict(content)
        cells = {
            cell: tuple(TokenShard(entry["shard"], entry["documents"], entry["tokens"]) for entry in shards)
            for cell, shards in content["cells"].items()
        }
        facts = (content["version"], content["byte_order"], policy.dtype)
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise WorkFailed(f"{url} is damaged ({type(fault).__name__}: {fault}); pack the tokens again") from fault
    expected = (TOKENS_VERSION, BYTE_ORDER, width_of(policy.vocab_size))
    if facts != expected:
        raise WorkFailed(
            f"{url} says version, byte order and dtype are {facts}, a vocabulary of {policy.vocab_size:,} asks for "
            f"{expected}; pack the tokens again"
        )
    return TokensManifest(key, policy, cells)


def open_tokens(root: str, manifest: TokensManifest, cell: str, shard: int, *, dtype: str | None = None) -> np.ndarray:
    """The ids of one shard: a read-only memory map of a local file, an array of a remote one.

    A `dtype` that the caller insists on must be the manifest's. Raises WorkFailed when it is not, or the file's size is
    not that of its tokens.
    """
    url = join(root, tokens_path(manifest.key, cell, shard))
    policy = manifest.policy
    if dtype is not None and np.dtype(dtype) != policy.numpy_dtype:
        raise WorkFailed(
            f"{url} holds {policy.dtype} ids (vocabulary {policy.vocab_size:,}), it cannot be read as {dtype}; "
            f"take the dtype from tokens.json"
        )
    return open_ids(url, policy, manifest.shard(cell, shard).tokens)


def open_encoded(url: str, policy: TokenPolicy) -> np.ndarray:
    """The ids of a whole documents shard, as the scan wrote them. Raises WorkFailed when the file ends within an id."""
    return open_ids(url, policy, None)


def open_ids(url: str, policy: TokenPolicy, tokens: int | None) -> np.ndarray:
    """Raw ids of one file, `tokens` of them where that is known.

    Raises WorkFailed when the file is missing or has another size.
    """
    found = stamp_of(url)
    if found is None:
        raise WorkFailed(f"{url} is missing; give the same command again to make it anew")
    width = policy.numpy_dtype.itemsize
    if found[0] % width or (tokens is not None and found[0] != tokens * width):
        expected = f"{tokens:,} ids" if tokens is not None else "ids"
        raise WorkFailed(
            f"{url} has {found[0]:,} bytes, which are not {expected} of {width} bytes; give the same command again"
        )
    if not found[0]:
        return np.zeros(0, policy.numpy_dtype)
    if is_local(url):
        return np.memmap(local_path(url), policy.numpy_dtype, mode="r")
    return np.frombuffer(read_bytes(url), policy.numpy_dtype)
