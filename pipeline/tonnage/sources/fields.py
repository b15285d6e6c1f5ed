"""From a record's fields to a document: text or template, id, URL, date, licence; all else as JSON text in `metadata`.

Fields are found by name, or by a path with dots into nested objects; a field of exactly that name comes first. A value
that does not fit its column stays in the metadata, so nothing is lost. Readers bring records and reject what is
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tonnage.sources.batches import Document
from tonnage.sources.spec import PER_DOCUMENT, UNKNOWN_LICENCE, SourceSpec, template_parts
from tonnage.sources.values import Literal, RawBytes, Repeats, dumps

NO_TEXT = "no-text"
NOT_A_STRING = "text-not-string"
REPEATED = "repeated-field"
BAD_UTF8 = "invalid-utf8"
TOO_LARGE = "too-large"


class Refused(Exception):
    """A record that cannot become a document, with the reason and a detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class _Missing:
    pass


MISSING = _Missing()


class Field(NamedTuple):
    """A field's name, and its path into nested objects when that name has dots."""

    name: str
    path: tuple[str, ...]

    @staticmethod
    def of(name: str) -> Field:
        return Field(name, tuple(name.split(".")) if "." in name else ())

    def holder(self, record: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
        """The object within `record` that has the field, and its name there; None when it is missing."""
        if self.name in record:
            return record, self.name
        inner: Any = record
        for part in self.path[:-1]:
            inner = inner.get(part) if isinstance(inner, dict) else None
        if self.path and isinstance(inner, dict) and self.path[-1] in inner:
            return inner, self.path[-1]
        return None

    def get(self, record: dict[str, Any]) -> Any:
        held = self.holder(record)
        return MISSING if held is None else held[0][held[1]]

    def take(self, record: dict[str, Any], convert: Callable[[Any], str | None]) -> str | None:
        """The field as text, taken out of the record; left in when its value does not convert. Null is as missing."""
        if not self.path:
            value = record.pop(self.name, None)
            text = convert(value)
            if text is None and value is not None:
                record[self.name] = value
            return text
        held = self.holder(record)
        return None if held is None else Field(held[1], ()).take(held[0], convert)


class Fields:
    """Makes documents of the records of one source."""

    def __init__(self, spec: SourceSpec) -> None:
        parts = template_parts(spec.template) if spec.template is not None else (("", spec.text),)
        self._parts = tuple((literal, None if name is None else Field.of(name)) for literal, name in parts)
        by_document = spec.license == PER_DOCUMENT
        licence_field = spec.license_field if by_document else None
        self._id, self._url, self._timestamp, self._licence = (
            None if name is None else Field.of(name) for name in (spec.id, spec.url, spec.timestamp, licence_field)
        )
        self._licence_default = UNKNOWN_LICENCE if by_document else spec.license
        self._limit = spec.max_document_bytes

    def document(self, record: dict[str, Any], file: str, position: int) -> Document:
        """`record` as a document; its fields are taken out of it. Raises Refused when it holds no usable text."""
        text = self._text(record)
        source_id = None if self._id is None else self._id.take(record, _scalar_text)
        url = None if self._url is None else self._url.take(record, _plain_text)
        timestamp = None if self._timestamp is None else self._timestamp.take(record, _scalar_text)
        licence = None if self._licence is None else self._licence.take(record, _licence_text)
        metadata = dumps(record) if record else None
        return Document(
            text, file, position, source_id, url, licence or self._licence_default, timestamp, None, metadata
        )

    def _text(self, record: dict[str, Any]) -> str:
        """The text, its fields taken out of the record; none is when it is refused."""
        texts = [
            (literal, "" if field is None else _string(field.get(record), field.name)) for literal, field in self._parts
        ]
        text = texts[0][1] if len(texts) == 1 and not texts[0][0] else "".join(map("".join, texts))
        if len(text) * 4 > self._limit and len(text.encode()) > self._limit:
            raise Refused(
                TOO_LARGE, f"its text has {len(text.encode()):,} bytes, max_document_bytes is {self._limit:,}"
            )
        for _, field in self._parts:
            held = None if field is None else field.holder(record)
            if held is not None:
                del held[0][held[1]]
        return text


def _string(value: Any, name: str) -> str:
    if type(value) is str:
        return value
    if value is MISSING or value is None:
        raise Refused(NO_TEXT, f"field {name} is {'missing' if value is MISSING else 'null'}")
    if isinstance(value, Repeats):
        raise Refused(REPEATED, f"field {name} occurs {len(value)} times")
    if isinstance(value, RawBytes):
        raise Refused(BAD_UTF8, f"field {name} is no valid UTF-8")
    raise Refused(NOT_A_STRING, f"field {name} holds {_kind(value)}, not a string")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float | Literal):
        return "a number"
    return "an array" if isinstance(value, list) else "an object"


def _plain_text(value: Any) -> str | None:
    return value if type(value) is str else None


def _scalar_text(value: Any) -> str | None:
    """Strings and numbers as text, numbers with all their digits."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    if isinstance(value, Literal):
        return str(value)
    if type(value) is float:
        return dumps(value)
    return None


def _licence_text(value: Any) -> str | None:
    """A licence, or all of a list of licences."""
    if type(value) is str:
        return value
    if type(value) is list and value and all(type(each) is str for each in value):
        return value[0] if len(value) == 1 else " AND ".join(value)
    return None
