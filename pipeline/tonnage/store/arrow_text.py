"""Arrow text columns as the plain arrays that the kernels take, and back, without copying text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def buffers(text: pa.LargeStringArray | pa.LargeBinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """(data uint8, offsets int64 of length n + 1) of a column without nulls; offsets count from the start of data.

    Raises ValueError when the column is not large_string / large_binary or holds nulls.
    """
    if text.type not in (pa.large_string(), pa.large_binary()):
        raise ValueError(f"a text column must be large_string, found {text.type}")
    if text.null_count:
        raise ValueError(f"a text column may hold no nulls, found {text.null_count}")
    _, offset_buffer, data_buffer = text.buffers()
    if offset_buffer is None or len(text) == 0:
        return np.zeros(1, np.uint8), np.zeros(len(text) + 1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64)[text.offset : text.offset + len(text) + 1]
    if data_buffer is None or data_buffer.size == 0:
        return np.zeros(1, np.uint8), offsets
    return np.frombuffer(data_buffer, np.uint8), offsets


def from_buffers(data: np.ndarray, offsets: np.ndarray) -> pa.LargeStringArray:
    """A large_string column over `data` (uint8, valid UTF-8) and `offsets` (int64), sharing their memory."""
    return pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))
    )


def as_column(column: pa.ChunkedArray | pa.Array) -> pa.LargeStringArray:
    """One contiguous large_string array of a column read from a file."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    return column.cast(pa.large_string())
