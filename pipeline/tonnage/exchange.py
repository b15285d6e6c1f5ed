"""The partitioned hand-over between the tasks of a corpus-wide step.

Every map task writes one file: its rows grouped by partition, one Arrow record batch a partition, uncompressed. A
reduce
task reads from each file the bytes of its own partition alone; the index of an Arrow file says where they are. So a
reduce task needs the memory of one partition, however large the corpus is. What rows and partitions mean is the step's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tonnage.store.files import open_input, writing


def write_partitions(url: str, table: pa.Table, partition: np.ndarray, partitions: int) -> None:
    """`table` as one file at `url`; row i belongs to partition[i] (int64[n], 0 <= p < partitions), order kept within.

    Raises ValueError when a partition is out of range.
    """
    if len(partition) and not (partition.min() >= 0 and partition.max() < partitions):
        raise ValueError(f"partitions must lie in 0..{partitions - 1}")
    order = np.argsort(partition, kind="stable")
    bounds = np.searchsorted(partition[order], np.arange(partitions + 1))
    grouped = table.take(pa.array(order)).combine_chunks()
    with writing(url) as stream, pa.ipc.new_file(stream, table.schema) as file:
        for index in range(partitions):
            rows = grouped.slice(bounds[index], bounds[index + 1] - bounds[index])
            file.write_batch(_one_batch(rows))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.to_batches()
    if len(batches) == 1:
        return batches[0]
    return pa.RecordBatch.from_pylist([], schema=table.schema)


def read_partition(url: str, partition: int) -> pa.Table:
    """The rows of one partition in the order in which they were written."""
    with open_input(url) as stream:
        file = pa.ipc.open_file(stream)
        return pa.Table.from_batches([file.get_batch(partition)], file.schema)


def gather_partition(urls: Sequence[str], partition: int) -> pa.Table:
    """The rows of one partition of several files, file by file."""
    return pa.concat_tables([read_partition(url, partition) for url in urls])
