"""Why C4 drops lines and pages, against datatrove's filter; and lines that end at other separators than a line feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from unittest import mock

import pyarrow as pa
import pytest
from datatrove.data import Document
from datatrove.pipeline.filters import C4QualityFilter, c4_filters
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels.lines import Lines, measure_lines
from tonnage.kernels.phrases import PHRASES
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

BREAKS = ["\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]
WORDS = ["so ", "it is ", "ba use of ", "java ", "é ", "• ", "- ", "{", "[", "]", "[12]", "[edit]", "[citation needed]"]
ENDS = [".", "..", "...", "?", '"', "'", ".)", "…", "done."]
PHRASE_TEXTS = [phrase.decode() for phrase, _ in PHRASES]
PIECES = st.sampled_from([*BREAKS, *WORDS, *ENDS, *(f"{text} " for text in PHRASE_TEXTS), "JavaScript ", "USE COOKIES"])
TEXT = st.lists(PIECES, max_size=25).map("".join)


def measured(*texts: str) -> Lines:
    data, offsets = buffers(pa.array(texts, pa.large_string()))
    return measure_lines(data, offsets, scan_words(data, offsets))


@pytest.fixture(autouse=True, scope="module")
def every_line_one_sentence() -> Iterator[None]:
    """datatrove's sentence splitter is an English model; here only lines are compared."""
    with mock.patch.object(c4_filters, "split_into_sentences", lambda line, language: [line]):
        yield


def line_counts(text: str) -> Counter[str]:
    rule = C4QualityFilter(min_num_sentences=0, filter_curly_bracket=False, filter_lorem_ipsum=False)
    rule.filter(Document(text=text, id=""))
    return Counter({name: int(each.total) for name, each in rule.stats.stats.items()})


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_lines_fall_for_the_reasons_of_datatrove(text: str) -> None:
    found, expected = measured(text), line_counts(text)
    assert found.split_lines.tolist() == [len(text.splitlines())] == [expected["line-total"]]
    assert found.javascript.tolist() == [expected["line-filter-javascript"]]
    assert found.policy.tolist() == [expected["line-filter-policy"]]
    assert found.c4_lines.tolist() == [expected["line-kept"]]


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_pages_fall_for_lorem_ipsum_and_curly_brackets_as_in_datatrove(text: str) -> None:
    for lorem in (True, False):
        rule = C4QualityFilter(min_num_sentences=0, filter_curly_bracket=not lorem, filter_lorem_ipsum=lorem)
        falls = rule.filter(Document(text=text, id="")) is not True
        found = measured(text)
        assert bool(found.lorem[0] if lorem else found.curly[0]) == falls


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_lines_between_line_feeds_and_lines_of_all_separators(text: str) -> None:
    found = measured(text)
    between = text.split("\n")
    between = between[:-1] if between[-1] == "" else between
    assert found.lines.tolist() == [len(between)]
    assert found.line_chars.tolist() == [sum(map(len, between))]
    assert found.max_chars.tolist() == [max(map(len, between), default=0)]
    assert found.newlines.tolist() == [text.count("\n")]
    assert found.filled.tolist() == [sum(bool(line.strip()) for line in between)]
    assert found.bullets.tolist() == [sum(line.lstrip().startswith(("•", "-")) for line in text.splitlines())]
    assert found.ellipses.tolist() == [sum(line.rstrip().endswith(("...", "…")) for line in text.splitlines())]


@pytest.mark.parametrize("phrase", PHRASE_TEXTS)
def test_a_phrase_is_found_wherever_it_stands_and_nowhere_else(phrase: str) -> None:
    texts = [f"{'x' * before} a b {phrase}{'y' * after}." for before in range(20) for after in range(3)]
    for whole in (texts, [text.upper() for text in texts]):
        found = measured(*whole)
        assert (found.lorem + found.javascript + found.policy).tolist() == [1] * len(texts)
    broken = [f"a b {phrase[:cut]}_{phrase[cut + 1 :]} c." for cut in range(len(phrase))]
    found = measured(*broken)
    assert (found.lorem + found.javascript + found.policy).tolist() == [0] * len(broken)


def test_a_word_of_more_than_a_thousand_characters_drops_its_line() -> None:
    texts = [f"{'é' * length} and so on." for length in (1000, 1001)]
    assert measured(*texts).c4_lines.tolist() == [1, 0] == [line_counts(text)["line-kept"] for text in texts]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("one two three.[1] Four.[2][3]", 2),
        ('He said "so it is.") Then left.', 2),
        ("Was it? It was\u203d And over!", 3),
        ("«Sie kam.» Er ging ‘so.’", 0),  # no line for C4: it ends in a mark that it does not know
        ("«Sie kam.» Er ging.", 2),
        ('she said so "', 1),  # a kept line has at least one
        ("a.b.c d.e f.", 1),
    ],
)
def test_sentences_end_with_their_words(text: str, sentences: int) -> None:
    assert measured(text).c4_sentences.tolist() == [sentences]
