"""Words, folding, normalization and counts against the slow and obvious reading of their definitions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain_words

from tonnage.kernels.normalize import normalize
from tonnage.kernels.statistics import STOP_WORDS, statistics
from tonnage.kernels.tables import CODE_POINTS, UNSPACED, tables
from tonnage.kernels.words import HAS_ALPHA, IS_SILENT, IS_UNSPACED, fold_text, scan_words
from tonnage.store.arrow_text import buffers, from_buffers

LETTERS = (
    "aZé İßΣς ñ.,;!-'\"#…\n\t\r\x0b\x0c\x1c\x85\u00a0\u2028\u3000\u200b\u0301你好。かカไก่ลາကិ་བ๓9½٣😀�\U0001f1e9\ufeff"
)
TEXT = st.one_of(st.text(alphabet=LETTERS, max_size=60), st.text(max_size=30))
TEXTS = st.lists(TEXT, max_size=6)


def column(texts: list[str]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_words_are_those_of_the_definition(texts: list[str]) -> None:
    data, offsets = buffers(column(texts))
    found = scan_words(data, offsets)
    raw = data.tobytes()
    expected = [plain_words.words(text) for text in texts]
    flat = [word for words in expected for word in words]
    assert [raw[a:b].decode() for a, b in zip(found.start.tolist(), found.end.tolist(), strict=True)] == flat
    assert [b - a for a, b in zip(found.first[:-1].tolist(), found.first[1:].tolist(), strict=True)] == [
        len(words) for words in expected
    ]
    assert found.chars.tolist() == [len(word) for word in flat]
    folded = [plain_words.fold(word) for word in flat]
    assert found.folded_chars.tolist() == [len(word) for word in folded]
    by_word: dict[str, int] = {}
    for word, value in zip(folded, found.folded.tolist(), strict=True):
        assert by_word.setdefault(word, value) == value
        assert (value == 0) == (word == "")
    assert len(set(by_word.values())) == len(by_word)
    assert [bool(flag & IS_UNSPACED) for flag in found.flags] == [plain_words.is_unspaced(word[0]) for word in flat]
    assert [bool(flag & IS_SILENT) for flag in found.flags] == [all(map(plain_words.is_silent, word)) for word in flat]
    assert [bool(flag & HAS_ALPHA) for flag in found.flags] == [any(c.isalpha() for c in word) for word in flat]


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_folded_text_is_the_folded_words_joined_by_spaces(texts: list[str]) -> None:
    folded = from_buffers(*fold_text(*buffers(column(texts)))).to_pylist()
    expected = [" ".join(w for w in map(plain_words.fold, plain_words.words(text)) if w) for text in texts]
    assert folded == expected


def test_a_slice_of_a_column_gives_the_words_of_its_own_rows() -> None:
    texts = column(["first text", "second one", "third"])
    data, offsets = buffers(texts.slice(1, 1))
    found = scan_words(data, offsets)
    assert [data[a:b].tobytes() for a, b in zip(found.start, found.end, strict=True)] == [b"second", b"one"]


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_statistics_equal_plain_counts(texts: list[str]) -> None:
    data, offsets = buffers(column(texts))
    found = statistics(data, offsets, scan_words(data, offsets))
    for index, text in enumerate(texts):
        words = plain_words.words(text)
        wordlike = [word for word in words if not all(map(plain_words.is_silent, word))]
        assert found.chars[index] == len(text)
        assert found.hashes[index] == text.count("#")
        assert found.ellipses[index] == text.count("...") + text.count("…")
        assert found.replacement[index] == text.count("\ufffd")
        assert found.white[index] == sum(c in plain_words.WHITE for c in text)
        assert found.digits[index] == sum(c.isdecimal() for c in text)
        assert found.words[index] == len(words)
        assert found.wordlike[index] == len(wordlike)
        assert found.wordlike_chars[index] == sum(map(len, wordlike))
        assert found.longest_word[index] == max(map(len, words), default=0)
        assert found.alpha_words[index] == sum(any(c.isalpha() for c in word) for word in words)
        assert found.stop_words[index] == len(set(STOP_WORDS) & set(words))


@pytest.mark.parametrize(("text", "count"), [("the be to of and that have with", 8), ("The the, the the", 1), ("", 0)])
def test_stop_words_are_counted_once_and_as_they_stand(text: str, count: int) -> None:
    data, offsets = buffers(column([text]))
    assert statistics(data, offsets, scan_words(data, offsets)).stop_words.tolist() == [count]


def normalized(texts: list[str], limit: int) -> tuple[list[str], list[int], list[int]]:
    found = normalize(*buffers(column(texts)), limit)
    return (
        from_buffers(found.data, found.offsets).to_pylist(),
        found.carriage_returns.tolist(),
        found.runs_cut.tolist(),
    )


def test_line_ends_become_line_feeds_and_are_counted() -> None:
    assert normalized(["a\r\nb\rc\n", "\r\r\n"], 128) == (["a\nb\nc\n", "\n\n"], [2, 2], [0, 0])


def test_long_runs_of_white_space_are_cut_and_both_words_stay() -> None:
    texts, _, cut = normalized(["word" + " " * 5_000_000 + "word", "a \u3000\n b"], 3)
    assert texts == ["word   word", "a \u3000\nb"]
    assert cut == [1, 1]


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_normalizing_twice_changes_nothing_more(texts: list[str]) -> None:
    once, _, _ = normalized(texts, 5)
    again, returns, cut = normalized(once, 5)
    assert again == once
    assert sum(returns) == sum(cut) == 0
    assert [plain_words.words(text) for text in once] == [plain_words.words(text) for text in texts]


def test_letters_of_unspaced_scripts_are_those_that_unicode_names_so() -> None:
    found = tables().classes & UNSPACED
    assert [point for point in range(CODE_POINTS) if bool(found[point]) != plain_words.is_unspaced(chr(point))] == []
