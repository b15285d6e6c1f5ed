"""Exports made from a finished run by command, as opposed to those that its recipe asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tonnage.errors import UsageError
from tonnage.export import EXPORTS, ExportInput
from tonnage.inspect.view import open_run
from tonnage.store.files import join


def export_run(root: str, formats: Sequence[str], out: str, *, text: bool) -> Iterator[str]:
    """Writes each format and says what was written, one line a fact.

    Raises UsageError for an unknown format, or when the run has no tokens.
    """
    for name in formats:
        if name not in EXPORTS:
            raise UsageError(f"--to {name} is no format; formats are {', '.join(EXPORTS)}")
    if text and "parquet" not in formats:
        raise UsageError("--text adds the text to a parquet export; add --to parquet or leave it out")
    view = open_run(root)
    source = ExportInput(root, view.tokens_key, tokenizer=view.tokenizer, mixture=view.mixture())
    for name in formats:
        folder = out if len(formats) == 1 else join(out, name)
        options = {"text": text} if name == "parquet" else {}
        report = EXPORTS[name](source, folder, **options)
        yield f"{name}: {len(report.files):,} files, {report.bytes:,} bytes in {folder}"
        yield from (f"  {note}" for note in report.notes)
