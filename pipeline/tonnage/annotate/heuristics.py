"""The heuristics columns: statistics, repetition and line measures of each document, from one scan of its words.

Numbers only: rules decide over them (recipe/presets.yaml), so a threshold can change without reading text again. A
ratio over nothing is null, never NaN. What each sum counts, and after whom, is said where it is counted (kernels/).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tonnage.kernels.lines import Lines, measure_lines
from tonnage.kernels.repetition import DUP_NGRAMS, TOP_NGRAMS, Repetition, repetition
from tonnage.kernels.statistics import Statistics, statistics
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

HEURISTICS_VERSION = 1

_COUNTS = ("bytes", "chars", "words", "wordlike", "longest_word_chars", "stop_words", "lines", "c4_kept_lines")
_MORE_COUNTS = ("c4_sentences", "javascript_lines", "policy_lines", "max_line_chars", "long_hex_chars")
_FLAGS = ("has_lorem_ipsum", "has_curly_bracket")
_RATIOS = (
    "mean_word_chars",  # characters a word that is more than punctuation
    "hash_ratio",  # '#' a word
    "ellipsis_ratio",  # ellipses a word
    "alpha_word_ratio",  # words with a letter
    "unspaced_ratio",  # words that are letters of a script without spaces
    "long_word_ratio",  # words of more than 50 characters
    "bullet_line_ratio",  # lines that begin with a bullet
    "ellipsis_line_ratio",  # lines that end in an ellipsis
    "dup_line_ratio",  # lines seen before
    "dup_line_char_ratio",  # characters in lines seen before
    "dup_paragraph_ratio",
    "dup_paragraph_char_ratio",
    *(f"top_{n}gram_char_ratio" for n in TOP_NGRAMS),  # characters in the most frequent n-gram
    *(f"dup_{n}gram_char_ratio" for n in DUP_NGRAMS),  # characters in n-grams seen before
    "terminal_line_ratio",  # lines, blank ones aside, that end a sentence
    "short_line_ratio",  # lines, blank ones aside, of at most 30 characters
    "fineweb_dup_char_ratio",  # characters in lines seen before, as FineWeb counts
    "newline_word_ratio",  # line feeds a word
    "digit_ratio",  # the rest are shares of the document's characters
    "upper_ratio",
    "non_alnum_ratio",
    "alnum_ratio",
    "replacement_ratio",
    "whitespace_ratio",
    "mean_line_chars",  # characters a line
)

HEURISTICS_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.int64(), nullable=False) for name in (*_COUNTS, *_MORE_COUNTS)),
        *(pa.field(name, pa.bool_(), nullable=False) for name in _FLAGS),
        *(pa.field(name, pa.float32()) for name in _RATIOS),
    ]
)


def heuristics(text: pa.LargeStringArray) -> pa.RecordBatch:
    """One row a document, columns of HEURISTICS_SCHEMA."""
    data, offsets = buffers(text)
    words = scan_words(data, offsets)
    columns = _columns(
        np.diff(offsets),
        statistics(data, offsets, words),
        repetition(data, offsets, words),
        measure_lines(data, offsets, words),
    )
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[field.name], field.type) for field in HEURISTICS_SCHEMA], schema=HEURISTICS_SCHEMA
    )


def warm_up() -> None:
    """Compiles every kernel behind `heuristics`, or loads it from the cache."""
    heuristics(pa.array(["A word, and a second line.\n"], pa.large_string()))


def _columns(sizes: np.ndarray, counts: Statistics, repeats: Repetition, lines: Lines) -> dict[str, object]:
    chars, words = counts.chars, counts.words
    return {
        "bytes": sizes,
        "chars": chars,
        "words": words,
        "wordlike": counts.wordlike,
        "longest_word_chars": counts.longest_word,
        "stop_words": counts.stop_words,
        "lines": lines.lines,
        "c4_kept_lines": lines.c4_lines,
        "c4_sentences": lines.c4_sentences,
        "javascript_lines": lines.javascript,
        "policy_lines": lines.policy,
        "max_line_chars": lines.max_chars,
        "long_hex_chars": counts.hex_run,
        "has_lorem_ipsum": lines.lorem > 0,
        "has_curly_bracket": lines.curly > 0,
        "mean_word_chars": _ratio(counts.wordlike_chars, counts.wordlike),
        "hash_ratio": _ratio(counts.hashes, words),
        "ellipsis_ratio": _ratio(counts.ellipses, words),
        "alpha_word_ratio": _ratio(counts.alpha_words, words),
        "unspaced_ratio": _ratio(counts.unspaced, words),
        "long_word_ratio": _ratio(counts.long_words, words),
        "bullet_line_ratio": _ratio(lines.bullets, lines.split_lines),
        "ellipsis_line_ratio": _ratio(lines.ellipses, lines.split_lines),
        "terminal_line_ratio": _ratio(lines.terminal, lines.filled),
        "short_line_ratio": _ratio(lines.short, lines.filled),
        "fineweb_dup_char_ratio": _ratio(lines.dup_chars, lines.line_chars),
        "newline_word_ratio": _ratio(lines.newlines, words),
        "digit_ratio": _ratio(counts.digits, chars),
        "upper_ratio": _ratio(counts.upper, chars),
        "non_alnum_ratio": _ratio(chars - counts.alnum, chars),
        "alnum_ratio": _ratio(counts.alnum, chars),
        "replacement_ratio": _ratio(counts.replacement, chars),
        "whitespace_ratio": _ratio(counts.white, chars),
        "mean_line_chars": _ratio(lines.line_chars, lines.lines),
        **_repetition_columns(repeats),
    }


def _repetition_columns(repeats: Repetition) -> dict[str, pa.Array]:
    top = {f"top_{n}gram_char_ratio": repeats.top_chars[:, i] for i, n in enumerate(TOP_NGRAMS)}
    dup = {f"dup_{n}gram_char_ratio": repeats.dup_chars[:, i] for i, n in enumerate(DUP_NGRAMS)}
    return {
        "dup_line_ratio": _ratio(repeats.dup_lines, repeats.lines),
        "dup_line_char_ratio": _ratio(repeats.dup_line_chars, repeats.chars),
        "dup_paragraph_ratio": _ratio(repeats.dup_paragraphs, repeats.paragraphs),
        "dup_paragraph_char_ratio": _ratio(repeats.dup_paragraph_chars, repeats.chars),
        **{name: _ratio(sums, repeats.chars) for name, sums in {**top, **dup}.items()},
    }


def _ratio(part: np.ndarray, whole: np.ndarray) -> pa.Array:
    """float32 ratios, null where `whole` is 0."""
    nothing = whole == 0
    return pa.array((part / np.where(nothing, 1, whole)).astype(np.float32), mask=nothing)
