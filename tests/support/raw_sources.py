"""Raw input written and read back in one line, for the tests of sources."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from tonnage.sources import read_task
from tonnage.sources.listing import list_files, plan_tasks
from tonnage.sources.spec import SourceSpec
from tonnage.store.schema import DOCUMENTS, REJECTS

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@dataclass(frozen=True)
class Found:
    """Everything that was read of a source, in order."""

    documents: list[dict[str, Any]]
    rejects: list[dict[str, Any]]
    counts: Counter[str]

    @property
    def texts(self) -> list[str]:
        return [document["text"] for document in self.documents]

    @property
    def reasons(self) -> list[tuple[int, str]]:
        return [(reject["position"], reject["reason"]) for reject in self.rejects]


def spec_for(kind: str, *paths: Path | str, **options: Any) -> SourceSpec:
    return SourceSpec("raw", kind, tuple(str(path) for path in paths), **options)


def read(spec: SourceSpec) -> Found:
    """Reads all tasks of a source; schemas and the balance of every batch are checked on the way."""
    documents: list[dict[str, Any]] = []
    rejects: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for task in plan_tasks(spec, list_files(spec).files):
        for batch in read_task(spec, task):
            assert batch.documents.schema == DOCUMENTS and batch.rejects.schema == REJECTS
            assert batch.counts["documents"] == batch.documents.num_rows
            assert batch.counts["rejects"] == batch.rejects.num_rows
            assert batch.counts["rows"] == batch.documents.num_rows + batch.rejects.num_rows
            documents += batch.documents.to_pylist()
            rejects += batch.rejects.to_pylist()
            counts.update(batch.counts)
    return Found(documents, rejects, counts)


def read_file(kind: str, path: Path, content: bytes, **options: Any) -> Found:
    """Writes `content` to `path` and reads that file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return read(spec_for(kind, path, **options))
