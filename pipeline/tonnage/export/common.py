"""What every export shares: its input, its report, its folder, and tokens linked in place of copied.

An export's folder holds `tonnage-export.json`, written last: format, token policy and the list of its files. By that
list a later export into the same folder takes away what the earlier one left. What the formats are is in their modules.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tonnage.errors import UsageError
from tonnage.store.files import (
    exists,
    is_local,
    join,
    local_path,
    names_in,
    open_input,
    read_bytes,
    remove,
    stamp_of,
    write_bytes,
    writing,
)
from tonnage.store.layout import tokens_path
from tonnage.tokenize.writer import TokensManifest, read_manifest

EXPORT_FILE = "tonnage-export.json"
STARTED_FILE = ".tonnage-export-started"
COPY_BLOCK = 16 << 20


@dataclass(frozen=True)
class ExportInput:
    """A run whose tokens are packed: `tokenizer` and `mixture` are paths within `root`, None where there is none."""

    root: str
    tokens_key: str
    tokenizer: str | None = None
    mixture: str | None = None

    def manifest(self) -> TokensManifest:
        return read_manifest(self.root, self.tokens_key)

    def phases(self) -> list[dict[str, Any]]:
        """The phases of mixture.json, empty without a mixture."""
        if self.mixture is None:
            return []
        return list(orjson.loads(read_bytes(join(self.root, self.mixture)))["phases"])


@dataclass(frozen=True)
class Report:
    """What was written: `files` relative to the export's folder, their `bytes`, and notes for the reader."""

    files: tuple[str, ...]
    bytes: int
    notes: tuple[str, ...]


def shards_of(manifest: TokensManifest) -> Iterator[tuple[str, int, int, int]]:
    """(cell, shard, documents, tokens) of every token shard, cells by name."""
    for cell in sorted(manifest.cells):
        for shard in manifest.cells[cell]:
            yield cell, shard.shard, shard.documents, shard.tokens


def start(out: str, files: Sequence[str]) -> None:
    """Makes the folder `out` ready for `files`: takes away what an earlier export left there, finished or not.

    What is there and what will be there is noted before anything changes, and the note goes last, so that an export
    stopped at any moment can be made again in the same place, and nothing of it stays behind.

    Raises UsageError when the folder holds files and no export.
    """
    listing, started = join(out, EXPORT_FILE), join(out, STARTED_FILE)
    if names_in(out) and not exists(listing) and not exists(started):
        raise UsageError(f"{out} holds files that are no export; give an empty or new folder")
    left = [path for note in (listing, started) if exists(note) for path in json.loads(read_bytes(note))["files"]]
    write_bytes(started, orjson.dumps({"files": sorted({*left, *files})}))
    for path in [*left, EXPORT_FILE]:
        remove(join(out, path))


def finish(out: str, form: str, manifest: TokensManifest, files: Sequence[str], notes: Sequence[str]) -> Report:
    """Writes the export's own listing behind all files, and returns its report."""
    facts = {
        "format": form,
        "tokens_key": manifest.key,
        "policy": manifest.policy.to_dict(),
        "files": list(files),
    }
    write_bytes(join(out, EXPORT_FILE), orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")
    remove(join(out, STARTED_FILE))
    everything = (*files, EXPORT_FILE)
    sizes = [stamp_of(join(out, path)) for path in everything]
    return Report(everything, sum(size[0] for size in sizes if size), tuple(notes))


def place_tokens(source: ExportInput, cell: str, shard: int, target: str) -> bool:
    """The token file of one shard as `target`: a hard link where the disk allows one, else a copy; whether it is a
    link.
    """
    origin = join(source.root, tokens_path(source.tokens_key, cell, shard))
    if is_local(origin) and is_local(target):
        final = local_path(target)
        os.makedirs(os.path.dirname(final), exist_ok=True)
        remove(target)
        with contextlib.suppress(OSError):
            os.link(local_path(origin), final)
            return True
    with open_input(origin) as stream, writing(target) as copy:
        while block := stream.read(COPY_BLOCK):
            copy.write(block)
    return False
