"""Compressed files read to their true end: gzip, zstd, bz2 and xz of any number of members, and plain files.

What a file is, its first bytes say; its name only tells what it should be. Memory stays bounded whatever a file unpacks
to. A file that breaks off or does not unpack is `Damaged`, with the byte where; what then happens to it is damage.py's.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import zstandard

from tonnage.errors import WorkFailed
from tonnage.store.files import open_input

PLAIN, GZIP, ZSTD, BZ2, XZ = "plain", "gzip", "zstd", "bz2", "xz"
INPUT_BYTES = 1 << 18
STEP_BYTES = 1 << 14  # given to a decoder at once: files of many tiny members copy what is left of a step a member
CHUNK_BYTES = 1 << 20
ATTEMPTS = 3  # a read that fails is tried again from where it stood: object stores answer with passing errors
HEAD_BYTES = 16

EXTENSIONS = {
    ".gz": GZIP,
    ".gzip": GZIP,
    ".bgz": GZIP,
    ".zst": ZSTD,
    ".zstd": ZSTD,
    ".bz2": BZ2,
    ".xz": XZ,
}

# First bytes: RFC 1952; RFC 8878 (frames and skippable frames); bzip2's header with its block or end mark; .xz format
# 2.1.
_MAGIC = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<zstd>\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)"
    rb"|(?P<bz2>BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90))|(?P<xz>\xfd7zXZ\x00)",
    re.DOTALL,
)
# A zstd block of 4 bytes can unpack to 128 KiB (RFC 8878, 3.1.1.2), so this much input gives at most 128 MiB at once.
_ZSTD_STEP = 1 << 12
_ZSTD_WINDOW = 1 << 31  # zstd --long=31, the largest that its own tool reads


class Damaged(Exception):
    """A container that breaks off or does not unpack: `offset` is the byte of the file, `why` says how."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"{why} at byte {offset}")
        self.offset = offset
        self.why = why


def named_container(path: str) -> str:
    """The container that the file's name promises, PLAIN without such a name."""
    return next((kind for ending, kind in EXTENSIONS.items() if path.lower().endswith(ending)), PLAIN)


def inner_name(path: str) -> str:
    """`path` without the ending of its container."""
    ending = next((ending for ending in EXTENSIONS if path.lower().endswith(ending)), "")
    return path[: len(path) - len(ending)]


def container_of(path: str, size: int) -> str:
    """The container of a file by its first bytes.

    Raises Damaged when its name promises a container that those bytes are not: no such file is taken as plain text.
    """
    if size == 0:
        return PLAIN
    head = next(raw_chunks(path, 0, min(size, HEAD_BYTES)), b"")
    found = _MAGIC.match(head)
    if found is not None and found.lastgroup is not None:
        return found.lastgroup
    promised = named_container(path)
    if promised != PLAIN:
        raise Damaged(0, f"its name says {promised}, its content does not begin as such")
    return PLAIN


def raw_chunks(path: str, start: int, end: int, size: int = INPUT_BYTES) -> Iterator[bytes]:
    """The bytes [start, end) of a file as they lie there, in chunks of exactly `size` bytes but for the last.

    A failed or short read is tried again from where it stood. Raises WorkFailed when that does not help.
    """
    position = start
    stream = open_input(path)
    attempts = 0
    try:
        stream.seek(start)
        while position < end:
            wanted = min(size, end - position)
            try:
                chunk = _read_fully(stream, wanted)
            except OSError as fault:
                why: str = str(fault.strerror or fault)
            else:
                if len(chunk) == wanted:
                    position += wanted
                    attempts = 0
                    yield chunk
                    continue
                why = f"it ended at byte {position + len(chunk)}, {end} were expected"
            attempts += 1
            if attempts == ATTEMPTS:
                raise WorkFailed(f"{path} cannot be read further ({why}); check it and give the same command again")
            stream.close()
            stream = open_input(path)
            stream.seek(position)
    finally:
        stream.close()


def _read_fully(stream, wanted: int) -> bytes:
    block = stream.read(wanted)
    if len(block) == wanted or not block:
        return bytes(block)
    parts = [block]
    missing = wanted - len(block)
    while missing and (block := stream.read(missing)):
        parts.append(block)
        missing -= len(block)
    return b"".join(parts)


def unpacked(path: str, size: int, container: str) -> Iterator[bytes]:
    """The content of a file of `size` bytes, in chunks of about CHUNK_BYTES.

    Raises Damaged after the last chunk that could be unpacked.
    """
    if container == PLAIN:
        yield from raw_chunks(path, 0, size, CHUNK_BYTES)
        return
    parts: list[bytes] = []
    gathered = 0
    try:
        for part in _unpack(raw_chunks(path, 0, size), container):
            parts.append(part)
            gathered += len(part)
            if gathered >= CHUNK_BYTES:
                yield b"".join(parts)
                parts, gathered = [], 0
    except Damaged:
        if gathered:
            yield b"".join(parts)
        raise
    if gathered:
        yield b"".join(parts)


class _Decoder(Protocol):
    """Unpacks one member. After `feed` is exhausted, `rest` is what of the data lies behind the member's end."""

    ended: bool
    rest: bytes

    def feed(self, data: bytes) -> Iterator[bytes]: ...


def _unpack(chunks: Iterator[bytes], container: str) -> Iterator[bytes]:
    decoder: _Decoder | None = None
    offset = 0
    members = 0
    for step in (chunk[start : start + STEP_BYTES] for chunk in chunks for start in range(0, len(chunk), STEP_BYTES)):
        data = step
        while data:
            if decoder is None:
                # Padding with zeros, as tapes and block devices leave it, is not content.
                data = data.lstrip(b"\0") if members else data
                if not data:
                    break
                decoder = _DECODERS[container]()
            begin = offset + len(step) - len(data)
            try:
                yield from decoder.feed(data)
            except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError) as fault:
                raise Damaged(begin, _describe(fault, container, members)) from fault
            data = b""
            if decoder.ended:
                members += 1
                data, decoder = decoder.rest, None
        offset += len(step)
    if decoder is not None:
        raise Damaged(offset, f"its {container} data breaks off")


def _describe(fault: Exception, container: str, members: int) -> str:
    text = " ".join(str(fault).split())
    after = f" after {members} whole members" if members else ""
    return f"its {container} data does not unpack{after} ({text})"


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self.ended = False
        self.rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            part = self._inner.decompress(data, CHUNK_BYTES)
            if part:
                yield part
            data = self._inner.unconsumed_tail
            if self._inner.eof or (not data and len(part) < CHUNK_BYTES):
                break
        self.ended, self.rest = self._inner.eof, self._inner.unused_data


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        self.ended = False
        self.rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZSTD_STEP):
            part = self._inner.decompress(data[start : start + _ZSTD_STEP])
            if part:
                yield part
            if self._inner.eof:
                self.ended, self.rest = True, self._inner.unused_data + data[start + _ZSTD_STEP :]
                break


class _Blocks:
    """bz2 and lzma have the same interface in the standard library."""

    def __init__(self, inner: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._inner = inner
        self.ended = False
        self.rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            part = self._inner.decompress(data, CHUNK_BYTES)
            if part:
                yield part
            data = b""
            if self._inner.eof or self._inner.needs_input:
                break
        self.ended, self.rest = self._inner.eof, self._inner.unused_data if self._inner.eof else b""


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    GZIP: _Gzip,
    ZSTD: _Zstd,
    BZ2: lambda: _Blocks(bz2.BZ2Decompressor()),
    XZ: lambda: _Blocks(lzma.LZMADecompressor(lzma.FORMAT_XZ)),
}
