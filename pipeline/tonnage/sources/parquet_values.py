"""Arrow columns as plain values that JSON can hold, the same that a JSONL file with these rows would give.

Dates, times and timestamps become ISO 8601 text (timestamps with a zone in UTC, with Z), decimals their digits as text,
bytes text when they are UTF-8. Records are made of these values in parquet.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tonnage.sources.values import RawBytes, finite, object_of

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def values_of(array: pa.Array, notes: Counter[str]) -> list[Any]:
    """One plain value a row; NaN and infinities are counted in `notes`."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return values_of(array.storage, notes)
    if pa.types.is_dictionary(kind):
        decoded = values_of(array.dictionary, notes)
        return [None if index is None else decoded[index] for index in array.indices.to_pylist()]
    if pa.types.is_struct(kind):
        return _structs(array, notes)
    if pa.types.is_map(kind):
        return _maps(array, notes)
    if _is_list(kind):
        return _lists(array, notes)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _strings(array)
    if pa.types.is_floating(kind):
        return _floats(array, notes)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _instants(array)
    return [None if value is None else _scalar(kind)(value) for value in _plain(array)]


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _plain(array: pa.Array) -> list[Any]:
    """Python values; of times and durations the count of their unit."""
    if pa.types.is_time32(array.type):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_time64(array.type) or pa.types.is_duration(array.type):
        return array.cast(pa.int64()).to_pylist()
    return array.to_pylist()


def _scalar(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return text_of_bytes
    if pa.types.is_binary_view(kind):
        return text_of_bytes
    if pa.types.is_time(kind):
        return lambda count: _clock(count, _UNITS[kind.unit])
    if pa.types.is_duration(kind):
        return lambda count: _duration(count, _UNITS[kind.unit])
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return lambda value: value
    return str


def text_of_bytes(value: bytes) -> str | RawBytes:
    """Bytes as text, or as they are when they are no UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return RawBytes(value)


def _strings(array: pa.Array) -> list[Any]:
    try:
        return array.to_pylist()
    except UnicodeDecodeError:
        # A writer that did not check its strings.
        return values_of(
            array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary()), Counter()
        )


def _floats(array: pa.Array, notes: Counter[str]) -> list[Any]:
    values = array.to_pylist()
    if any(value is not None and not math.isfinite(value) for value in values):
        return [None if value is None else finite(value, notes) for value in values]
    return values


def _instants(array: pa.Array) -> list[str | None]:
    kind = array.type
    if pa.types.is_date(kind):
        days = array.cast(pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False)
        texts = np.datetime_as_string(_without_nan(days).astype("M8[D]"))
        return [str(text) if there else None for text, there in zip(texts, array.is_valid().to_pylist(), strict=True)]
    counts = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    texts = np.datetime_as_string(counts.view(f"M8[{kind.unit}]"))
    zone = "Z" if kind.tz is not None else ""
    return [
        _trimmed(str(text)) + zone if there else None
        for text, there in zip(texts, array.is_valid().to_pylist(), strict=True)
    ]


def _without_nan(days: np.ndarray) -> np.ndarray:
    return np.nan_to_num(days).astype(np.int64)


def _trimmed(text: str) -> str:
    """Without zeros at the end of a second's fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _clock(count: int, scale: int) -> str:
    seconds, fraction = divmod(count, scale)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}{_fraction(fraction, scale)}"


def _duration(count: int, scale: int) -> str:
    seconds, fraction = divmod(abs(count), scale)
    return f"{'-' if count < 0 else ''}PT{seconds}{_fraction(fraction, scale)}S"


def _fraction(part: int, scale: int) -> str:
    return "." + f"{part:0{len(str(scale)) - 1}d}".rstrip("0") if part else ""


def _structs(array: pa.StructArray, notes: Counter[str]) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [values_of(array.field(index), notes) for index in range(len(names))]
    rows = records(names, columns, len(array))
    if array.null_count == 0:
        return rows
    return [row if there else None for row, there in zip(rows, array.is_valid().to_pylist(), strict=True)]


def records(names: list[str], columns: list[list[Any]], rows: int) -> list[dict[str, Any]]:
    """Columns as one object a row; no value is lost when names repeat."""
    if not columns:
        return [{} for _ in range(rows)]
    if len(set(names)) == len(names):
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return [object_of(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _lists(array: pa.Array, notes: Counter[str]) -> list[Any]:
    inner = values_of(array.flatten(), notes)
    result: list[Any] = []
    place = 0
    for length in array.value_lengths().to_pylist():
        if length is None:
            result.append(None)
            continue
        result.append(inner[place : place + length])
        place += length
    return result


def _maps(array: pa.MapArray, notes: Counter[str]) -> list[Any]:
    """Maps with text keys are objects, others arrays of pairs."""
    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    rows = _lists(entries, notes)
    return [None if row is None else _map([(pair["key"], pair["value"]) for pair in row]) for row in rows]


def _map(pairs: list[tuple[Any, Any]]) -> Any:
    if all(type(key) is str for key, _ in pairs):
        return object_of(pairs)
    return [[key, value] for key, value in pairs]
