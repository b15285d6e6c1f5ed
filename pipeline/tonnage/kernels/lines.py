"""Measures over the lines of each document: Gopher's bullets and ellipses, FineWeb's, C4's, and line lengths for code.

Raw sums only; ratios are made by annotate/heuristics. Definitions, by their readings in datatrove 0.10.1:

- Gopher (Rae et al. 2021, appendix A.1.1; GopherQualityFilter): all lines as str.splitlines cuts them, blank ones too.
- FineWeb (Penedo et al. 2024, section 3.6; FineWebQualityFilter): lines between line feeds that are not blank.
- C4 (Raffel et al. 2020, section 2.2; C4QualityFilter): lines as str.splitlines cuts them, their marks of citations
  ([3], [edit], [citation needed]) taken out. A whole line has 3 words, none of more than 1,000 characters, and ends in
  . ? ! " or ' but not in three dots; only in whole lines "lorem ipsum", "javascript", then a curly bracket and the
  policy phrases are looked for. A kept line is a whole one without "javascript" and policy phrase.

Where this differs: words are those of kernels/words and white space is Unicode's White_Space. So U+001C to U+001E end
no
line, and neither does a carriage return, which normalized text does not hold. Digits of citations are ASCII digits, and
phrases are looked for in the line as it stands. Sentences are counted by a rule of ours, for want of a splitter of
every
language: a sentence ends where a word, closing quotes, brackets and citations aside, ends in . ? ! or another sentence
terminal; a kept line has at least one.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numba import njit

from tonnage.kernels.phrases import JAVASCRIPT, LOREM_IPSUM, POLICY, PROBES, phrases_in
from tonnage.kernels.repetition import _earliest, _hash_bytes, _slots
from tonnage.kernels.tables import TERMINAL, tables
from tonnage.kernels.words import Words, _decode

SHORT_LINE = 30  # characters up to which FineWeb calls a line short
C4_WORDS = 3
C4_WORD_CHARS = 1000

_NEWLINE = 10
_LINES, _MAX_CHARS, _LINE_CHARS, _NEWLINES, _FILLED, _TERMINAL, _SHORT, _DUP_CHARS = range(8)
_SPLIT_LINES, _BULLETS, _ELLIPSES, _C4_LINES, _C4_SENTENCES, _JAVASCRIPT, _POLICY, _LOREM, _CURLY = range(8, 17)
_COLUMNS = 17


class Lines(NamedTuple):
    """Per document, int64[n] each; characters are code points."""

    lines: np.ndarray  # lines between line feeds; what stands behind the last one counts unless it is empty
    max_chars: np.ndarray  # of the longest of these
    line_chars: np.ndarray  # of all of them together, line feeds not counted
    newlines: np.ndarray  # line feeds
    filled: np.ndarray  # of these lines, those that are not blank
    terminal: np.ndarray  # of the filled ones, lines whose last character ends a sentence
    short: np.ndarray  # of the filled ones, lines of at most SHORT_LINE characters
    dup_chars: np.ndarray  # of the filled ones, characters in lines that are equal to an earlier one
    split_lines: np.ndarray  # lines that also end at U+000B, U+000C, U+0085, U+2028 and U+2029, as str.splitlines
    bullets: np.ndarray  # of these, lines that begin with a bullet or hyphen, white space aside
    ellipses: np.ndarray  # of these, lines that end in ... or the ellipsis character, white space aside
    c4_lines: np.ndarray  # of these, lines that C4 keeps
    c4_sentences: np.ndarray  # sentences in lines that C4 keeps
    javascript: np.ndarray  # whole lines with "javascript", any case
    policy: np.ndarray  # whole lines with a policy phrase and without "javascript"
    lorem: np.ndarray  # whole lines with "lorem ipsum", any case
    curly: np.ndarray  # whole lines with an opening curly bracket and without "javascript"


def measure_lines(data: np.ndarray, offsets: np.ndarray, words: Words) -> Lines:
    """Sums of n documents: `data` uint8 (UTF-8), `offsets` int64[n + 1], `words` the scan of the same text."""
    sums = np.zeros((len(offsets) - 1, _COLUMNS), np.int64)
    most = _most_lines(data, offsets)
    _measure(
        data,
        offsets,
        (words.first, words.start, words.end, words.chars),
        tables().classes,
        _ends(),
        _BREAKS,
        PROBES,
        np.empty(most + 1, np.uint64),
        np.zeros(_slots(most + 1), np.uint64),
        sums,
    )
    return Lines(*(np.ascontiguousarray(column) for column in sums.T))


# Bytes at which a line may end: the first bytes of its separators.
_BREAKS = np.isin(np.arange(256), [*b"\n\v\f", 0xC2, 0xE2])

# What the last byte of a word says of a sentence's end. Closing marks may stand between that end and the space.
_NO_END, _END, _CLOSING, _WIDE = range(4)
_WIDE_CLOSING = (0xBB, 0x2019, 0x201D)


@functools.cache
def _ends() -> np.ndarray:
    """uint8[256]: what a byte at a word's end says."""
    ends = np.where(tables().classes[:256] & TERMINAL, _END, _NO_END).astype(np.uint8)
    ends[list(b"\"')]")] = _CLOSING
    ends[0x80:] = _WIDE
    return ends


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
def _next_break(data, begin, stop, breaks):
    """(where the line that begins at `begin` ends, bytes of its separator); none at the end of the document."""
    position = begin
    while position < stop:
        byte = data[position]
        if breaks[byte]:
            if byte < 0x80:
                return position, 1
            if byte == 0xC2 and position + 2 <= stop and data[position + 1] == 0x85:
                return position, 2
            if byte == 0xE2 and position + 3 <= stop and data[position + 1] == 0x80:
                if data[position + 2] == 0xA8 or data[position + 2] == 0xA9:
                    return position, 3
        position += 1
    return stop, 0


