"""Bytes of a text or HTML file as Unicode: which charset, who says so, and how much could not be decoded.

The order is always: what the recipe says, a byte order mark, what the file declares, UTF-8, then detection by
resiliparse.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import NamedTuple

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from tonnage.sources.batches import UNDECODED

# Longer marks first: that of UTF-32 begins as that of UTF-16 does.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
HTML_HEAD = 4096  # bytes searched for a declaration; HTML asks for it within 1024, real pages are later
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_.:+-]+)", re.IGNORECASE)
_XML = re.compile(rb"\A\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([A-Za-z0-9_.:+-]+)[\"']")
# PEP 263 and the like: a comment of the first two lines, in the forms that Emacs and Vim read.
_CODING = re.compile(rb"\A(?:[^\n]*\n)?[^\n]*?\b(?:file)?(?:en)?coding[:=][ \t]*([-\w.]+)")

OPTION, MARK, DECLARED, VALID, DETECTED = "recipe", "bom", "declared", "utf-8", "detected"


class Charset(NamedTuple):
    """A charset as a Python codec's name, what says so, and the length of the byte order mark to leave out."""

    encoding: str
    found_by: str
    skip: int = 0


class Decoded(NamedTuple):
    text: str
    charset: Charset


def has_mark(data: bytes) -> bool:
    return data.startswith(tuple(mark for mark, _ in _MARKS))


def decode_text(data: bytes, option: str | None, notes: Counter[str]) -> Decoded:
    """A plain text. Bytes that the charset does not have become U+FFFD and are counted in `notes`."""
    return _decoded(data, _stated(data, option) or _found(data), notes)


def decode_code(data: bytes, option: str | None, notes: Counter[str]) -> Decoded:
    """Source code, which may declare its charset in a comment."""
    return _decoded(data, _stated(data, option) or _declared_in_comment(data) or _found(data), notes)


def decode_html(data: bytes, option: str | None, notes: Counter[str]) -> Decoded:
    """A page, which may declare its charset in a meta element or an XML declaration."""
    return _decoded(data, _stated(data, option) or _declared_in_head(data) or _found(data), notes)


def _stated(data: bytes, option: str | None) -> Charset | None:
    mark = next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), None)
    if option is not None:
        name = codecs.lookup(option).name
        return Charset(name, OPTION, len(mark[0]) if mark is not None and name.startswith(mark[1]) else 0)
    return None if mark is None else Charset(mark[1], MARK, len(mark[0]))


def _declared_in_comment(data: bytes) -> Charset | None:
    found = _CODING.match(data)
    if found is None or _is_utf8(data):
        return None
    try:
        known = codecs.lookup(found.group(1).decode("ascii"))
    except (LookupError, UnicodeDecodeError):
        return None
    return Charset(known.name, DECLARED) if known._is_text_encoding else None


def _declared_in_head(data: bytes) -> Charset | None:
    head = _COMMENT.sub(b"", data[:HTML_HEAD])
    for pattern in (_META, _XML):
        found = pattern.search(head)
        name = None if found is None else map_encoding_to_html5(found.group(1).decode("ascii"), fallback_utf8=False)
        if name is not None:
            # A declaration that could be read as ASCII cannot be UTF-16: HTML takes it for UTF-8.
            name = "utf-8" if name.startswith(("utf-16", "utf-32")) else name
            return Charset(codecs.lookup(name).name, DECLARED)
    return None


def _found(data: bytes) -> Charset:
    if _is_utf8(data):
        return Charset("utf-8", VALID)
    return Charset(codecs.lookup(detect_encoding(data) or "cp1252").name, DETECTED)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, charset: Charset, notes: Counter[str]) -> Decoded:
    body = data[charset.skip :] if charset.skip else data
    try:
        return Decoded(body.decode(charset.encoding), charset)
    except UnicodeDecodeError:
        text = body.decode(charset.encoding, errors="replace")
    notes[UNDECODED] += text.count("\ufffd")
    return Decoded(text, charset)
