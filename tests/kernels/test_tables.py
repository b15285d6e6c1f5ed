"""The code point tables against Unicode's own properties, as the regex module knows them, and datatrove's terminals."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from datatrove.utils.text import TERMINAL_PUNCTUATION

from tonnage.kernels.tables import ALNUM, ALPHA, CODE_POINTS, DIGIT, MARK, SILENT, TERMINAL, UPPER, WHITE, tables

# Surrogates stand in no UTF-8 text; what is unassigned for one of the two Unicode versions is for them to agree on.
ASSIGNED = [p for p in range(CODE_POINTS) if unicodedata.category(chr(p)) not in ("Cn", "Cs", "Co")]


@pytest.mark.parametrize(
    ("bit", "pattern"),
    [
        (WHITE, r"\p{White_Space}"),
        (ALPHA, r"\p{L}"),
        (SILENT, r"[\p{P}\p{S}\p{Cc}\p{Cf}]"),
        (MARK, r"\p{M}"),
        (DIGIT, r"\p{Nd}"),
        (UPPER, r"\p{Lu}"),
        (ALNUM, r"[\p{L}\p{N}]"),
    ],
)
def test_classes_are_unicode_properties(bit: int, pattern: str) -> None:
    belongs = regex.compile(pattern)
    classes = tables().classes
    assert [hex(p) for p in ASSIGNED if bool(classes[p] & bit) != bool(belongs.match(chr(p)))] == []


def test_letters_are_those_of_python() -> None:
    classes = tables().classes
    assert [p for p in range(CODE_POINTS) if bool(classes[p] & ALPHA) != chr(p).isalpha()] == []


def test_terminals_are_those_of_datatrove() -> None:
    ours = {chr(p) for p in range(CODE_POINTS) if tables().classes[p] & TERMINAL}
    assert ours == TERMINAL_PUNCTUATION


def test_lower_case_is_that_of_python_where_it_is_one_code_point() -> None:
    lower = tables().lower
    for point in range(CODE_POINTS):
        folded = chr(point).lower()
        assert lower[point] == (ord(folded) if len(folded) == 1 else point)
