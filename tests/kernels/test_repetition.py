"""Repetition sums against a brute-force reading of the definitions with Counter and sets of strings."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels.repetition import DUP_NGRAMS, TOP_NGRAMS, Repetition, repetition

# Unicode's White_Space (PropList.txt), which differs from str.isspace in U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_SPACE = re.compile(f"[^{WHITE_SPACE}]+")
OUTER_SPACE = re.compile(rf"\A[{WHITE_SPACE}]+|[{WHITE_SPACE}]+\Z")


class PlainWords(NamedTuple):
    """What a word scan hands over, made in plain Python: white-space words, folded to their letters and digits."""

    first: np.ndarray
    start: np.ndarray
    end: np.ndarray
    folded: np.ndarray
    folded_chars: np.ndarray


def fold(word: str) -> str:
    return "".join(character for character in word.lower() if character.isalnum())


def folded_words(text: str) -> list[str]:
    return [word for word in map(fold, NOT_SPACE.findall(text)) if word]


def as_arrays(texts: list[str], before: bytes = b"") -> tuple[np.ndarray, np.ndarray, PlainWords]:
    """The kernel's arguments for `texts`; `before` are bytes in front of the first document, as in a sliced column."""
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([len(before), *map(len, encoded)], dtype=np.int64)
    data = np.frombuffer(b"".join([before, *encoded, b"behind\nthe last\n"]), np.uint8)
    first, start, end, folded, folded_chars = [0], [], [], [], []
    for text, offset in zip(texts, offsets, strict=False):
        for match in NOT_SPACE.finditer(text):
            start.append(offset + len(text[: match.start()].encode()))
            end.append(start[-1] + len(match[0].encode()))
            word = fold(match[0])
            folded.append(xxhash.xxh3_64_intdigest(word.encode()) if word else 0)
            folded_chars.append(len(word))
        first.append(len(start))
    words = PlainWords(
        np.array(first, np.int64),
        np.array(start, np.int64),
        np.array(end, np.int64),
        np.array(folded, np.uint64),
        np.array(folded_chars, np.int32),
    )
    return data, offsets, words


def measured(*texts: str) -> list[dict[str, object]]:
    return rows(repetition(*as_arrays(list(texts))))


def rows(result: Repetition) -> list[dict[str, object]]:
    columns = {name: column.tolist() for name, column in result._asdict().items()}
    return [{name: column[row] for name, column in columns.items()} for row in range(len(result.chars))]


def duplicates(elements: list[str]) -> tuple[int, int]:
    counts = Counter(elements)
    return sum(n - 1 for n in counts.values()), sum((n - 1) * len(element) for element, n in counts.items())


def top_chars(words: list[str], size: int) -> int:
    ngrams = Counter(" ".join(words[at : at + size]) for at in range(len(words) - size + 1))
    if not ngrams:
        return 0
    ngram, times = ngrams.most_common(1)[0]
    return len(ngram) * times


def dup_chars(words: list[str], size: int) -> int:
    seen: set[tuple[str, ...]] = set()
    total, at = 0, 0
    while at + size <= len(words):
        ngram = tuple(words[at : at + size])
        if ngram in seen:
            total += len("".join(ngram))
            at += size
        else:
            seen.add(ngram)
            at += 1
    return total


def expected(text: str) -> dict[str, object]:
    lines = [line for line in re.split(r"\n+", text) if NOT_SPACE.search(line)]
    paragraphs = [part for part in re.split(r"\n{2,}", re.sub(OUTER_SPACE, "", text)) if NOT_SPACE.search(part)]
    words = folded_words(text)
    dup_lines, dup_line_chars = duplicates(lines)
    dup_paragraphs, dup_paragraph_chars = duplicates(paragraphs)
    return {
        "chars": len(text),
        "lines": len(lines),
        "dup_lines": dup_lines,
        "dup_line_chars": dup_line_chars,
        "paragraphs": len(paragraphs),
        "dup_paragraphs": dup_paragraphs,
        "dup_paragraph_chars": dup_paragraph_chars,
        "top_chars": [top_chars(words, size) for size in TOP_NGRAMS],
        "dup_chars": [dup_chars(words, size) for size in DUP_NGRAMS],
    }


