"""Megatron: .bin (the token file itself, linked) with .idx, and one blend file a phase.

Layout of the .idx: megatron-core's IndexedDataset (megatron/core/datasets/indexed_dataset.py), version 1. Each document
is one sequence. uint32 ids are below 2^31, so that they are the same bytes as the int32 that Megatron reads. Blend
files are for --per-split-data-args-path; their paths are relative to the export's folder and their weights are the
sequences that the mixture draws, which Megatron scales to a sum of one.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import orjson

from tonnage.errors import UsageError
from tonnage.export.common import ExportInput, Report, finish, place_tokens, shards_of, start
from tonnage.store.documents import read_table
from tonnage.store.files import join, write_bytes, writing
from tonnage.store.layout import shard_name, token_documents_path
from tonnage.tokenize.writer import TokensManifest

MAGIC = b"MMIDIDX\x00\x00"
DTYPE_CODES = {"uint16": 8, "uint32": 4}
LARGEST_ID = 2**31  # ids above would be negative int32


def export_megatron(source: ExportInput, out: str) -> Report:
    """Writes CELL/00000.bin and .idx for every token shard, and blend-PHASE.json for every phase.

    Raises UsageError for a vocabulary of more than 2^31 ids, or a folder that holds something else.
    """
    manifest = source.manifest()
    if manifest.policy.vocab_size > LARGEST_ID:
        raise UsageError(f"Megatron's ids end at 2^31, the vocabulary has {manifest.policy.vocab_size:,}")
    prefixes = {(cell, shard): f"{cell}/{shard_name(shard)}" for cell, shard, _, _ in shards_of(manifest)}
    phases = blends(source, manifest)
    files = [*(f"{prefix}.{end}" for prefix in prefixes.values() for end in ("bin", "idx")), *phases]
    start(out, files)
    links = 0
    for (cell, shard), prefix in prefixes.items():
        links += place_tokens(source, cell, shard, join(out, f"{prefix}.bin"))
        index = read_table(join(source.root, token_documents_path(source.tokens_key, cell, shard)), ["first", "length"])
        write_index(
            join(out, f"{prefix}.idx"),
            index.column("length").to_numpy(),
            index.column("first").to_numpy(),
            manifest.policy.dtype,
        )
    for name, blend in phases.items():
        write_bytes(join(out, name), orjson.dumps(blend, option=orjson.OPT_INDENT_2) + b"\n")
    notes = (
        f"{links:,} of {len(prefixes):,} token files are links to the run's own",
        "paths in blend files are relative: start the trainer in this folder, or put it before them",
    )
    return finish(out, "megatron", manifest, files, notes)


def write_index(url: str, lengths: np.ndarray, first: np.ndarray, dtype: str) -> None:
    """The .idx of documents of `lengths` tokens (int64[n]) that begin at token `first` (int64[n])."""
    count = len(lengths)
    width = np.dtype(dtype).itemsize
    with writing(url) as stream:
        stream.write(MAGIC)
        stream.write(struct.pack("<QBQQ", 1, DTYPE_CODES[dtype], count, count + 1))
        stream.write(lengths.astype("<i4").tobytes())
        stream.write((first.astype("<i8") * width).tobytes())
        stream.write(np.arange(count + 1, dtype="<i8").tobytes())


def blends(source: ExportInput, manifest: TokensManifest) -> dict[str, dict[str, Any]]:
    """Name and content of each blend file: one a phase, or one of all tokens when there is no mixture."""
    phases = source.phases()
    if not phases:
        whole = {cell: sum(shard.tokens for shard in shards) for cell, shards in manifest.cells.items()}
        return {"blend.json": _blend(manifest, whole)}
    return {
        f"blend-{phase['name']}.json": _blend(
            manifest, {cell: entry["sequences"] for cell, entry in phase["cells"].items()}
        )
        for phase in phases
    }


def _blend(manifest: TokensManifest, amounts: dict[str, int]) -> dict[str, Any]:
    """A cell's amount is spread over its shards by their tokens; what is 0 stays out, Megatron refuses it."""
    listed: list[str] = []
    for cell, shard, _, tokens in shards_of(manifest):
        amount = amounts.get(cell, 0)
        if amount:
            whole = sum(entry.tokens for entry in manifest.cells[cell])
            listed += [repr(amount * tokens / whole), f"{cell}/{shard_name(shard)}"]
    return {"train": listed, "valid": None, "test": None}
