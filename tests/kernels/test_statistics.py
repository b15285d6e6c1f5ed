"""Counts of characters and long words that the presets for code and noise read, against plain Python."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain_words

from tonnage.kernels.statistics import LONG_WORD, Statistics, statistics
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

PIECES = st.sampled_from(
    [*"aZé9٣½Ⅷ文カ็ .#\n", "the", "The", "to", "with ", "deadBEEF", "x" * 30, "文" * 30, "...", "�"]
)
TEXTS = st.lists(st.lists(PIECES, max_size=30).map("".join), max_size=4)


def measured(*texts: str) -> Statistics:
    data, offsets = buffers(pa.array(texts, pa.large_string()))
    return statistics(data, offsets, scan_words(data, offsets))


def of_category(text: str, *categories: str) -> int:
    return sum(unicodedata.category(character).startswith(categories) for character in text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_characters_and_long_words_equal_plain_counts(texts: list[str]) -> None:
    found = measured(*texts)
    for index, text in enumerate(texts):
        words = plain_words.words(text)
        assert found.digits[index] == of_category(text, "Nd")
        assert found.upper[index] == of_category(text, "Lu")
        assert found.alnum[index] == of_category(text, "L", "N")
        assert found.hex_run[index] == max(map(len, re.findall("[0-9a-fA-F]+", text)), default=0)
        assert found.unspaced[index] == sum(plain_words.is_unspaced(word[0]) for word in words)
        assert found.long_words[index] == sum(len(word) > LONG_WORD for word in words)
        assert found.ellipses[index] == text.count("...") + text.count("…")


@pytest.mark.parametrize("length", [254, 255, 256, 511, 70_000])
def test_counts_hold_beyond_what_a_byte_holds(length: int) -> None:
    for character, column in (("7", "digits"), ("A", "upper"), ("#", "hashes"), (" ", "white"), ("é", "chars")):
        assert getattr(measured(character * length), column).tolist() == [length]


@pytest.mark.parametrize("dots", range(12))
def test_ellipses_do_not_overlap(dots: int) -> None:
    for before in ("", "a", "ab"):
        text = before + "." * dots + "b"
        assert measured(text).ellipses.tolist() == [text.count("...")]


@pytest.mark.parametrize("word", ["the", "be", "to", "of", "and", "that", "have", "with"])
def test_a_stop_word_is_found_at_the_very_end_of_the_data(word: str) -> None:
    data = np.frombuffer(word.encode(), np.uint8)
    offsets = np.array([0, len(data)], np.int64)
    assert statistics(data, offsets, scan_words(data, offsets)).stop_words.tolist() == [1]
    for longer in (f"{word}s", f"a{word}", f"{word}{word}", word.upper(), f"{word},"):
        assert measured(longer).stop_words.tolist() == [0]
