"""Line measures against plain Python and against datatrove's C4 filter, on lines made of what the rules look for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from datatrove.data import Document
from datatrove.pipeline.filters import C4QualityFilter, c4_filters
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonnage.kernels.lines import Lines, measure_lines
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

PIECES = st.sampled_from(
    [
        "a",
        "word",
        "two words",
        " ",
        "  ",
        "\n",
        "\n\n",
        ".",
        "...",
        "…",
        "?",
        '"',
        "-",
        "•",
        "#",
        "é",
        "。",
        "JavaScript ",
        "javascript",
        "cookie policy",
        "Use of cookies",
        "terms of use",
        "privacy",
        "[3]",
        "[edit]",
        "end.",
    ]
)
TEXT = st.lists(PIECES, max_size=25).map("".join)


def measured(texts: list[str]) -> Lines:
    data, offsets = buffers(pa.array(texts, pa.large_string()))
    return measure_lines(data, offsets, scan_words(data, offsets))


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXT, max_size=4))
def test_line_counts_equal_plain_counts(texts: list[str]) -> None:
    found = measured(texts)
    for index, text in enumerate(texts):
        lines = text.splitlines()
        filled = [line for line in text.split("\n") if line.strip()]
        assert found.lines[index] == found.split_lines[index] == len(lines)
        assert found.bullets[index] == sum(line.lstrip().startswith(("•", "-")) for line in lines)
        assert found.ellipses[index] == sum(line.rstrip().endswith(("...", "…")) for line in lines)
        assert found.filled[index] == len(filled)
        assert found.terminal[index] == sum(line.endswith((".", "?", "!", "。")) for line in filled)
        assert found.short[index] == sum(len(line) <= 30 for line in filled)
        assert found.newlines[index] == text.count("\n")
        repeated = [line for place, line in enumerate(filled) if line in filled[:place]]
        assert found.dup_chars[index] == sum(map(len, repeated))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT)
def test_lines_that_c4_keeps_are_those_of_its_filter(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c4_filters, "split_into_sentences", lambda line, language: [line])
    rule = C4QualityFilter(min_num_sentences=0, filter_curly_bracket=False, filter_lorem_ipsum=False)
    rule.filter(Document(text=text, id=""))
    kept = rule.stats.stats["line-kept"].total if "line-kept" in rule.stats.stats else 0
    assert measured([text]).c4_lines[0] == kept


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It is so. Is it? Yes!", 3),
        ('He said "so." Then he left.', 2),
        ("Version 3.14 is out today.", 1),
        ("too short.", 0),
    ],
)
def test_sentences_of_kept_lines(text: str, sentences: int) -> None:
    assert measured([text]).c4_sentences.tolist() == [sentences]
