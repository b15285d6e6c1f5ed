"""Token shards of a few documents, written by the package's own writer, for tests of exports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from tonnage.store import schema
from tonnage.store.documents import writing_parquet
from tonnage.store.layout import documents_path
from tonnage.tokenize.policy import TokenPolicy, width_of
from tonnage.tokenize.writer import TokenChunk, write_manifest, write_token_shards


def policy(vocab_size: int) -> TokenPolicy:
    return TokenPolicy(vocab_size, width_of(vocab_size), 0, None, False, "0" * 16, "0", "0")


def small_tokens(root: Path, lengths: dict[str, list[int]], vocab_size: int = 500, shard_tokens: int = 40) -> str:
    """Token shards of documents of given lengths (EOS included) by cell, of ids that count upwards; the key."""
    rules = policy(vocab_size)
    cells = {}
    for cell, each in lengths.items():
        inner = np.array(each) - 1
        offsets = np.concatenate([[0], np.cumsum(inner)])
        ids = (np.arange(offsets[-1]) % (vocab_size - 1) + 1).astype(rules.numpy_dtype)
        names = [f"{cell}-{index}" for index in range(len(each))]
        chunk = TokenChunk(ids, offsets, names, "raw", 0, np.arange(len(each)))
        cells[cell] = write_token_shards(str(root), "k", cell, rules, [chunk], shard_tokens=shard_tokens)
    write_manifest(str(root), "k", rules, cells)
    return "k"


def small_documents(root: Path, count: int) -> None:
    """The documents shard that `small_tokens` names: `count` documents without licence and URL."""
    rows = [{"id": str(row), "text": f"text {row}", "file": "raw.jsonl", "position": row} for row in range(count)]
    with writing_parquet(str(root / documents_path("raw", 0)), schema.DOCUMENTS, text_column="text") as writer:
        writer.write(pa.RecordBatch.from_pylist(rows, schema=schema.DOCUMENTS))