PIECES = [
    "one",
    "two",
    "One,",
    "three",
    "é",
    "漢字",
    "-",
    "…",
    "😀",
    " ",
    "\t",
    "\u2003",
    "\n",
    "\n\n",
    "\n \n",
    "\x1c",
    "\0",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=80).map(" ".join) | st.lists(
    st.sampled_from(PIECES), max_size=80
).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, max_size=6))
def test_every_sum_is_that_of_the_definition(texts: list[str]) -> None:
    assert measured(*texts) == [expected(text) for text in texts]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["a b c d e f g h i j", "k l m", "n", "b c", "n o p q r s t u v w x"]), max_size=60))
def test_long_repeated_passages(passages: list[str]) -> None:
    text = "\n".join(passages)
    assert measured(text) == [expected(text)]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    assert measured(text) == [expected(text)]


def test_a_document_is_measured_as_if_alone() -> None:
    texts = ["same line\nsame line", "", "same line\nsame line", "same line", "a b a b a b", "same line\nother"]
    assert measured(*texts) == [measured(text)[0] for text in texts]


def test_offsets_need_not_start_at_zero() -> None:
    texts = ["same line\nsame line", "é b é b"]
    assert rows(repetition(*as_arrays(texts, before="é\nbefore\n".encode()))) == measured(*texts)


def test_no_documents() -> None:
    assert measured() == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\u3000\n ",
        ".",
        "!!!",
        "😀",
        "\n" * 10_000,
        "x" * 1_000_000,
        "123 456 123 456",
        "漢" * 1000,
        "שלום עולם " * 50,
    ],
    ids=["empty", "blanks", "dot", "marks", "emoji", "newlines", "no-space", "digits", "han", "right-to-left"],
)
def test_nothing_or_little_to_measure(text: str) -> None:
    assert measured(text) == [expected(text)]


def test_nothing_but_white_space_has_neither_lines_nor_paragraphs() -> None:
    (row,) = measured("\n \n\n\t\n")
    assert (row["lines"], row["paragraphs"], row["chars"]) == (0, 0, 6)


def test_blank_lines_between_distinct_lines_are_no_duplicates() -> None:
    text = "\n \n\n".join(f"line number {number} of a scan" for number in range(20))
    (row,) = measured(f"\n{text}\n")
    assert (row["lines"], row["dup_lines"], row["dup_line_chars"]) == (20, 0, 0)


def test_a_line_of_blanks_does_not_part_paragraphs() -> None:
    (row,) = measured("one\n \ntwo\n\nthree")
    assert row["paragraphs"] == 2


def test_paragraphs_are_those_of_the_stripped_text() -> None:
    (row,) = measured("  words\nmore\n\nwords\nmore \n\n")
    assert (row["paragraphs"], row["dup_paragraphs"], row["dup_paragraph_chars"]) == (2, 1, len("words\nmore"))
    assert (row["lines"], row["dup_lines"]) == (4, 0)


def test_characters_are_code_points() -> None:
    (row,) = measured("naïve é\nnaïve é")
    assert (row["chars"], row["dup_line_chars"]) == (15, 7)


def test_of_equally_frequent_ngrams_the_first_seen_counts() -> None:
    (row,) = measured("a b x longer words y longer words z a b")
    assert row["top_chars"][0] == 2 * len("a b")
    (row,) = measured("longer words x a b y a b z longer words")
    assert row["top_chars"][0] == 2 * len("longer words")


def test_without_a_repeated_ngram_the_first_one_is_the_top() -> None:
    (row,) = measured("some quite short text")
    assert row["top_chars"] == [len("some quite"), len("some quite short"), len("some quite short text")]


def test_fewer_words_than_n_have_no_ngram() -> None:
    assert [row["top_chars"] for row in measured("one", "one two")] == [[0, 0, 0], [7, 0, 0]]


def test_duplicate_ngrams_do_not_overlap() -> None:
    (row,) = measured(" ".join(["w"] * 16))
    assert row["dup_chars"][0] == 3 * 5  # first seen at 0, again at 1, 6 and 11


def test_words_are_compared_without_case_and_punctuation() -> None:
    plain, marked = measured("the end the end the end", "The end. THE (end) - the end!")
    assert marked["top_chars"] == plain["top_chars"]


def test_many_long_documents_after_each_other() -> None:
    generator = np.random.default_rng(5)
    texts = [" ".join(map(str, generator.integers(0, 40, generator.integers(1, 3000)))) for _ in range(30)]
    assert measured(*texts) == [expected(text) for text in texts]
