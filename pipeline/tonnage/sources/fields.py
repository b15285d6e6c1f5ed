"""From a record's fields to a document: text or template, id, URL, date, licence; all else as JSON text in `metadata`.

Fields are found by name, or by a path with dots into nested objects; a field of exactly that name comes first. A value
that does not fit its column stays in the metadata, so nothing is lost. Readers bring records and reject what is
refused.
"""

from __future__ import annotations

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

    def remove(self, record: dict[str, Any]) -> None:
        held = self.holder(record)
        if held is not None:
            del held[0][held[1]]


class Fields:
    """Makes documents of the records of one source."""

    def __init__(self, spec: SourceSpec) -> None:
        parts = template_parts(spec.template) if spec.template is not None else (("", spec.text),)
        self._parts = tuple((literal, None if name is None else Field.of(name)) for literal, name in parts)
        self._plain = spec.template is None
        self._id, self._url, self._timestamp = (
            None if name is None else Field.of(name) for name in (spec.id, spec.url, spec.timestamp)
        )
        by_document = spec.license == PER_DOCUMENT
        self._licence = Field.of(spec.license_field) if by_document and spec.license_field is not None else None
        self._licence_default = UNKNOWN_LICENCE if by_document else spec.license
        self._limit = spec.max_document_bytes

    def document(self, record: dict[str, Any], file: str, position: int) -> Document:
        """`record` as a document; its fields are taken out of it. Raises Refused when it holds no usable text."""
        text = self._text(record)
        source_id = self._take(record, self._id, _scalar_text)
        url = self._take(record, self._url, _plain_text)
        timestamp = self._take(record, self._timestamp, _scalar_text)
        licence = self._take(record, self._licence, _licence_text)
        metadata = dumps(record) if record else None
        return Document(
            text, file, position, source_id, url, licence or self._licence_default, timestamp, None, metadata
        )

    def _text(self, record: dict[str, Any]) -> str:
        if self._plain:
            field = self._parts[0][1]
            assert field is not None
            text = _string(field.get(record), field.name)
        else:
            parts = []
            for literal, field in self._parts:
                parts.append(literal if field is None else literal + _string(field.get(record), field.name))
            text = "".join(parts)
        if len(text) * 4 > self._limit and len(text.encode()) > self._limit:
            raise Refused(
                TOO_LARGE, f"its text has {len(text.encode()):,} bytes, max_document_bytes is {self._limit:,}"
            )
        for _, field in self._parts:
            if field is not None:
                field.remove(record)
        return text

    @staticmethod
    def _take(record: dict[str, Any], field: Field | None, as_text: Any) -> str | None:
        if field is None:
            return None
        held = field.holder(record)
        if held is None:
            return None
        value = held[0][held[1]]
        text: str | None = as_text(value)
        if text is not None or value is None:
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
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return dumps(value)
    return None


def _licence_text(value: Any) -> str | None:
    """A licence, or all of a list of licences."""
    if type(value) is str:
        return value
    if type(value) is list and value and all(type(each) is str for each in value):
        return value[0] if len(value) == 1 else " AND ".join(value)
    return None
