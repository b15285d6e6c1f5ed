"""The fused scan of one documents shard: read once, every due column computed and written.

Raw input becomes documents and rejects; each batch then passes all due annotators while it is in memory. When only
columns are due, the documents file is read instead of the raw input, and the same columns come out. Which columns are
due is run.py's to say; what they mean is annotate's, quality's and tokenize's.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tonnage.annotate.heuristics import HEURISTICS_SCHEMA, heuristics
from tonnage.dedup.signatures import Shingling, sign, signature_schema
from tonnage.errors import WorkFailed
from tonnage.plan import CODE_FLAGS, DOCUMENTS, ENCODED, HEURISTICS, QUALITY, SIGNATURES, Shard
from tonnage.quality.model import load_model
from tonnage.quality.score import score
from tonnage.sources import read_task
from tonnage.sources.code_flags import CODE_SCHEMA, code_columns
from tonnage.sources.spec import SourceSpec
from tonnage.store import schema
from tonnage.store.documents import ParquetWriter, read_row_groups, writing_parquet
from tonnage.store.files import file_fact, join, read_bytes, writing
from tonnage.store.layout import columns_path, documents_path, encoded_path, rejects_path
from tonnage.store.receipts import Receipt, write_receipt
from tonnage.tokenize.engine import Encoder
from tonnage.tokenize.policy import TokenPolicy

QUALITY_SCHEMA = pa.schema([pa.field("quality_score", pa.float32(), nullable=False)])
ENCODED_SCHEMA = pa.schema(
    [pa.field("tokens", pa.int64(), nullable=False), pa.field("markers", pa.int64(), nullable=False)]
)


@dataclass(frozen=True)
class Column:
    """One column step that is due: `key` names its folder; `model`, `label`, `normalise`, `policy`, `shingling` as the
    step needs.
    """

    name: str
    key: str
    model: str = ""
    label: str | None = None
    normalise: str = "fold"
    policy: TokenPolicy | None = None
    shingling: Shingling | None = None


@dataclass(frozen=True)
class ScanTask:
    """One shard: `documents_key` is None when the documents are there and only columns are due."""

    root: str
    spec: SourceSpec
    shard: Shard
    documents_key: str | None
    columns: tuple[Column, ...] = field(default=())


class Annotator(Protocol):
    """Takes batches of documents in order; afterwards `files` are the paths and rows it wrote, `counts` its sums."""

    def add(self, documents: pa.RecordBatch) -> None: ...

    @property
    def files(self) -> list[tuple[str, int]]: ...

    @property
    def counts(self) -> dict[str, int]: ...


@dataclass(frozen=True)
class Scanned:
    """How much of one shard is through."""

    documents: int = 0
    text_bytes: int = 0


SAY_EVERY = 1.0  # seconds between what a scan says of itself


def scan(task: ScanTask) -> Generator[Scanned, None, tuple[Receipt, ...]]:
    """Reads one shard, writes its files, and returns the receipts it wrote: documents first, then one a column.

    Yields now and then how much is through.
    """
    start = said = time.perf_counter()
    through = Scanned()
    with contextlib.ExitStack() as stack:
        annotators = [_annotator(task, column, stack) for column in task.columns]
        keeper = None if task.documents_key is None else _Documents(task, stack)
        for documents in _kept_documents(task) if keeper is None else keeper.batches():
            for annotator in annotators:
                annotator.add(documents)
            through = _more(through, documents)
            if time.perf_counter() - said > SAY_EVERY:
                yield through
                said = time.perf_counter()
    yield through
    seconds = time.perf_counter() - start
    receipts = []
    if keeper is not None and task.documents_key is not None:
        receipts.append(_receipt(task, DOCUMENTS, task.documents_key, keeper.files, keeper.counts, seconds))
    for column, annotator in zip(task.columns, annotators, strict=True):
        receipts.append(_receipt(task, column.name, column.key, annotator.files, annotator.counts, seconds))
    return tuple(receipts)


def _more(through: Scanned, documents: pa.RecordBatch) -> Scanned:
    size = pc.sum(pc.binary_length(documents.column("text"))).as_py() or 0
    return Scanned(through.documents + documents.num_rows, through.text_bytes + size)


def _receipt(
    task: ScanTask, step: str, key: str, files: list[tuple[str, int]], counts: Mapping[str, int], seconds: float
) -> Receipt:
    facts = tuple(file_fact(task.root, path, rows) for path, rows in files)
    return write_receipt(
        task.root, Receipt(step, key, task.shard.task, facts, dict(counts), round(seconds, 3), task.shard.inputs)
    )


def _kept_documents(task: ScanTask) -> Iterator[pa.RecordBatch]:
    return read_row_groups(join(task.root, documents_path(task.shard.source, task.shard.shard)))


class _Documents:
    """Raw input on its way to the documents and rejects files of one shard."""

    def __init__(self, task: ScanTask, stack: contextlib.ExitStack) -> None:
        self._task = task
        self._paths = [function(task.shard.source, task.shard.shard) for function in (documents_path, rejects_path)]
        self._documents = stack.enter_context(
            writing_parquet(join(task.root, self._paths[0]), schema.DOCUMENTS, text_column="text")
        )
        self._rejects = stack.enter_context(writing_parquet(join(task.root, self._paths[1]), schema.REJECTS))
        self.counts: Counter[str] = Counter({"rows": 0, "documents": 0, "rejects": 0, "bytes": 0})

    def batches(self) -> Iterator[pa.RecordBatch]:
        for batch in read_task(self._task.spec, self._task.shard.read):
            self.counts.update(batch.counts)
            self._rejects.write(batch.rejects)
            if batch.documents.num_rows:
                self._documents.write(batch.documents)
                self.counts["bytes"] += pc.sum(pc.binary_length(batch.documents.column("text"))).as_py()
                yield batch.documents
        self.check_balance()

    def check_balance(self) -> None:
        """Raises WorkFailed unless rows read = documents + rejects, both as counted and as written."""
        counted = self.counts["documents"] + self.counts["rejects"]
        written = self._documents.rows + self._rejects.rows
        if not self.counts["rows"] == counted == written:
            raise WorkFailed(
                f"{self._task.shard.task}: {self.counts['rows']} rows were read, but "
                f"{self.counts['documents']} documents "
                f"and {self.counts['rejects']} rejects counted and {written} rows written; this is a fault of "
                f"the reader, "
                f"please report it"
            )

    @property
    def files(self) -> list[tuple[str, int]]:
        return [(self._paths[0], self._documents.rows), (self._paths[1], self._rejects.rows)]


class _Table:
    """A column step that is a function of the batch alone."""

    def __init__(
        self,
        task: ScanTask,
        column: Column,
        stack: contextlib.ExitStack,
        table_schema: pa.Schema,
        compute: Callable[[pa.RecordBatch], pa.RecordBatch],
    ) -> None:
        self._path = columns_path(column.name, column.key, task.shard.source, task.shard.shard)
        self._compute = compute
        self._writer: ParquetWriter = stack.enter_context(writing_parquet(join(task.root, self._path), table_schema))

    def add(self, documents: pa.RecordBatch) -> None:
        self._writer.write(self._compute(documents))

    @property
    def files(self) -> list[tuple[str, int]]:
        return [(self._path, self._writer.rows)]

    @property
    def counts(self) -> dict[str, int]:
        return {"documents": self._writer.rows}


class _Encoded:
    """Token ids of every document, one after another in one raw file, with their number a document beside it."""

    def __init__(self, task: ScanTask, column: Column, stack: contextlib.ExitStack) -> None:
        assert column.policy is not None
        self._encoder = Encoder(read_bytes(join(task.root, column.model)), column.policy)
        place = (column.key, task.shard.source, task.shard.shard)
        self._ids_path = encoded_path(*place)
        self._ids = stack.enter_context(writing(join(task.root, self._ids_path)))
        self._table = _Table(task, column, stack, ENCODED_SCHEMA, self._encode)
        self._tokens = 0
        self._markers = 0

    def _encode(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        encoded = self._encoder.encode(documents.column("text"))
        self._ids.write(encoded.ids.data)
        lengths = np.diff(encoded.offsets)
        self._tokens += int(lengths.sum())
        self._markers += int(encoded.markers.sum())
        return pa.RecordBatch.from_arrays([pa.array(lengths), pa.array(encoded.markers)], schema=ENCODED_SCHEMA)

    def add(self, documents: pa.RecordBatch) -> None:
        self._table.add(documents)

    @property
    def files(self) -> list[tuple[str, int]]:
        return [*self._table.files, (self._ids_path, self._tokens)]

    @property
    def counts(self) -> dict[str, int]:
        return {**self._table.counts, "tokens": self._tokens, "markers": self._markers}


def _annotator(task: ScanTask, column: Column, stack: contextlib.ExitStack) -> Annotator:
    if column.name == ENCODED:
        return _Encoded(task, column, stack)
    table_schema, compute = _computation(task, column)
    return _Table(task, column, stack, table_schema, compute)


def _computation(task: ScanTask, column: Column) -> tuple[pa.Schema, Callable[[pa.RecordBatch], pa.RecordBatch]]:
    if column.name == HEURISTICS:
        return HEURISTICS_SCHEMA, lambda documents: heuristics(documents.column("text"))
    if column.name == CODE_FLAGS:
        return CODE_SCHEMA, code_columns
    if column.name == SIGNATURES:
        shingling = column.shingling
        assert shingling is not None
        return signature_schema(shingling), lambda documents: sign(documents.column("text"), shingling)
    if column.name == QUALITY:
        model = load_model(join(task.root, column.model), column.label)

        def scored(documents: pa.RecordBatch) -> pa.RecordBatch:
            scores = score(model, documents.column("text"), normalise=column.normalise)
            return pa.RecordBatch.from_arrays([pa.array(scores)], schema=QUALITY_SCHEMA)

        return QUALITY_SCHEMA, scored
    raise ValueError(f"no column step is called {column.name}")
