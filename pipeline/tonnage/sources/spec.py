"""What the recipe says of one source, as the readers take it. Listing its files and reading them is for the other
modules.

The recipe's own model is not imported: any object with the same attributes will do.
"""

from __future__ import annotations

import codecs
import os
import string
import sysconfig
from dataclasses import dataclass
from typing import Any

from tonnage.errors import UsageError

PER_DOCUMENT = "per-document"
UNKNOWN_LICENCE = "unknown"
STDLIB = "{stdlib}"


@dataclass(frozen=True)
class SourceSpec:
    """One source of raw documents; the fields are those of the recipe.

    `paths` are as written in the recipe: files, folders, globs or fsspec URLs; `expand` makes them ready for use.
    Fields of records may reach into nested ones with dots: a field of exactly that name comes first.
    `max_document_bytes` bounds a JSONL line, a text column's value and a whole file; `task_bytes` the input of a task.
    """

    name: str
    kind: str
    paths: tuple[str, ...]
    text: str = "text"
    template: str | None = None
    id: str | None = "id"
    url: str | None = "url"
    timestamp: str | None = "timestamp"
    license: str = UNKNOWN_LICENCE
    license_field: str | None = "license"
    language: str | None = None
    encoding: str | None = None
    extract: str = "resiliparse"
    exclude: tuple[str, ...] = ()
    on_damaged: str = "skip-file"
    max_document_bytes: int = 64 << 20
    task_bytes: int = 256 << 20


def spec_of(name: str, source: Any) -> SourceSpec:
    """The spec of a recipe's source. Raises UsageError for a template or a charset that cannot be."""
    spec = SourceSpec(
        name=name,
        kind=source.kind,
        paths=tuple(source.paths),
        text=source.text,
        template=source.template,
        id=source.id,
        url=source.url,
        timestamp=source.timestamp,
        license=source.license,
        license_field=source.license_field,
        language=source.language,
        encoding=source.encoding,
        extract=source.extract,
        exclude=tuple(source.exclude),
        on_damaged=source.on_damaged,
        max_document_bytes=source.max_document_bytes,
        task_bytes=source.task_bytes,
    )
    if spec.template is not None:
        template_parts(spec.template, f"sources.{name}.template")
    if spec.encoding is not None:
        _check_encoding(spec.encoding, f"sources.{name}.encoding")
    return spec


def template_parts(template: str, key: str = "template") -> tuple[tuple[str, str | None], ...]:
    """(literal text, field that follows it or None) of a template such as '{title}\\n\\n{body}'; {{ and }} are braces.

    Raises UsageError when it names no field, or asks for more than to put fields in.
    """
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as fault:
        raise UsageError(f"{key}: {template!r} is no template ({fault}); write fields as {{name}}") from fault
    for _, field, form, conversion in parsed:
        if field is not None and (not field or form or conversion):
            raise UsageError(f"{key}: {template!r} may hold plain fields as {{name}} only")
    if all(field is None for _, field, _, _ in parsed):
        raise UsageError(f"{key}: {template!r} names no field; write at least one as {{name}}")
    return tuple((literal, field) for literal, field, _, _ in parsed)


def _check_encoding(encoding: str, key: str) -> None:
    try:
        known = codecs.lookup(encoding)
    except LookupError as fault:
        raise UsageError(f"{key}: {encoding!r} is no known charset; write one such as utf-8 or windows-1252") from fault
    if not getattr(known, "_is_text_encoding", True):
        raise UsageError(f"{key}: {encoding!r} is no charset of text; write one such as utf-8 or windows-1252")


def expand(path: str) -> str:
    """`path` with a leading ~ as the home folder and {stdlib} as the standard library of the running Python."""
    return os.path.expanduser(path.replace(STDLIB, sysconfig.get_path("stdlib")))
