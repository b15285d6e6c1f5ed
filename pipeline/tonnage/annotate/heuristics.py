"""The heuristics columns: statistics, repetition and line measures of each document, from one scan of its words.

Numbers only: rules decide over them (recipe/presets.yaml), so a threshold can change without reading text again. A
ratio over nothing is null, never NaN. What each sum counts, and after whom, is said where it is counted (kernels/).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tonnage.kernels.lines import SHORT_LINE, Lines, measure_lines
from tonnage.kernels.repetition import DUP_NGRAMS, TOP_NGRAMS, Repetition, repetition
from tonnage.kernels.statistics import LONG_WORD, Statistics, statistics
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

HEURISTICS_VERSION = 1

_CHARS = "share of the document's characters: "
_COUNTS = {
    "bytes": "UTF-8 bytes",
    "chars": "code points",
    "words": "words (kernels/words): runs without white space; in scripts without spaces, each letter",
    "wordlike": "words that hold more than punctuation and symbols",
    "longest_word_chars": "characters of the longest word",
    "stop_words": "how many of the, be, to, of, and, that, have, with occur, as they stand (Gopher)",
    "lines": "lines between line feeds; what stands behind the last one counts unless it is empty",
    "c4_kept_lines": "lines that C4 keeps (kernels/lines)",
    "c4_sentences": "sentences in the lines that C4 keeps, by our rule (kernels/lines)",
    "javascript_lines": "lines that C4 drops for 'javascript'",
    "policy_lines": "lines that C4 drops for a phrase of cookie notices or terms of use",
    "max_line_chars": "characters of the longest line",
    "long_hex_chars": "length of the longest run of hexadecimal digits",
}
_FLAGS = {
    "has_lorem_ipsum": "'lorem ipsum' stands in a line that ends a sentence, as C4 looks for it",
    "has_curly_bracket": "an opening curly bracket stands in a line that ends a sentence, as C4 looks for it",
}
_RATIOS = {
    "mean_word_chars": "characters a word, over the wordlike",
    "hash_ratio": "'#' a word (Gopher)",
    "ellipsis_ratio": "'...' and U+2026 a word (Gopher)",
    "alpha_word_ratio": "share of the words with a letter (Gopher)",
    "unspaced_ratio": "share of the words that are letters of a script without spaces",
    "long_word_ratio": f"share of the words of more than {LONG_WORD} characters",
    "bullet_line_ratio": "share of the lines that begin with a hyphen or U+2022 (Gopher)",
    "ellipsis_line_ratio": "share of the lines that end in '...' or U+2026 (Gopher)",
    "dup_line_ratio": "share of the lines that were seen before (Gopher)",
    "dup_line_char_ratio": _CHARS + "in lines that were seen before (Gopher)",
    "dup_paragraph_ratio": "share of the paragraphs that were seen before (Gopher)",
    "dup_paragraph_char_ratio": _CHARS + "in paragraphs that were seen before (Gopher)",
    **{f"top_{n}gram_char_ratio": f"{_CHARS}in the most frequent {n} words in a row (Gopher)" for n in TOP_NGRAMS},
    **{f"dup_{n}gram_char_ratio": f"{_CHARS}in {n} words in a row that were seen before (Gopher)" for n in DUP_NGRAMS},
    "terminal_line_ratio": "share of the lines, blank ones aside, whose last character ends a sentence (FineWeb)",
    "short_line_ratio": f"share of the lines, blank ones aside, of at most {SHORT_LINE} characters (FineWeb)",
    "fineweb_dup_char_ratio": "share of the characters, line feeds aside, in lines that were seen before (FineWeb)",
    "newline_word_ratio": "line feeds a word (FineWeb)",
    "digit_ratio": _CHARS + "decimal digits",
    "upper_ratio": _CHARS + "upper-case letters",
    "non_alnum_ratio": _CHARS + "neither letters nor numbers",
    "alnum_ratio": _CHARS + "letters and numbers",
    "replacement_ratio": _CHARS + "U+FFFD, left by a failed decoding",
    "whitespace_ratio": _CHARS + "white space",
    "mean_line_chars": "characters a line",
}


def _field(name: str, kind: pa.DataType, about: str, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"about": about})


# Every field says in its metadata, under "about", what it counts. Ratios are null when there is nothing to divide by.
HEURISTICS_SCHEMA = pa.schema(
    [
        *(_field(name, pa.int64(), about) for name, about in _COUNTS.items()),
        *(_field(name, pa.bool_(), about) for name, about in _FLAGS.items()),
        *(_field(name, pa.float32(), about, nullable=True) for name, about in _RATIOS.items()),
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
