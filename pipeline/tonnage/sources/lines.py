"""Lines of a file, split on LF and nothing else, with their physical numbers; parts of a file by byte range.

A line belongs to the range in which it begins, so that ranges side by side give every line exactly once. Lines come in
blocks of many, and a line over a limit comes as a `LongLine` that never was in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tonnage.sources.containers import CHUNK_BYTES, raw_chunks
from tonnage.store.files import stamp_of
from tonnage.store.schema import RAW_LIMIT


class Block(NamedTuple):
    """Whole lines, each with its LF but perhaps the last of a file. `line` is the number of the first, from 1."""

    data: bytes
    line: int
    offset: int


class LongLine(NamedTuple):
    """A line of more than the limit: its number, byte offset, length without LF, and first bytes."""

    line: int
    offset: int
    length: int
    head: bytes


def blocks(
    chunks: Iterable[bytes], limit: int, *, line: int = 1, offset: int = 0, stop: int | None = None
) -> Iterator[Block | LongLine]:
    """The lines of `chunks`, whose first byte is at `offset` and begins line number `line`.

    Lines that begin at byte `stop` or later are left out. A line is kept together up to `limit` bytes, and is a
    LongLine beyond; shorter chunks may still hold lines over the limit within a block.
    """
    splitter = _Splitter(limit, line, offset)
    for chunk in chunks:
        begin = splitter.position
        if stop is None or begin + len(chunk) < stop:
            yield from splitter.add(chunk)
            continue
        # The last line to give is the one that holds the byte before `stop`.
        end = chunk.find(b"\n", max(stop - 1 - begin, 0)) + 1
        yield from splitter.add(chunk[:end] if end else chunk)
        if end:
            break
    yield from splitter.finish()


class _Splitter:
    """Takes chunks, gives blocks. An unfinished line waits in parts, so that a long one is never copied twice."""

    def __init__(self, limit: int, line: int, offset: int) -> None:
        self._limit = limit
        self._line = line
        self._begin = offset
        self._parts: list[bytes] = []
        self._waiting = 0
        self._head: bytes | None = None

    @property
    def position(self) -> int:
        """The offset behind all that was added."""
        return self._begin + self._waiting

    def add(self, chunk: bytes) -> Iterator[Block | LongLine]:
        if self._head is not None:
            end = chunk.find(b"\n") + 1
            self._waiting += end or len(chunk)
            if not end:
                return
            yield self._long_line(self._waiting - 1)
            chunk = chunk[end:]
        end = chunk.rfind(b"\n") + 1
        if end:
            self._parts.append(chunk[:end])
            yield self._block()
        if end < len(chunk):
            self._parts.append(chunk[end:])
            self._waiting += len(chunk) - end
            if self._waiting > self._limit:
                self._head = b"".join(self._parts)[:RAW_LIMIT]
                self._parts = []

    def finish(self) -> Iterator[Block | LongLine]:
        if self._head is not None:
            yield self._long_line(self._waiting)
        elif self._parts:
            yield self._block()

    def _block(self) -> Block:
        data = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        block = Block(data, self._line, self._begin)
        self._line += data.count(b"\n")
        self._begin += len(data)
        self._parts, self._waiting = [], 0
        return block

    def _long_line(self, length: int) -> LongLine:
        assert self._head is not None
        found = LongLine(self._line, self._begin, length, self._head)
        self._line += 1
        self._begin += self._waiting
        self._head, self._waiting = None, 0
        return found


def range_blocks(path: str, size: int, start: int, end: int, limit: int) -> Iterator[Block | LongLine]:
    """The lines of a plain file of `size` bytes that begin in [start, end), with their numbers in the file."""
    first = start if start == 0 else _next_line(path, size, start)
    if first < min(end, size):
        line = 1 + (_lines_before(path, size, first) if first else 0)
        yield from blocks(raw_chunks(path, first, size, CHUNK_BYTES), limit, line=line, offset=first, stop=end)


def _next_line(path: str, size: int, start: int) -> int:
    """Where the first line that begins at `start` or later begins; `size` when there is none."""
    position = start - 1
    for chunk in raw_chunks(path, start - 1, size, CHUNK_BYTES):
        found = chunk.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(chunk)
    return size


class _Counted(NamedTuple):
    offset: int
    lines: int


# How far the lines of a file were counted by this process. A worker that takes the ranges of one file in order counts
# every byte once instead of once a range; the numbers are the same without it.
_COUNTED: dict[tuple[str, int, str], _Counted] = {}
_COUNTED_FILES = 64


def _lines_before(path: str, size: int, offset: int) -> int:
    """The number of LF in the bytes [0, offset) of a file."""
    key = (path, size, _stamp(path))
    known = _COUNTED.get(key, _Counted(0, 0))
    if known.offset > offset:
        known = _Counted(0, 0)
    lines = known.lines
    for chunk in raw_chunks(path, known.offset, offset, CHUNK_BYTES):
        lines += chunk.count(b"\n")
    if len(_COUNTED) >= _COUNTED_FILES and key not in _COUNTED:
        _COUNTED.clear()
    _COUNTED[key] = _Counted(offset, lines)
    return lines


def _stamp(path: str) -> str:
    found = stamp_of(path)
    return "" if found is None else found[1]