@njit(cache=True, nogil=True)
def _chars(text):
    """Code points of UTF-8: the bytes that do not continue another."""
    count = 0
    for byte in text:
        count += (byte & 0xC0) != 0x80
    return count


@njit(cache=True, nogil=True)
def _is_wide(text):
    """Whether there is more than ASCII."""
    every = np.uint8(0)
    for byte in text:
        every |= byte
    return every >= 0x80


@njit(cache=True, nogil=True)
def _holds(text, wanted):
    count = 0
    for byte in text:
        count += byte == wanted
    return count > 0


@njit(cache=True, nogil=True)
def _is_bullet(text):
    """Whether the first character is a hyphen or U+2022."""
    return text[0] == 45 or (len(text) >= 3 and text[0] == 0xE2 and text[1] == 0x80 and text[2] == 0xA2)


@njit(cache=True, nogil=True)
def _ends_in_ellipsis(text):
    """Whether the last characters are three dots or the last one is U+2026."""
    if len(text) < 3:
        return False
    last = text[len(text) - 3 :]
    return (last[0] == 46 and last[1] == 46 and last[2] == 46) or (
        last[0] == 0xE2 and last[1] == 0x80 and last[2] == 0xA6
    )


@njit(cache=True, nogil=True)
def _without_citations(text):
    """`text` without the citations it ends in: [edit], [citation needed], and brackets around nothing but digits."""
    stop = len(text)
    while stop >= 2 and text[stop - 1] == 93:
        begin = stop - 2
        while begin > 0 and text[begin] != 91 and stop - begin <= _LONGEST_CITATION:
            begin -= 1
        if text[begin] != 91 or not _cites(text[begin + 1 : stop - 1]):
            break
        stop = begin
    return text[:stop]


_LONGEST_CITATION = 100  # bytes looked through for the opening bracket
_EDIT = np.frombuffer(b"edit", np.uint8)
_NEEDED = np.frombuffer(b"citation needed", np.uint8)


@njit(cache=True, nogil=True)
def _cites(inner):
    digits = 0
    for byte in inner:
        digits += 48 <= byte <= 57
    return digits == len(inner) or np.array_equal(inner, _EDIT) or np.array_equal(inner, _NEEDED)


@njit(cache=True, nogil=True)
def _c4_ending(text):
    """Whether C4 takes the line's end for one of a sentence: . ? ! " or ', but not three dots."""
    text = _without_citations(text)
    if len(text) == 0:
        return False
    last = text[len(text) - 1]
    if last != 46:
        return last == 63 or last == 33 or last == 34 or last == 39
    for _ in range(2):
        text = _without_citations(text[: len(text) - 1])
        if len(text) == 0 or text[len(text) - 1] != 46:
            return True
    return False


