"""Marker counts against a regular expression that tries longer patterns first."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels import markers
from tonnage.kernels.markers import build_trie, count_matches
from tonnage.store.arrow_text import buffers

PATTERNS = st.lists(st.text("ab<|é", min_size=1, max_size=4), max_size=5)


def _counts(patterns: list[str], texts: list[str]) -> list[int]:
    data, offsets = buffers(pa.array(texts, pa.large_string()))
    return count_matches(data, offsets, build_trie([pattern.encode() for pattern in patterns])).tolist()


@given(PATTERNS, st.lists(st.text("ab<|é", max_size=20), max_size=4))
@settings(max_examples=200, deadline=None)
def test_leftmost_longest_without_overlap(patterns: list[str], texts: list[str]) -> None:
    alternatives = "|".join(re.escape(pattern) for pattern in sorted(patterns, key=len, reverse=True))
    expected = [len(re.findall(alternatives, text)) if patterns else 0 for text in texts]
    assert _counts(patterns, texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["<|end|>", "no marker", "<|end|><|end|>x<|end"], [1, 0, 2]),
        (["<|end", "|>"], [0, 0]),  # a marker does not reach over the border of documents
        (["<<|end|>>"], [1]),
        (["", ""], [0, 0]),
    ],
)
def test_counts_belong_to_their_documents(texts: list[str], expected: list[int]) -> None:
    assert _counts(["<|end|>"], texts) == expected


def test_matches_that_lie_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a<|end|>", "", "<|end|><|end|>b", "<|end"]
    for block in range(1, 12):
        monkeypatch.setattr(markers, "BLOCK", block)
        assert _counts(["<|end|>", "end"], texts) == [1, 0, 2, 1]
