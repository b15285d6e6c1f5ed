"""Text files, one document each, in any charset; how it was found is kept in the metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tonnage.sources.batches import Document, Record, Reject
from tonnage.sources.charsets import DETECTED, Decoded, decode_text
from tonnage.sources.listing import Piece
from tonnage.sources.spec import PER_DOCUMENT, UNKNOWN_LICENCE, SourceSpec
from tonnage.sources.values import dumps
from tonnage.sources.whole import WHOLE, read_whole
from tonnage.store.schema import RAW_LIMIT

BINARY = "binary"


def read_text(spec: SourceSpec, piece: Piece, notes: Counter[str]) -> Iterator[Record]:
    """The document of one file. A file with NUL bytes that no charset explains is rejected as binary."""
    data = read_whole(spec, piece, notes)
    if data is None:
        return
    if isinstance(data, Reject):
        yield data
        return
    counted: Counter[str] = Counter()
    decoded = decode_text(data, spec.encoding, counted)
    if is_binary(data, decoded):
        yield Reject(piece.name, WHOLE, BINARY, "it holds NUL bytes and is no UTF-8", None, data[:RAW_LIMIT])
        return
    notes.update(counted)
    yield Document(
        decoded.text,
        piece.name,
        WHOLE,
        license=declared_licence(spec),
        metadata=dumps(charset_facts(decoded)),
    )


def is_binary(data: bytes, decoded: Decoded) -> bool:
    """Whether only a guess stands for the charset of bytes that hold NUL."""
    return decoded.charset.found_by == DETECTED and b"\0" in data


def charset_facts(decoded: Decoded) -> dict[str, str]:
    """What the metadata says of the charset."""
    return {"encoding": decoded.charset.encoding, "encoding_from": decoded.charset.found_by}


def declared_licence(spec: SourceSpec) -> str:
    """The source's licence; files of text and HTML state none of their own that could be read."""
    return UNKNOWN_LICENCE if spec.license == PER_DOCUMENT else spec.license
