"""Documents, columns and rejects as Parquet: row groups cut by bytes of text, read back a row group at a time.

Knows files and schemas only; how documents come about and what columns mean is for the layers above.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tonnage.errors import WorkFailed
from tonnage.store.arrow_text import as_column
from tonnage.store.files import join, open_input, writing

ROW_GROUP_BYTES = 32 << 20
ROW_GROUP_ROWS = 1 << 17
COMPRESSION = "zstd"
COMPRESSION_LEVEL = 1


class ParquetWriter:
    """Writes batches of one schema; a row group ends once its text passes `row_group_bytes`, or at ROW_GROUP_ROWS rows.

    `text_column` names the column whose bytes are counted; without one, only rows count.
    Bytes of the result depend on the rows alone, not on how they were batched: rows are regrouped here.
    """

    def __init__(
        self, stream, schema: pa.Schema, *, text_column: str | None = None, row_group_bytes: int = ROW_GROUP_BYTES
    ) -> None:
        self._writer = pq.ParquetWriter(
            stream, schema, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL, store_schema=True
        )
        self._schema = schema
        self._text_column = text_column
        self._row_group_bytes = row_group_bytes
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._pending_rows = 0
        self.rows = 0
        self.text_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        if self._text_column is None:
            self._write_numbers(batch)
            return
        lengths = pc.binary_length(batch.column(self._text_column)).to_numpy(zero_copy_only=False)
        start = 0
        for row, length in enumerate(lengths.tolist()):
            self._pending_bytes += length
            self._pending_rows += 1
            self.text_bytes += length
            if self._pending_bytes >= self._row_group_bytes or self._pending_rows == ROW_GROUP_ROWS:
                self._pending.append(batch.slice(start, row + 1 - start))
                self._flush()
                start = row + 1
        if start < batch.num_rows:
            self._pending.append(batch.slice(start))

    def _write_numbers(self, batch: pa.RecordBatch) -> None:
        start = 0
        while start < batch.num_rows:
            taken = min(ROW_GROUP_ROWS - self._pending_rows, batch.num_rows - start)
            self._pending.append(batch.slice(start, taken))
            self._pending_rows += taken
            start += taken
            if self._pending_rows == ROW_GROUP_ROWS:
                self._flush()

    def _flush(self) -> None:
        if self._pending:
            table = pa.Table.from_batches(self._pending, self._schema).combine_chunks()
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._pending, self._pending_bytes, self._pending_rows = [], 0, 0

    def end_row_group(self) -> None:
        """Ends the row group with the rows written so far."""
        self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Closes a file that is going to be discarded, so that nothing writes to it later."""
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            self._writer.close()


@contextlib.contextmanager
def writing_parquet(
    url: str, schema: pa.Schema, *, text_column: str | None = None, row_group_bytes: int = ROW_GROUP_BYTES
) -> Iterator[ParquetWriter]:
    """A ParquetWriter whose file appears as `url` when the block ends well."""
    with writing(url) as stream:
        writer = ParquetWriter(stream, schema, text_column=text_column, row_group_bytes=row_group_bytes)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
        writer.close()


def write_columns(url: str, batch: pa.RecordBatch | pa.Table) -> None:
    """`batch` as one Parquet file of one row group."""
    table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
    with writing(url) as stream:
        pq.write_table(
            table,
            stream,
            compression=COMPRESSION,
            compression_level=COMPRESSION_LEVEL,
            row_group_size=max(1, len(table)),
        )


def read_table(url: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Whole columns of one file. Raises WorkFailed when it is no readable Parquet."""
    try:
        with open_input(url) as stream:
            return pq.read_table(stream, columns=list(columns) if columns is not None else None, use_threads=False)
    except pa.ArrowInvalid as fault:
        raise WorkFailed(f"{url} is damaged ({fault}); delete it and give the same command again") from fault


def read_row_groups(url: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The file a row group at a time, each as one record batch with large_string text."""
    with open_input(url) as stream:
        file = pq.ParquetFile(stream)
        for group in range(file.num_row_groups):
            table = file.read_row_group(
                group, columns=list(columns) if columns is not None else None, use_threads=False
            )
            yield _one_batch(table)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    arrays = []
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_large_string(column.type):
            arrays.append(as_column(column))
        elif column.num_chunks == 1:
            arrays.append(column.chunk(0))
        else:
            arrays.append(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def rows_of(root: str, path: str) -> int:
    """Number of rows of a Parquet file, from its footer."""
    with open_input(join(root, path)) as stream:
        return int(pq.ParquetFile(stream).metadata.num_rows)
