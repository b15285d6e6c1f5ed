"""HTML files, one document each: the main content as plain text, title and charset kept in the metadata.

Extraction is resiliparse's. A page without main content is a document with empty text, so that it is counted and seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from tonnage.kernels.html_depth import may_be_deeper
from tonnage.sources.batches import Document, Record, Reject
from tonnage.sources.charsets import decode_html
from tonnage.sources.listing import Piece
from tonnage.sources.spec import SourceSpec
from tonnage.sources.text import BINARY, charset_facts, declared_licence, is_binary
from tonnage.sources.values import dumps, mended
from tonnage.sources.whole import WHOLE, read_whole
from tonnage.store.schema import RAW_LIMIT

FAILED = "extraction-failed"
# Extraction takes time by the square of the depth (0.02 s at 1,000, 10 s at 20,000). Browsers show no more than 512
# levels.
MAX_DEPTH = 1000


def read_html(spec: SourceSpec, piece: Piece, notes: Counter[str]) -> Iterator[Record]:
    """The document of one page; a page that cannot be extracted is a reject, never an exception."""
    data = read_whole(spec, piece, notes)
    if data is None:
        return
    if isinstance(data, Reject):
        yield data
        return
    counted: Counter[str] = Counter()
    decoded = decode_html(data, spec.encoding, counted)
    if is_binary(data, decoded):
        yield Reject(piece.name, WHOLE, BINARY, "it holds NUL bytes and is no UTF-8", None, data[:RAW_LIMIT])
        return
    try:
        title, text = extract(decoded.text)
    except Exception as fault:  # whatever a parser of foreign pages may raise must not end the task
        detail = f"{type(fault).__name__}: {fault}"[:1000]
        yield Reject(piece.name, WHOLE, FAILED, detail, None, data[:RAW_LIMIT])
        return
    facts = charset_facts(decoded)
    if title:
        facts["title"] = mended(title, counted)
    notes.update(counted)
    yield Document(mended(text, counted), piece.name, WHOLE, license=declared_licence(spec), metadata=dumps(facts))


def extract(page: str) -> tuple[str | None, str]:
    """(title, main content as plain text) of a page. Raises ValueError when it is nested too deeply to be extracted."""
    tree = HTMLTree.parse(page)
    data = np.frombuffer(page.encode(errors="replace"), np.uint8)
    if may_be_deeper(data, MAX_DEPTH) and _is_deep(tree):
        raise ValueError(f"elements nested more than {MAX_DEPTH} deep")
    title = tree.title
    text = extract_plain_text(tree, main_content=True)
    return (" ".join(title.split()) if title else None), text or ""


def _is_deep(tree: HTMLTree) -> bool:
    """Whether an element lies deeper than MAX_DEPTH. Slow beside extraction, so asked only of pages that may be."""
    node: Any = tree.document
    depth = 0
    while node is not None and depth <= MAX_DEPTH:
        child = node.first_child
        if child is not None:
            node, depth = child, depth + 1
            continue
        while node is not None and node.next_sibling is None:
            node, depth = node.parent, depth - 1
        node = None if node is None else node.next_sibling
    return depth > MAX_DEPTH
