"""Measures over the lines of each document: Gopher's bullets and ellipses, FineWeb's, C4's, and line lengths for code.

Raw sums only; ratios are made by annotate/heuristics. A line ends at a line feed, nowhere else; the text behind the last
line feed is a line unless it is empty. Sources of the definitions, by their readings in datatrove 0.10.1:

- Gopher (Rae et al. 2021, appendix A.1.1; GopherQualityFilter): all lines, blank ones too.
- FineWeb (Penedo et al. 2024, section 3.6; FineWebQualityFilter): lines that are not blank.
- C4 (Raffel et al. 2020, section 2.2; C4QualityFilter): a kept line has 3 words, no word over 1,000 characters, ends in
  . ? ! " or ' but not in ..., and holds neither "javascript" nor a phrase of cookie and terms notices. Sentences are
  counted in kept lines by a rule of ours, for want of a splitter of every language: a sentence ends where a word, closing
  quotes and brackets aside, ends in . ? or ! or another sentence terminal; a kept line has at least one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tonnage.kernels.repetition import _earliest, _hash_bytes, _slots
from tonnage.kernels.tables import TERMINAL, WHITE, tables
from tonnage.kernels.words import _decode

SHORT_LINE = 30  # characters up to which FineWeb calls a line short
C4_WORDS = 3
C4_WORD_CHARS = 1000

_NEWLINE = 10
_LINES, _BULLETS, _ELLIPSES, _MAX_CHARS, _LINE_CHARS, _FILLED, _TERMINAL, _SHORT, _DUP_CHARS = range(9)
_C4_LINES, _C4_SENTENCES, _JAVASCRIPT, _POLICY, _LOREM, _CURLY, _NEWLINES = range(9, 16)
_COLUMNS = 16


class Lines(NamedTuple):
    """Per document, int64[n] each; characters are code points."""

    lines: np.ndarray
    bullets: np.ndarray  # lines that begin with a bullet or hyphen, white space aside
    ellipses: np.ndarray  # lines that end in ... or the ellipsis character, white space aside
    max_chars: np.ndarray  # of the longest line
    line_chars: np.ndarray  # of all lines together, line feeds not counted
    filled: np.ndarray  # lines that are not blank
    terminal: np.ndarray  # of these, lines whose last character ends a sentence
    short: np.ndarray  # of these, lines of at most SHORT_LINE characters
    dup_chars: np.ndarray  # of these, characters in lines that are equal to an earlier one
    c4_lines: np.ndarray  # lines that C4 keeps
    c4_sentences: np.ndarray  # sentences in them
    javascript: np.ndarray  # lines with "javascript", any case
    policy: np.ndarray  # lines with a phrase of cookie and terms notices
    lorem: np.ndarray  # times "lorem ipsum" occurs, any case
    curly: np.ndarray  # opening curly brackets
    newlines: np.ndarray  # line feeds


def measure_lines(data: np.ndarray, offsets: np.ndarray) -> Lines:
    """Sums of n documents: `data` uint8 (UTF-8), `offsets` int64[n + 1]."""
    documents = len(offsets) - 1
    sums = np.zeros((documents, _COLUMNS), np.int64)
    most = _most_lines(data, offsets)
    hashes = np.empty(most + 1, np.uint64)
    table = np.zeros(_slots(most + 1), np.uint64)
    _measure(data, offsets, tables().classes, _PHRASES, _PHRASE_ENDS, hashes, table, sums)
    return Lines(*(np.ascontiguousarray(column) for column in sums.T))


# The first two are "javascript" and "lorem ipsum"; the others are C4's policy phrases.
_PHRASE_TEXTS = (
    b"javascript",
    b"lorem ipsum",
    b"terms of use",
    b"privacy policy",
    b"cookie policy",
    b"uses cookies",
    b"use of cookies",
    b"use cookies",
)
_PHRASES = np.frombuffer(b"".join(_PHRASE_TEXTS), np.uint8)
_PHRASE_ENDS = np.cumsum([0, *(len(text) for text in _PHRASE_TEXTS)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _most_lines(data, offsets):
    most = 0
    for document in range(len(offsets) - 1):
        lines = 1
        for byte in data[offsets[document] : offsets[document + 1]]:
            lines += byte == _NEWLINE
        most = max(most, lines)
    return most


@njit(cache=True, nogil=True)
def _lowered(byte):
    return byte + 32 if 65 <= byte <= 90 else byte


@njit(cache=True, nogil=True)
def _phrase_at(data, position, stop, phrases, ends):
    """Index of the phrase that stands at `position`, ASCII case aside, -1 when there is none."""
    first = _lowered(data[position])
    for index in range(len(ends) - 1):
        begin = ends[index]
        length = ends[index + 1] - begin
        if phrases[begin] != first or position + length > stop:
            continue
        place = 1
        while place < length and _lowered(data[position + place]) == phrases[begin + place]:
            place += 1
        if place == length:
            return index
    return -1


@njit(cache=True, nogil=True)
def _closes(point):
    """Quotes and brackets that may stand between the end of a sentence and the space behind it."""
    return (
        point == 0x22
        or point == 0x27
        or point == 0x29
        or point == 0x5D
        or point == 0x2019
        or point == 0x201D
        or point == 0xBB
    )


@njit(cache=True, nogil=True)
def _ends_in_dots(data, begin, stop):
    return stop - begin >= 3 and data[stop - 1] == 46 and data[stop - 2] == 46 and data[stop - 3] == 46


@njit(cache=True, nogil=True)
def _is_bullet(data, begin, stop):
    """Whether the line's first character is a hyphen or U+2022."""
    if data[begin] == 45:
        return True
    return stop - begin >= 3 and data[begin] == 0xE2 and data[begin + 1] == 0x80 and data[begin + 2] == 0xA2


