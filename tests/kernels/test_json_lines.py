"""Facts of JSON lines against a parser that keeps everything."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels.json_lines import scan_json_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def members(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(members(each) for each in value.values())
    return sum(members(each) for each in value) if isinstance(value, list) else 0


def depth(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + max((depth(each) for each in (value.values() if isinstance(value, dict) else value)), default=0)
    return 0


def facts(data: bytes) -> list[tuple[int, int, bool]]:
    found = scan_json_lines(np.frombuffer(data, np.uint8), data.count(b"\n") + 1)
    return list(zip(*(each.tolist() for each in found), strict=True))


@settings(max_examples=150, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=5), st.sampled_from([(",", ":"), (" , ", " : ")]), st.booleans())
def test_against_the_parsed_values(values: list[Any], separators: tuple[str, str], ascii_only: bool) -> None:
    lines = [json.dumps(value, separators=separators, ensure_ascii=ascii_only) for value in values]
    found = facts("\n".join(lines).encode("utf-8", "surrogatepass"))
    assert [(names, deep) for names, deep, _ in found] == [(members(value), depth(value)) for value in values]


def test_repeated_names_and_long_numbers_and_what_strings_hide() -> None:
    lines = [
        (b'{"a":1,"a":2,"b":{"a":3}}', (4, 2, False)),
        (b'{"a":"x:\\":{[1234567890123456789012"}', (1, 1, False)),
        (b"[1234567890123456789]", (0, 1, True)),
        (b"[123456789012345678,9]", (0, 1, False)),
        (b'"unfinished \\', (0, 0, False)),
        (b'{"next":1}', (1, 1, False)),
        (b"", (0, 0, False)),
    ]
    assert facts(b"\n".join(line for line, _ in lines)) == [expected for _, expected in lines]
