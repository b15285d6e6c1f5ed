"""Files that are one document each, read as a whole: text, HTML and source code share this."""

from __future__ import annotations

from collections import Counter

from tonnage.sources.batches import EMPTY_FILES, Reject
from tonnage.sources.containers import PLAIN, Damaged, container_of, raw_chunks, unpacked
from tonnage.sources.damage import damaged
from tonnage.sources.fields import TOO_LARGE
from tonnage.sources.listing import Piece, size_of
from tonnage.sources.spec import SourceSpec
from tonnage.store.schema import RAW_LIMIT

WHOLE = 0  # the position of a document that is a whole file


def read_whole(spec: SourceSpec, piece: Piece, notes: Counter[str], *, unpack: bool = True) -> bytes | Reject | None:
    """The content of a file, unpacked when it is a container; a reject for a damaged or too large one.

    None for an empty file: it holds no row. No more than `max_document_bytes` are held in memory.
    """
    size = size_of(piece.path)
    container = PLAIN
    content = 0
    try:
        if unpack:
            container = container_of(piece.path, size)
        if container == PLAIN and size > spec.max_document_bytes:
            return _too_large(spec, piece, f"{size:,}", b"".join(raw_chunks(piece.path, 0, min(size, RAW_LIMIT))))
        parts = []
        for chunk in unpacked(piece.path, size, container):
            parts.append(chunk)
            content += len(chunk)
            if content > spec.max_document_bytes:
                return _too_large(spec, piece, "more than " + f"{spec.max_document_bytes:,}", parts[0][:RAW_LIMIT])
    except Damaged as damage:
        return damaged(spec, piece, damage, notes, records=0, content=content)
    if not content:
        notes[EMPTY_FILES] += 1
        return None
    return b"".join(parts)


def _too_large(spec: SourceSpec, piece: Piece, size: str, head: bytes) -> Reject:
    detail = f"the file has {size} bytes, max_document_bytes is {spec.max_document_bytes:,}"
    return Reject(piece.name, WHOLE, TOO_LARGE, detail, None, head)