@njit(cache=True, nogil=True)
def _ends_in_ellipsis(data, begin, stop):
    """Whether the line ends in three dots or U+2026."""
    if _ends_in_dots(data, begin, stop):
        return True
    return stop - begin >= 3 and data[stop - 3] == 0xE2 and data[stop - 2] == 0x80 and data[stop - 1] == 0xA6


@njit(cache=True, nogil=True)
def _c4_ending(data, begin, stop):
    byte = data[stop - 1]
    if byte == 46:
        return not _ends_in_dots(data, begin, stop)
    return byte == 63 or byte == 33 or byte == 34 or byte == 39


@njit(cache=True, nogil=True)
def _measure(data, offsets, classes, phrases, phrase_ends, hashes, table, sums):
    for document in range(len(offsets) - 1):
        stop = offsets[document + 1]
        row = sums[document]
        generation = np.uint64(document + 1)
        mask = np.uint64(_slots(len(hashes)) - 1)
        line_begin = offsets[document]
        while line_begin < stop:
            chars = 0
            words = 0
            word_chars = 0
            longest = 0
            sentences = 0
            found = 0  # bit per kind of phrase: 1 javascript, 2 policy
            text_begin = np.int64(-1)
            text_end = line_begin
            last_kind = np.uint16(0)
            ended = False  # the word so far ends in a sentence terminal, closing marks aside
            position = line_begin
            while position < stop and data[position] != _NEWLINE:
                point = np.int64(data[position])
                length = np.int64(1)
                if point >= 0x80:
                    point, length = _decode(data, position, stop)
                else:
                    lowered = point | 32
                    # j, l, t, p, c, u: no phrase begins with another letter
                    if lowered == 106 or lowered == 108 or lowered == 116 or lowered == 112 or lowered == 99 or lowered == 117:
                        phrase = _phrase_at(data, position, stop, phrases, phrase_ends)
                        if phrase == 0:
                            found |= 1
                        elif phrase == 1:
                            row[_LOREM] += 1
                        elif phrase > 1:
                            found |= 2
                    row[_CURLY] += point == 123
                kind = classes[point]
                position += length
                chars += 1
                last_kind = kind
                if kind & WHITE:
                    words += word_chars > 0
                    sentences += ended
                    longest = max(longest, word_chars)
                    word_chars = 0
                    ended = False
                else:
                    if text_begin < 0:
                        text_begin = position - length
                    text_end = position
                    word_chars += 1
                    if kind & TERMINAL:
                        ended = True
                    elif not _closes(point):
                        ended = False
            words += word_chars > 0
            sentences += ended
            longest = max(longest, word_chars)
            row[_LINES] += 1
            row[_LINE_CHARS] += chars
            row[_MAX_CHARS] = max(row[_MAX_CHARS], chars)
            row[_NEWLINES] += position < stop
            row[_JAVASCRIPT] += found & 1
            row[_POLICY] += found >> 1
            if text_begin >= 0:
                row[_BULLETS] += _is_bullet(data, text_begin, text_end)
                row[_ELLIPSES] += _ends_in_ellipsis(data, text_begin, text_end)
                row[_TERMINAL] += (last_kind & TERMINAL) != 0
                row[_SHORT] += chars <= SHORT_LINE
                filled = row[_FILLED]
                hashes[filled] = _hash_bytes(data, line_begin, position)
                if _earliest(table, mask, generation, hashes, filled) != filled:
                    row[_DUP_CHARS] += chars
                row[_FILLED] += 1
                if found == 0 and words >= C4_WORDS and longest <= C4_WORD_CHARS and _c4_ending(data, text_begin, text_end):
                    row[_C4_LINES] += 1
                    row[_C4_SENTENCES] += max(sentences, 1)
            line_begin = position + 1
