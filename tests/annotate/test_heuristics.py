"""The heuristics columns: nothing to measure, ratios worked out by hand, and independence of neighbours."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.annotate.heuristics import HEURISTICS_SCHEMA, heuristics
from tonnage.recipe.presets import rules_of
from tonnage.recipe.schema import SelectItem
from tonnage.select import columns_needed

# Documents in which there is nothing, or only one kind of thing, to measure.
EXTREMES = {
    "empty": "",
    "blanks": " \t\u00a0 ",
    "full stop": ".",
    "punctuation": "!!!",
    "emoji": "😀",
    "10,000 newlines": "\n" * 10_000,
    "a megabyte without a space": "x" * 1_000_000,
    "digits only": "0123456789" * 20,
    "one character": "a",
    "script without spaces": "你好世界。" * 10,
    "right to left": "שלום עולם. مرحبا بالعالم؟",
    "line separators only": "\u2028\u2029\x85\x0b\x0c",
    "NUL": "\0",
    "replacement characters": "\ufffd\ufffd",
}
WORDLESS = ("empty", "blanks", "10,000 newlines", "line separators only")
RATIOS = [field.name for field in HEURISTICS_SCHEMA if field.type == pa.float32()]
A_WORD = ("hash_ratio", "ellipsis_ratio", "alpha_word_ratio", "unspaced_ratio", "long_word_ratio", "newline_word_ratio")
NOT_SHARES = ("mean_word_chars", "mean_line_chars", "hash_ratio", "ellipsis_ratio", "newline_word_ratio")


def rows(*texts: str) -> list[dict[str, object]]:
    batch = heuristics(pa.array(texts, pa.large_string()))
    batch.validate(full=True)
    return batch.to_pylist()


def ratio(text: str, column: str) -> object:
    return rows(text)[0][column]


@pytest.mark.parametrize("text", EXTREMES.values(), ids=EXTREMES.keys())
def test_every_document_gets_one_row_of_finite_numbers(text: str) -> None:
    (row,) = rows(text)
    assert list(row) == HEURISTICS_SCHEMA.names
    for field in HEURISTICS_SCHEMA:
        value = row[field.name]
        assert (value is not None and math.isfinite(value)) or (value is None and field.nullable), field.name


def test_ratios_over_words_are_null_without_words() -> None:
    for row in rows(*(EXTREMES[name] for name in WORDLESS)):
        assert row["words"] == 0
        assert [row[name] for name in (*A_WORD, "mean_word_chars", "terminal_line_ratio", "short_line_ratio")] == [
            None
        ] * 9


def test_an_empty_document_has_no_ratio_at_all() -> None:
    (row,) = rows("")
    assert [row[name] for name in RATIOS] == [None] * len(RATIOS)


def test_words_of_punctuation_have_no_mean_length() -> None:
    (row,) = rows("!!! ... #")
    assert (row["words"], row["wordlike"], row["mean_word_chars"]) == (3, 0, None)
    assert row["hash_ratio"] == pytest.approx(1 / 3)


def test_no_documents_give_no_rows() -> None:
    assert heuristics(pa.array([], pa.large_string())).num_rows == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="ab .!\n#-…é你\u2028", max_size=80), max_size=5))
def test_a_document_is_measured_alike_in_any_company(texts: list[str]) -> None:
    together = rows(*texts)
    assert together == [rows(text)[0] for text in texts]
    column = pa.array(["first one", *texts], pa.large_string()).slice(1)
    assert heuristics(column).to_pylist() == together


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=200), st.text(alphabet="ab .\n", max_size=200)))
def test_shares_lie_between_nothing_and_all(text: str) -> None:
    (row,) = rows(text)
    for name in RATIOS:
        value = row[name]
        assert value is None or value >= 0, name
        # The most frequent n-gram is counted at each of its places, overlaps too, so its characters can be more.
        if name not in NOT_SHARES and not name.startswith("top_"):
            assert value is None or value <= 1, name


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("one two three four", "words", 4),
        ("one two – three", "wordlike", 3),
        ("ab abcd", "mean_word_chars", 3.0),
        ("a " + "b" * 51, "long_word_ratio", 0.5),
        ("a " + "b" * 50, "long_word_ratio", 0.0),
        ("# a # b", "hash_ratio", 0.5),
        ("so... and so… on", "ellipsis_ratio", 0.5),
        ("one 2 three 4", "alpha_word_ratio", 0.5),
        ("你好 ab cd", "unspaced_ratio", 0.5),
        ("- a\n\n • b\nc", "bullet_line_ratio", 0.5),
        ("a...\nb… \nc\n\n", "ellipsis_line_ratio", 0.5),
        ("- a\x0c- b\u2028c\x85d", "bullet_line_ratio", 0.5),
        ("same\nsame\nother\nlast", "dup_line_ratio", 0.25),
        ("p q\n\np q\n\nr\n\ns", "dup_paragraph_ratio", 0.25),
        ("A.\nB!\nC\n\n \nD", "terminal_line_ratio", 0.5),
        ("A.\n" + "b" * 31, "short_line_ratio", 0.5),
        ("abc\nabc\nde", "fineweb_dup_char_ratio", 3 / 8),
        ("a\nb\nc d", "newline_word_ratio", 0.5),
        ("12ab", "digit_ratio", 0.5),
        ("ABcd", "upper_ratio", 0.5),
        ("ab--", "alnum_ratio", 0.5),
        ("abc-", "non_alnum_ratio", 0.25),
        ("a\ufffd", "replacement_ratio", 0.5),
        ("a \n\u3000", "whitespace_ratio", 0.75),
        ("abcd\nab", "mean_line_chars", 3.0),
        ("abcd\nab", "max_line_chars", 4),
        ("x 0xdeadBEEFx", "long_hex_chars", 8),
        ("é", "bytes", 2),
        ("Never {so} be it.", "has_curly_bracket", True),
        ("if (a) {\nNever so be it.", "has_curly_bracket", False),
        ("Lorem Ipsum is here.", "has_lorem_ipsum", True),
        ("Please enable JavaScript now.\nWe do.", "javascript_lines", 1),
        ("Read the Privacy Policy first.", "policy_lines", 1),
        ("He came. He saw it.[3]", "c4_sentences", 2),
    ],
)
def test_columns_worked_out_by_hand(text: str, column: str, expected: object) -> None:
    assert ratio(text, column) == pytest.approx(expected)


@pytest.mark.parametrize("preset", ["gopher-quality", "gopher-repetition", "fineweb", "c4", "code"])
def test_presets_read_only_columns_that_some_step_makes(preset: str) -> None:
    others = {"kind", "language", "code_language", "is_vendored", "is_generated", "is_minified"}
    assert set(columns_needed(rules_of([SelectItem(use=preset)]))) - others <= set(HEURISTICS_SCHEMA.names)


def test_every_column_says_what_it_counts() -> None:
    assert all(field.metadata[b"about"] for field in HEURISTICS_SCHEMA)
