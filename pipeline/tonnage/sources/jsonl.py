"""JSON Lines: one object a line, split on LF only, every bad line rejected with its number, reason and first bytes.

orjson parses; lines in which it would lose something (long integers, repeated names), and lines it refuses, are parsed
again with care. BOM, CRLF and blank lines are tolerated; blank lines are no rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from tonnage.kernels.json_lines import scan_json_lines
from tonnage.sources.batches import EMPTY_FILES, SILENT_FILES, Record, Reject
from tonnage.sources.containers import CHUNK_BYTES, PLAIN, Damaged, container_of, raw_chunks, unpacked
from tonnage.sources.damage import damaged, guarded
from tonnage.sources.fields import BAD_UTF8, TOO_LARGE, Fields, Refused
from tonnage.sources.lines import Block, LongLine, blocks, range_blocks
from tonnage.sources.listing import Piece, size_of
from tonnage.sources.spec import SourceSpec
from tonnage.sources.values import MAX_DEPTH, loads_exactly, member_count
from tonnage.store.schema import RAW_LIMIT

BAD_JSON = "bad-json"
NOT_AN_OBJECT = "not-an-object"
NO_RECORDS = "no-records"
BOM = b"\xef\xbb\xbf"


def read_jsonl(spec: SourceSpec, piece: Piece, notes: Counter[str]) -> Iterator[Record]:
    """The records of one file, or of those lines of it that begin within the piece's byte range."""
    size = size_of(piece.path)
    try:
        container = container_of(piece.path, size)
    except Damaged as damage:
        if piece.start == 0:
            yield damaged(spec, piece, damage, notes, records=0)
        return
    if container == PLAIN:
        yield from _read_range(spec, piece, size, notes)
    elif piece.start == 0:
        yield from _read_container(spec, piece, size, container, notes)


def _read_range(spec: SourceSpec, piece: Piece, size: int, notes: Counter[str]) -> Iterator[Record]:
    seen = False
    for record in _Lines(spec, piece.name, notes).records(
        range_blocks(piece.path, size, piece.start, piece.end, spec.max_document_bytes)
    ):
        seen = True
        yield record
    if piece.start == 0 and not seen:
        if size == 0:
            notes[EMPTY_FILES] += 1
        elif not any(chunk.strip() for chunk in raw_chunks(piece.path, min(piece.end, size), size, CHUNK_BYTES)):
            yield _silent(piece.name, size, notes)


def _read_container(spec: SourceSpec, piece: Piece, size: int, container: str, notes: Counter[str]) -> Iterator[Record]:
    content = _Content(piece.path, size, container)

    def records() -> Iterator[Record]:
        return _Lines(spec, piece.name, notes).records(blocks(content.chunks(), spec.max_document_bytes))

    seen = False
    for record in guarded(spec, piece, notes, container, size, records, lambda: content.whole_records(spec)):
        seen = True
        yield record
    if not seen and content.bytes:
        yield _silent(piece.name, content.bytes, notes)
    elif not seen:
        notes[EMPTY_FILES] += 1


class _Content:
    """What a compressed file unpacks to; `bytes` counts what was given out."""

    def __init__(self, path: str, size: int, container: str) -> None:
        self._place = (path, size, container)
        self.bytes = 0

    def chunks(self) -> Iterator[bytes]:
        self.bytes = 0
        for chunk in unpacked(*self._place):
            self.bytes += len(chunk)
            yield chunk

    def whole_records(self, spec: SourceSpec) -> int:
        """The number of lines that are not blank and wholly there before the damage."""
        count = 0
        try:
            for block in blocks(self.chunks(), spec.max_document_bytes):
                count += (
                    1 if isinstance(block, LongLine) else sum(1 for each in block.data.split(b"\n") if each.strip())
                )
        except Damaged:
            pass
        return count


def _silent(file: str, size: int, notes: Counter[str]) -> Reject:
    notes[SILENT_FILES] += 1
    return Reject(file, 0, NO_RECORDS, f"{size:,} bytes hold no record at all")


class _Lines:
    """Parses lines into documents and rejects."""

    def __init__(self, spec: SourceSpec, file: str, notes: Counter[str]) -> None:
        self._fields = Fields(spec)
        self._limit = spec.max_document_bytes
        self._file = file
        self._notes = notes

    def records(self, found: Iterator[Block | LongLine]) -> Iterator[Record]:
        for block in found:
            if isinstance(block, LongLine):
                yield self._too_large(block.line, block.offset, block.length, block.head)
            else:
                yield from self._block(block)

    def _block(self, block: Block) -> Iterator[Record]:
        lines = block.data.split(b"\n")
        facts = scan_json_lines(np.frombuffer(block.data, np.uint8), len(lines))
        offset = block.offset
        rows = zip(lines, facts.members.tolist(), facts.depth.tolist(), facts.long_number.tolist(), strict=True)
        for number, (line, members, depth, long_number) in enumerate(rows, block.line):
            if line and not line.isspace():
                if len(line) > self._limit:
                    yield self._too_large(number, offset, len(line), line)
                else:
                    yield self._record(line, members, depth, long_number, number, offset)
            offset += len(line) + 1

    def _record(self, line: bytes, members: int, depth: int, long_number: bool, number: int, offset: int) -> Record:
        try:
            value = self._parse(line, members, depth, long_number)
            if not isinstance(value, dict):
                raise Refused(NOT_AN_OBJECT, "the line holds JSON, but no object")
            return self._fields.document(value, self._file, number)
        except Refused as refusal:
            return Reject(self._file, number, refusal.reason, refusal.detail, offset, line[:RAW_LIMIT])

    def _parse(self, line: bytes, members: int, depth: int, long_number: bool) -> Any:
        if depth > MAX_DEPTH:
            raise Refused(BAD_JSON, f"nested {depth} deep, at most {MAX_DEPTH} is read")
        if not long_number:
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                pass
            else:
                if member_count(value) == members:
                    return value
        notes: Counter[str] = Counter()
        try:
            value = loads_exactly(line.removeprefix(BOM).decode(), notes)
        except UnicodeDecodeError as fault:
            raise Refused(BAD_UTF8, f"{fault.reason} at byte {fault.start} of the line") from fault
        except (ValueError, RecursionError) as fault:
            raise Refused(BAD_JSON, str(fault)) from fault
        self._notes.update(notes)
        return value

    def _too_large(self, line: int, offset: int, length: int, head: bytes) -> Reject:
        detail = f"the line has {length:,} bytes, max_document_bytes is {self._limit:,}"
        return Reject(self._file, line, TOO_LARGE, detail, offset, head[:RAW_LIMIT])
