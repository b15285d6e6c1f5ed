"""Values that records carry, exactly: JSON in, canonical JSON text out, the same from every reader.

Canonical JSON has sorted names, no blanks, UTF-8. What plain Python values cannot hold has types of its own here:
integers over 64 bits keep their digits, repeated names all their values, NaN and infinities become their names as
text, bytes that are no UTF-8 become base64. Which fields mean what is for fields.py.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson

from tonnage.sources.batches import NON_FINITE, SURROGATES

MAX_DEPTH = 200  # of nested objects and arrays; orjson writes no more than 254
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64_MIN, _UINT64_MAX = -(1 << 63), (1 << 64) - 1
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS


class Literal(str):
    """A number that no Python number holds as JSON gives it: its digits, or NaN, Infinity, -Infinity."""

    __slots__ = ()


class Repeats(list[Any]):
    """The values of a name that occurs more than once in its object."""


class Repeating(dict[str, Any]):
    """An object some of whose values are `Repeats`."""


class RawBytes(bytes):
    """Bytes that are no UTF-8."""


def dumps(value: Any) -> str:
    """Canonical JSON of a value as `loads`, `loads_exactly` or the Parquet reader make it."""
    return _dumps(value).decode()


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, default=_odd, option=_OPTIONS)


def _odd(value: Any) -> Any:
    if isinstance(value, Literal):
        return orjson.Fragment(str(value)) if value[-1].isdigit() else str(value)
    if isinstance(value, Repeating):
        members = [(name, value[name]) for name in sorted(value)]
        parts = [
            _dumps(name) + b":" + _dumps(each)
            for name, held in members
            for each in (held if isinstance(held, Repeats) else [held])
        ]
        return orjson.Fragment(b"{" + b",".join(parts) + b"}")
    if isinstance(value, RawBytes):
        return "base64:" + base64.b64encode(value).decode("ascii")
    if isinstance(value, Repeats):
        return list(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def member_count(value: Any) -> int:
    """The number of members of all objects within a parsed value, which may nest MAX_DEPTH deep."""
    held: Any
    if type(value) is dict:
        count, held = len(value), value.values()
    elif type(value) is list:
        count, held = 0, value
    else:
        return 0
    for each in held:
        if type(each) is dict or type(each) is list:
            count += member_count(each)
    return count


def object_of(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its members in order, none of them lost when names repeat."""
    pairs = list(members)
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    gathered: dict[str, list[Any]] = {}
    for name, value in pairs:
        gathered.setdefault(name, []).append(value)
    return Repeating({name: held[0] if len(held) == 1 else Repeats(held) for name, held in gathered.items()})


def loads_exactly(text: str, notes: Counter[str]) -> Any:
    """JSON parsed with nothing lost: long integers, repeated names, NaN and infinities as the types above.

    Each lone half of a surrogate pair becomes U+FFFD; what was changed is counted in `notes`.
    Raises ValueError when it is not JSON, RecursionError when it nests too deeply.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return object_of((mended(name, notes), mended(value, notes)) for name, value in pairs)

    def constant(name: str) -> Literal:
        notes[NON_FINITE] += 1
        return Literal(name)

    value = json.loads(text, object_pairs_hook=members, parse_int=_integer, parse_float=_float, parse_constant=constant)
    return mended(value, notes)


def _integer(digits: str) -> int | Literal:
    if len(digits) <= 20:
        number = int(digits)
        if _INT64_MIN <= number <= _UINT64_MAX:
            return number
    return Literal(digits)


def _float(digits: str) -> float | Literal:
    number = float(digits)
    return number if math.isfinite(number) else Literal(digits)


def finite(number: float, notes: Counter[str]) -> float | Literal:
    """`number`, or the name that stands for it in JSON text when it is NaN or infinite."""
    if math.isfinite(number):
        return number
    notes[NON_FINITE] += 1
    return Literal("NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity")


def mended(value: Any, notes: Counter[str]) -> Any:
    """`value` with U+FFFD for every surrogate in its strings; objects within it are mended already."""
    if type(value) is str:
        found, count = _SURROGATE.subn("\ufffd", value)
        if count:
            notes[SURROGATES] += count
        return found
    if type(value) is list:
        return [mended(each, notes) for each in value]
    return value
