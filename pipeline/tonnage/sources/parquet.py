"""Parquet: rows as records, in batches of bounded size, by row groups; a row group is read where it begins.

All columns but those that the recipe names go into the metadata, with the same JSON text as the rows would have in
JSONL. A row that cannot be a document is rejected with its number, counted from 0 in the file.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tonnage.errors import WorkFailed
from tonnage.sources.batches import EMPTY_FILES, SILENT_FILES, Record, Reject
from tonnage.sources.containers import Damaged
from tonnage.sources.damage import FAIL, KEEP, damaged
from tonnage.sources.fields import BAD_UTF8, Fields, Refused
from tonnage.sources.jsonl import NO_RECORDS
from tonnage.sources.listing import Piece, size_of
from tonnage.sources.parquet_values import records, values_of
from tonnage.sources.spec import SourceSpec
from tonnage.sources.values import dumps
from tonnage.store.files import open_input, stamp_of
from tonnage.store.schema import RAW_LIMIT

BATCH_BYTES = 4 << 20  # of uncompressed column data, by the row group's average
BATCH_ROWS = 4096
BUFFER_BYTES = 1 << 20


class _RowGroup(NamedTuple):
    number: int
    offset: int  # of its first byte in the file
    first_row: int
    rows: int
    batch_rows: int


class _Fault(NamedTuple):
    """The first row group of a file that cannot be read, the rows before it, and why."""

    group: int
    rows: int
    damage: Damaged


def read_parquet(spec: SourceSpec, piece: Piece, notes: Counter[str]) -> Iterator[Record]:
    """The rows of those row groups that begin within the piece's byte range.

    Damage is found before any row is given, for whole files: with skip-file no row of a damaged file becomes a document
    in any task, with keep-prefix those of the row groups before the damage do.
    """
    size = size_of(piece.path)
    if size == 0:
        notes[EMPTY_FILES] += 1
        return
    fault = None if spec.on_damaged == FAIL else first_fault(piece.path, size)
    if fault is not None and piece.start == 0:
        yield damaged(spec, piece, fault.damage, notes, records=fault.rows)
    if fault is not None and (spec.on_damaged != KEEP or fault.group == 0):
        return
    try:
        with _opened(piece.path) as file:
            groups = _row_groups(file)
            if not any(group.rows for group in groups):
                if piece.start == 0:
                    notes[SILENT_FILES] += 1
                    yield Reject(piece.name, 0, NO_RECORDS, f"a Parquet file of {size:,} bytes without rows")
                return
            for group in groups if fault is None else groups[: fault.group]:
                if piece.start <= group.offset < piece.end:
                    yield from _read_group(spec, piece, file, group, notes)
    except _FAULTS as found:
        if spec.on_damaged == FAIL:
            damaged(spec, piece, _damage(found, 0), notes, records=0)
        raise WorkFailed(f"{piece.path} changed while it was read ({found}); give the same command again") from found


_FAULTS = (pa.ArrowInvalid, pa.ArrowIndexError, pa.ArrowNotImplementedError, OSError, EOFError)


def _damage(fault: Exception, offset: int) -> Damaged:
    text = " ".join(str(fault).split())
    return Damaged(offset, f"it cannot be read as Parquet ({text[:300]})")


@contextlib.contextmanager
def _opened(path: str) -> Iterator[pq.ParquetFile]:
    with open_input(path) as stream:
        yield pq.ParquetFile(stream, pre_buffer=False, buffer_size=BUFFER_BYTES)


def _row_groups(file: pq.ParquetFile) -> list[_RowGroup]:
    groups = []
    first_row = 0
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        offsets = [
            offset
            for column in (group.column(each) for each in range(group.num_columns))
            for offset in (column.dictionary_page_offset, column.data_page_offset)
            if offset is not None
        ]
        average = group.total_byte_size / max(1, group.num_rows)
        batch_rows = int(min(BATCH_ROWS, max(1, BATCH_BYTES / max(1.0, average))))
        groups.append(_RowGroup(index, min(offsets, default=0), first_row, group.num_rows, batch_rows))
        first_row += group.num_rows
    return groups


def _read_group(
    spec: SourceSpec, piece: Piece, file: pq.ParquetFile, group: _RowGroup, notes: Counter[str]
) -> Iterator[Record]:
    fields = Fields(spec)
    row = group.first_row
    for batch in _batches(file, group):
        columns = [values_of(column, notes) for column in batch.columns]
        for record in records(batch.schema.names, columns, batch.num_rows):
            try:
                yield fields.document(record, piece.name, row)
            except Refused as refusal:
                raw = _raw(record, refusal)
                yield Reject(piece.name, row, refusal.reason, refusal.detail, None, raw)
            row += 1


def _batches(file: pq.ParquetFile, group: _RowGroup) -> Iterator[pa.RecordBatch]:
    return file.iter_batches(batch_size=group.batch_rows, row_groups=[group.number], use_threads=False)


def _raw(record: dict, refusal: Refused) -> bytes:
    """The beginning of a rejected row: as JSON, or as the bytes that are no text."""
    if refusal.reason == BAD_UTF8:
        held = next((value for value in record.values() if isinstance(value, bytes)), b"")
        if held:
            return bytes(held[:RAW_LIMIT])
    return dumps(record).encode()[:RAW_LIMIT]


# What this process found of files by path, size and stamp: a file that is cut into many tasks is checked once a worker.
_CHECKED: dict[tuple[str, int, str], _Fault | None] = {}
_CHECKED_FILES = 1024


def first_fault(path: str, size: int) -> _Fault | None:
    """The first thing of a Parquet file that cannot be read, None for a sound one: every page of it is decoded."""
    stamp = stamp_of(path)
    key = (path, size, "" if stamp is None else stamp[1])
    if key not in _CHECKED:
        if len(_CHECKED) >= _CHECKED_FILES:
            _CHECKED.clear()
        _CHECKED[key] = _check(path, size)
    return _CHECKED[key]


def _check(path: str, size: int) -> _Fault | None:
    group = _RowGroup(0, 0, 0, 0, 1)
    opened = False
    try:
        with _opened(path) as file:
            opened = True
            for group in _row_groups(file):
                rows = sum(batch.num_rows for batch in _batches(file, group))
                if rows != group.rows:
                    raise pa.ArrowInvalid(f"row group {group.number} holds {rows} rows instead of {group.rows}")
    except _FAULTS as fault:
        return _Fault(group.number, group.first_row, _damage(fault, group.offset if opened else size))
    return None
