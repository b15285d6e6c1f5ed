"""Records of any reader as batches in the store's schemas: texts normalized, ids computed, every row counted.

Readers yield `Document` and `Reject`; what a record is, and why it is rejected, is theirs to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
import xxhash

from tonnage.kernels.normalize import normalize
from tonnage.store.arrow_text import buffers, from_buffers
from tonnage.store.schema import DOCUMENTS, RAW_LIMIT, REJECTS

BATCH_BYTES = 8 << 20  # of text, metadata and raw rejects; one document more may pass it
BATCH_ROWS = 1 << 16
NOT_TEXT = "not-text"  # reasons that begin so are files that hold no text: counted, but no fault of the input

# Names of counts beside rows, documents and rejects.
DAMAGED_FILES = "damaged_files"
SILENT_FILES = "silent_files"
EMPTY_FILES = "empty_files"
SURROGATES = "replaced_surrogates"
NON_FINITE = "non_finite_numbers"
UNDECODED = "undecoded_characters"


class Document(NamedTuple):
    """One document as read; fields as in store.schema.DOCUMENTS."""

    text: str
    file: str
    position: int
    source_id: str | None = None
    url: str | None = None
    license: str | None = None
    timestamp: str | None = None
    code_language: str | None = None
    metadata: str | None = None


class Reject(NamedTuple):
    """One record that could not become a document; fields as in store.schema.REJECTS."""

    file: str
    position: int
    reason: str
    detail: str | None = None
    offset: int | None = None
    raw: bytes | None = None


Record = Document | Reject


@dataclass(frozen=True)
class ReadBatch:
    """`documents` and `rejects` in the store's schemas; counts["rows"] = counts["documents"] + counts["rejects"].

    Other counts: `not_text` of the rejects are files without text; `rejected_REASON` says how many fell for which
    reason; `crlf` line ends made LF, `runs_cut` runs of white space cut, `replaced_surrogates` lone halves made U+FFFD,
    `non_finite_numbers`, `undecoded_characters`, `damaged_files`, `silent_files`, `empty_files`.
    """

    documents: pa.RecordBatch
    rejects: pa.RecordBatch
    counts: dict[str, int]


def in_batches(records: Iterable[Record], notes: Counter[str]) -> Iterator[ReadBatch]:
    """`records` in order, in batches of bounded size. `notes` is what readers count; it is emptied into each batch."""
    documents: list[Document] = []
    rejects: list[Reject] = []
    size = 0
    for record in records:
        if type(record) is Document:
            documents.append(record)
            size += len(record.text) + len(record.metadata or "")
        else:
            assert type(record) is Reject
            rejects.append(record)
            size += len(record.raw or b"")
        if size >= BATCH_BYTES or len(documents) + len(rejects) >= BATCH_ROWS:
            yield _batch(documents, rejects, notes)
            documents, rejects, size = [], [], 0
            notes.clear()
    if documents or rejects or notes:
        yield _batch(documents, rejects, notes)
        notes.clear()


def _batch(documents: list[Document], rejects: list[Reject], notes: Counter[str]) -> ReadBatch:
    counts = Counter(notes)
    documents_batch = _documents(documents, counts)
    for reject in rejects:
        counts[f"rejected_{reject.reason.replace('-', '_')}"] += 1
        counts["not_text"] += reject.reason.startswith(NOT_TEXT)
    totals = {"rows": len(documents) + len(rejects), "documents": len(documents), "rejects": len(rejects)}
    return ReadBatch(documents_batch, _rejects(rejects), totals | {name: each for name, each in counts.items() if each})


def _documents(documents: list[Document], counts: Counter[str]) -> pa.RecordBatch:
    if not documents:
        return _empty(DOCUMENTS)
    columns = dict(zip(Document._fields, zip(*documents, strict=True), strict=True))
    data, offsets = buffers(pa.array(columns["text"], pa.large_string()))
    normalized = normalize(data, offsets)
    counts["crlf"] += int(normalized.carriage_returns.sum())
    counts["runs_cut"] += int(normalized.runs_cut.sum())
    view = memoryview(normalized.data.data)
    bounds = normalized.offsets.tolist()
    ids = [xxhash.xxh3_128_hexdigest(view[start:end]) for start, end in pairwise(bounds)]
    arrays = [
        pa.array(ids, pa.string()),
        from_buffers(normalized.data, normalized.offsets),
        *(pa.array(columns[field.name], field.type) for field in DOCUMENTS if field.name not in ("id", "text")),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=DOCUMENTS)


def _rejects(rejects: list[Reject]) -> pa.RecordBatch:
    if not rejects:
        return _empty(REJECTS)
    columns = dict(zip(Reject._fields, zip(*rejects, strict=True), strict=True))
    columns["raw"] = tuple(None if raw is None else raw[:RAW_LIMIT] for raw in columns["raw"])
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in REJECTS], schema=REJECTS)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
