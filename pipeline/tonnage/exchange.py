"""The partitioned hand-over between the tasks of a corpus-wide step.

Every map task writes one file: its rows grouped by partition, one uncompressed Arrow record batch a partition. A map
task that sees its rows in several rounds writes as many batches a partition, round after round. A reduce task reads
from each file the bytes of its own partition alone; the index of an Arrow file says where they are. So a reduce task
needs the memory of one partition, and a map task that of one round, however large the corpus is. What rows and
partitions mean is the step's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tonnage.store.files import open_input, writing


class PartitionWriter:
    """Takes rounds of rows for `partitions` partitions; `rows` counts them."""

    def __init__(self, file: pa.ipc.RecordBatchFileWriter, schema: pa.Schema, partitions: int) -> None:
        self._file = file
        self._schema = schema
        self._partitions = partitions
        self.rows = 0

    def write(self, table: pa.Table, partition: np.ndarray) -> None:
        """One round: row i of `table` belongs to partition[i] (int64[n], 0 <= p < partitions), order kept within.

        Raises ValueError when a partition is out of range.
        """
        if len(partition) and not (partition.min() >= 0 and partition.max() < self._partitions):
            raise ValueError(f"partitions must lie in 0..{self._partitions - 1}")
        order = np.argsort(partition, kind="stable")
        bounds = np.searchsorted(partition[order], np.arange(self._partitions + 1))
        grouped = table.take(pa.array(order)).combine_chunks()
        for index in range(self._partitions):
            rows = grouped.slice(bounds[index], bounds[index + 1] - bounds[index])
            self._file.write_batch(_one_batch(rows))
        self.rows += len(table)


@contextlib.contextmanager
def writing_partitions(url: str, schema: pa.Schema, partitions: int) -> Iterator[PartitionWriter]:
    """A PartitionWriter whose file appears as `url` when the block ends well."""
    with writing(url) as stream, pa.ipc.new_file(stream, schema) as file:
        yield PartitionWriter(file, schema, partitions)


def write_partitions(url: str, table: pa.Table, partition: np.ndarray, partitions: int) -> None:
    """`table` as one file of one round at `url`; see PartitionWriter.write."""
    with writing_partitions(url, table.schema, partitions) as writer:
        writer.write(table, partition)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.to_batches()
    if len(batches) == 1:
        return batches[0]
    return pa.RecordBatch.from_pylist([], schema=table.schema)


def read_partition(url: str, partition: int, partitions: int) -> pa.Table:
    """The rows of one of `partitions` partitions in the order in which they were written."""
    with open_input(url) as stream:
        file = pa.ipc.open_file(stream)
        batches = [file.get_batch(index) for index in range(partition, file.num_record_batches, partitions)]
        return pa.Table.from_batches(batches, file.schema)


def gather_partition(urls: Sequence[str], partition: int, partitions: int) -> pa.Table:
    """The rows of one partition of several files, file by file."""
    return pa.concat_tables([read_partition(url, partition, partitions) for url in urls])
