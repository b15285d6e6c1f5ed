"""Vendored, minified and generated source files: signs by path and text, each a column that rules may use.

The signs are those that GitHub Linguist, the StarCoder filters and the tools that generate code have made usual; each
is stated with the thing it looks for. Nothing is dropped here.
"""

from __future__ import annotations

import re

import pyarrow as pa

CODE_FLAGS_VERSION = 1

CODE_SCHEMA = pa.schema(
    [
        pa.field("is_vendored", pa.bool_(), nullable=False),
        pa.field("is_minified", pa.bool_(), nullable=False),
        pa.field("is_generated", pa.bool_(), nullable=False),
    ]
)

_VENDOR_WORDS = """
    node_modules bower_components vendor vendors vendored _vendor _vendored third_party third-party thirdparty
    3rdparty 3rd_party external externals extern site-packages dist-packages jspm_packages godeps pods carthage
    submodules
"""
_VENDOR_FOLDERS = frozenset(_VENDOR_WORDS.split())

# Long lines with next to no white space. Linguist calls scripts of more than 110 characters a line minified; white
# space is what tells them from tables and long strings: source has 15 to 40 % of it, minified code under 8 %.
_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|mjs|cjs|css|html|json)$")
_MINIFIED_CHARS = 1000
_MINIFIED_LINE = 110
_MINIFIED_SPACE = 0.08
_PROSE = frozenset(("markdown", "text", "restructuredtext", "tex", "html", "svg", "csv", "tsv", "gettext catalog"))

_GENERATED_WORDS = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock composer.lock cargo.lock poetry.lock
    pdm.lock uv.lock pipfile.lock gemfile.lock podfile.lock pubspec.lock mix.lock flake.lock go.sum
    gradle.lockfile packages.lock.json project.pbxproj y.tab.c y.tab.h lex.yy.c aclocal.m4 configure
"""
_GENERATED_NAMES = frozenset(_GENERATED_WORDS.split())
_GENERATED_PATTERN = re.compile(
    r"(?:_pb2(?:_grpc)?\.pyi?|\.pb(?:\.gw)?\.(?:go|cc|h|dart)|_pb\.(?:js|rb|d\.ts)|_grpc\.pb\.go|\.g\.(?:dart|cs|ts)"
    r"|\.g\.i\.cs|\.freezed\.dart|\.designer\.(?:cs|vb)|\.generated\.[a-z]+|_generated\.[a-z]+|^zz_generated[._].*"
    r"|^moc_.*\.cpp|^ui_.*\.h|^qrc_.*\.cpp|\.(?:js|css)\.map|\.snap)$"
)
_HEAD_LINES = 12
_HEAD_CHARS = 3000
# Said of a whole file wherever it stands in the first lines.
_SAYS_SO = re.compile(
    r"@generated\b|\bauto-?generated\b|\bautomatically[- ]generated\b"
    r"|\bmachine[- ]generated\b|\bthis (?:file|code|module|script|source|header)\b.{0,40}?\bgenerated\b"
    r"|\bdo not (?:edit|modify|change)\b(?! war)|\bdon't edit\b|\bedits? (?:will|may) be (?:lost|overwritten)\b",
    re.IGNORECASE,
)
# Too usual in prose: only where a comment begins with it.
_COMMENT_SAYS_SO = re.compile(
    r"^\s*(?:#|//|/\*|\*|--|;|%|<!--|\(\*|\{-|\"|'|rem\b|dnl\b)[\s*!/#;-]*"
    r"(?:code )?generated (?:by|from|with|using|on|automatically)\b",
    re.IGNORECASE | re.MULTILINE,
)


def is_vendored(path: str) -> bool:
    """Whether a folder of `path` (below the source's root) is one that holds other people's code by custom."""
    return any(part in _VENDOR_FOLDERS for part in path.lower().split("/")[:-1])


def is_minified(text: str) -> bool:
    """Whether `text` is at least 1,000 characters in lines of 110 on average with under 8 % of white space."""
    chars = len(text)
    if chars < _MINIFIED_CHARS or chars < _MINIFIED_LINE * (text.count("\n") + 1):
        return False
    return chars - sum(map(len, text.split())) < _MINIFIED_SPACE * chars


def is_generated(path: str, text: str) -> bool:
    """Whether the name of a file is that of a tool's output or lock file, or one of its first 12 lines says so."""
    name = path.rpartition("/")[2].lower()
    if name in _GENERATED_NAMES or _GENERATED_PATTERN.search(name):
        return True
    head = "\n".join(text[:_HEAD_CHARS].split("\n", _HEAD_LINES)[:_HEAD_LINES])
    return bool(_SAYS_SO.search(head) or _COMMENT_SAYS_SO.search(head))


def code_columns(documents: pa.RecordBatch) -> pa.RecordBatch:
    """The flags of a batch in the schema of documents, one row a document, in CODE_SCHEMA."""
    files = documents.column("file").to_pylist()
    texts = documents.column("text").to_pylist()
    languages = documents.column("code_language").to_pylist()
    minified = [
        bool(_MINIFIED_NAME.search(file.lower())) or (language not in _PROSE and is_minified(text))
        for file, text, language in zip(files, texts, languages, strict=True)
    ]
    columns = [
        [is_vendored(file) for file in files],
        minified,
        [is_generated(file, text) for file, text in zip(files, texts, strict=True)],
    ]
    return pa.RecordBatch.from_arrays([pa.array(column, pa.bool_()) for column in columns], schema=CODE_SCHEMA)
