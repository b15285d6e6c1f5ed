"""Trees of source code, one document a file: its language, its licence, and what is no text at all.

Language by name (languages.py), by the first line, or by magika where those leave it unclear. Files that hold no text
are rejected with reasons that begin `not-text`: they are counted, but they are no fault of the input. Vendored,
minified and generated files are told apart later, in code_flags.py.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from tonnage.sources.batches import NOT_TEXT, Document, Record, Reject
from tonnage.sources.charsets import DETECTED, Decoded, decode_code, has_mark
from tonnage.sources.containers import PLAIN, named_container
from tonnage.sources.languages import guess, of_label, of_shebang
from tonnage.sources.licences import LicenceFinder
from tonnage.sources.listing import Piece
from tonnage.sources.spec import PER_DOCUMENT, SourceSpec
from tonnage.sources.text import charset_facts
from tonnage.sources.values import dumps
from tonnage.sources.whole import WHOLE, read_whole
from tonnage.store.schema import RAW_LIMIT

BINARY = f"{NOT_TEXT}-binary"
CHARSET = f"{NOT_TEXT}-charset"
# Control characters other than white space, escape and backspace; text in a guessed charset has next to none of them.
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 11, 12, 13, 27}) + b"\x7f"
_MAX_CONTROLS = 0.001


class _Language(NamedTuple):
    name: str | None
    found_by: str
    is_text: bool = True


class CodeReader:
    """Reads the files of one task; what it learns of licences serves them all."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        self._licences = LicenceFinder()

    def __call__(self, piece: Piece, notes: Counter[str]) -> Iterator[Record]:
        """The document of one file, or why it is none."""
        # An archive within a tree is a binary file; a packed source file, such as .el.gz, is its content.
        name_says = guess(piece.name)
        packed = named_container(piece.name) != PLAIN
        data = read_whole(self._spec, piece, notes, unpack=packed and name_says.language is not None)
        if data is None:
            return
        if isinstance(data, Reject):
            yield data
            return
        counted: Counter[str] = Counter()
        reason = _no_text(data)
        decoded = None if reason else decode_code(data, self._spec.encoding, counted)
        if decoded is None or _is_guesswork(data, decoded):
            yield Reject(piece.name, WHOLE, reason or CHARSET, None, None, data[:RAW_LIMIT])
            return
        language = _language(piece.name, data, decoded.text)
        if not language.is_text:
            yield Reject(piece.name, WHOLE, BINARY, f"magika takes it for {language.name}", None, data[:RAW_LIMIT])
            return
        notes.update(counted)
        yield self._document(piece, decoded, language)

    def _document(self, piece: Piece, decoded: Decoded, language: _Language) -> Document:
        facts: dict[str, Any] = charset_facts(decoded)
        facts["language_from"] = language.found_by
        licence = self._spec.license
        if licence == PER_DOCUMENT:
            found = self._licences.licence(piece.path, piece.root, decoded.text)
            licence = found.expression
            facts["license_from"] = found.found_by
        return Document(
            decoded.text,
            piece.name,
            WHOLE,
            license=licence,
            code_language=language.name,
            metadata=dumps(facts),
        )


def _no_text(data: bytes) -> str | None:
    return BINARY if b"\0" in data and not has_mark(data) else None


def _is_guesswork(data: bytes, decoded: Decoded) -> bool:
    """Whether a guessed charset gives characters that no text has."""
    if decoded.charset.found_by != DETECTED:
        return False
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return "\ufffd" in decoded.text or controls > _MAX_CONTROLS * len(data)


def _language(name: str, data: bytes, text: str) -> _Language:
    says = guess(name)
    if says.language is not None:
        return _Language(says.language, "name")
    by_line = of_shebang(text)
    if by_line is not None:
        return _Language(by_line, "shebang")
    if "xml" in says.candidates:
        # TypeScript and Qt's translations share .ts; the first character tells them apart.
        return _Language("xml" if text.lstrip().startswith("<") else says.candidates[0], "name")
    label, is_text = _identified(data)
    language = of_label(label)
    if says.candidates:
        return _Language(language, "magika") if language in says.candidates else _Language(says.candidates[0], "name")
    return _Language(language, "magika", is_text or language is None)


def _identified(data: bytes) -> tuple[str, bool]:
    """(label, whether that is a kind of text) of a file's content."""
    output = _magika().identify_bytes(data).output
    return str(output.label), bool(output.is_text)


@functools.cache
def _magika() -> Any:
    """The content model, loaded at first need; one thread, as workers are as many as there are cores."""
    import onnxruntime
    from magika import Magika

    model = Magika()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model._onnx_session = onnxruntime.InferenceSession(
        str(model._model_path), sess_options=options, providers=["CPUExecutionProvider"]
    )
    return model