@njit(cache=True, nogil=True)
def _last_point(text):
    """The last code point of `text`, which is not empty, and how many bytes it has."""
    position = len(text) - 1
    if text[position] < 0x80:
        return np.int64(text[position]), 1
    while position > 0 and text[position] & 0xC0 == 0x80:
        position -= 1
    if text[position] < 0x80:
        return np.int64(0xFFFD), len(text) - position
    point, length = _decode(text, position, len(text))
    return point, length


@njit(cache=True, nogil=True)
def _ends_sentence(word, classes, ends):
    """Whether a word that ends in a closing mark or in a wide character ends a sentence."""
    word = _without_citations(word)
    while len(word) > 0:
        end = ends[word[len(word) - 1]]
        if end <= _END:
            return end == _END
        point, length = _last_point(word)
        if end == _WIDE and point not in _WIDE_CLOSING:
            return (classes[point] & TERMINAL) != 0
        word = _without_citations(word[: len(word) - length])
    return False


@njit(cache=True, nogil=True)
def _sentences(data, start, end, classes, ends):
    """Sentences in a kept line of these words."""
    count = 0
    for word in range(len(start)):
        last = ends[data[end[word] - 1]]
        if last == _END or (last != _NO_END and _ends_sentence(data[start[word] : end[word]], classes, ends)):
            count += 1
    return max(count, 1)


@njit(cache=True, nogil=True)
def _c4_line(data, text, words, classes, ends, probes, row):
    """Adds a line that is not blank: `text` from its first word to its last, `words` their start, end and chars."""
    start, end, chars = words
    if len(start) < C4_WORDS or (len(text) > C4_WORD_CHARS and chars.max() > C4_WORD_CHARS) or not _c4_ending(text):
        return
    found = phrases_in(text, probes)
    row[_LOREM] += (found & LOREM_IPSUM) != 0
    if found & JAVASCRIPT:
        row[_JAVASCRIPT] += 1
        return
    row[_CURLY] += _holds(text, 123)
    if found & POLICY:
        row[_POLICY] += 1
        return
    row[_C4_LINES] += 1
    row[_C4_SENTENCES] += _sentences(data, start, end, classes, ends)


@njit(cache=True, nogil=True)
def _fineweb_line(line, classes, generation, hashes, table, chars, row):
    """Adds a line between line feeds that is not blank."""
    row[_TERMINAL] += (classes[_last_point(line)[0]] & TERMINAL) != 0
    row[_SHORT] += chars <= SHORT_LINE
    filled = row[_FILLED]
    hashes[filled] = _hash_bytes(line, 0, len(line))
    if _earliest(table, np.uint64(len(table) - 1), generation, hashes, filled) != filled:
        row[_DUP_CHARS] += chars
    row[_FILLED] += 1


@njit(cache=True, nogil=True)
def _measure(data, offsets, words, classes, ends, breaks, probes, hashes, table, sums):
    first, start, end, word_chars = words
    for document in range(len(offsets) - 1):
        stop = offsets[document + 1]
        row = sums[document]
        wide = _is_wide(data[offsets[document] : stop])
        word = first[document]
        last = first[document + 1]
        line_begin = offsets[document]
        line_word = word
        begin = line_begin
        while begin < stop:
            split_word = word
            line_end, width = _next_break(data, begin, stop, breaks)
            while word < last and start[word] < line_end:
                word += 1
            row[_SPLIT_LINES] += 1
            if word > split_word:
                text = data[start[split_word] : end[word - 1]]
                row[_BULLETS] += _is_bullet(text)
                row[_ELLIPSES] += _ends_in_ellipsis(text)
                line_words = (start[split_word:word], end[split_word:word], word_chars[split_word:word])
                _c4_line(data, text, line_words, classes, ends, probes, row)
            begin = line_end + width
            if begin < stop and data[line_end] != _NEWLINE:
                continue
            newline = width > 0 and data[line_end] == _NEWLINE
            line = data[line_begin : line_end if newline else stop]
            chars = _chars(line) if wide else len(line)
            row[_LINES] += 1
            row[_NEWLINES] += newline
            row[_LINE_CHARS] += chars
            row[_MAX_CHARS] = max(row[_MAX_CHARS], chars)
            if word > line_word:
                _fineweb_line(line, classes, np.uint64(document + 1), hashes, table, chars, row)
            line_begin = begin
            line_word = word
