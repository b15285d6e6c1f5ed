"""Raw input of any kind as batches of documents and rejects: one task in, batches out, every row accounted for.

The recipe's words are in spec.py, files and tasks in listing.py, one reader a kind in the module of its name. Memory
does not grow with the size of the input. What is done with batches is for the steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tonnage.sources.batches import ReadBatch, Record, in_batches
from tonnage.sources.code import CodeReader
from tonnage.sources.html import read_html
from tonnage.sources.jsonl import read_jsonl
from tonnage.sources.listing import Piece, ReadTask
from tonnage.sources.parquet import read_parquet
from tonnage.sources.spec import SourceSpec
from tonnage.sources.text import read_text

SOURCES_VERSION = 1

__all__ = ["SOURCES_VERSION", "ReadBatch", "read_task"]

Reader = Callable[[Piece, Counter[str]], Iterator[Record]]


def read_task(spec: SourceSpec, task: ReadTask) -> Iterator[ReadBatch]:
    """The batches of one task, in the order of its pieces; rows = documents + rejects in each.

    Raises WorkFailed when a file is gone, cannot be read, or is damaged and the source's `on_damaged` is fail.
    """
    notes: Counter[str] = Counter()
    reader = _reader(spec)
    return in_batches((record for piece in task.pieces for record in reader(piece, notes)), notes)


def _reader(spec: SourceSpec) -> Reader:
    if spec.kind == "code":
        return CodeReader(spec)
    read = {"jsonl": read_jsonl, "parquet": read_parquet, "text": read_text, "html": read_html}[spec.kind]
    return lambda piece, notes: read(spec, piece, notes)
