"""Measures over the lines of each document: Gopher's bullets and ellipses, FineWeb's, C4's, and line lengths for code.

Raw sums only; ratios are made by annotate/heuristics. Definitions, by their readings in datatrove 0.10.1:

- Gopher (Rae et al. 2021, appendix A.1.1; GopherQualityFilter): all lines as str.splitlines cuts them, blank ones too.
- FineWeb (Penedo et al. 2024, section 3.6; FineWebQualityFilter): lines between line feeds that are not blank.
- C4 (Raffel et al. 2020, section 2.2; C4QualityFilter): lines as str.splitlines cuts them, their marks of citations
  ([3], [edit], [citation needed]) taken out. A whole line has 3 words, none of more than 1,000 characters, and ends in
  . ? ! " or ' but not in three dots; only in whole lines "lorem ipsum", "javascript", then a curly bracket and the
  policy phrases are looked for. A kept line is a whole one without "javascript" and policy phrase.

Where this differs: words are those of kernels/words and white space is Unicode's White_Space. So U+001C to U+001E end
no line, and neither does a carriage return, which normalized text does not hold. Digits of citations are ASCII digits,
and phrases are looked for in the line as it stands. Sentences are counted by a rule of ours, for want of a splitter of
every language: a sentence ends where a word, closing quotes, brackets and citations aside, ends in . ? ! or another
sentence terminal; a kept line has at least one.
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
        words.first,
        words.start,
        words.end,
        words.chars,
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
            if (
                byte == 0xE2
                and position + 3 <= stop
                and data[position + 1] == 0x80
                and data[position + 2] & 0xFE == 0xA8
            ):
                return position, 3
        position += 1
    return stop, 0


@njit(cache=True, nogil=True)
def _is_wide(text):
    """Whether there is more than ASCII."""
    every = np.uint8(0)
    for byte in text:
        every |= byte
    return every >= 0x80


@njit(cache=True, nogil=True)
def _chars(data, begin, stop):
    """Code points of UTF-8: the bytes that do not continue another."""
    count = 0
    for position in range(begin, stop):
        count += (data[position] & 0xC0) != 0x80
    return count


@njit(cache=True, nogil=True)
def _holds_curly(data, begin, stop):
    count = 0
    for position in range(begin, stop):
        count += data[position] == 123
    return count > 0


@njit(cache=True, nogil=True)
def _is_bullet(data, begin, stop):
    """Whether the first character is a hyphen or U+2022."""
    if data[begin] == 45:
        return True
    return stop - begin >= 3 and data[begin] == 0xE2 and data[begin + 1] == 0x80 and data[begin + 2] == 0xA2


@njit(cache=True, nogil=True)
def _ends_in_ellipsis(data, begin, stop):
    """Whether the last characters are three dots or the last one is U+2026."""
    if stop - begin < 3:
        return False
    last = data[stop - 1]
    if last == 46:
        return data[stop - 2] == 46 and data[stop - 3] == 46
    return last == 0xA6 and data[stop - 2] == 0x80 and data[stop - 3] == 0xE2


_MARKS = np.frombuffer(b"[edit][citation needed]", np.uint8)  # of six and of seventeen bytes


@njit(cache=True, nogil=True)
def _is_mark(data, begin, first, last):
    """Whether the citation mark _MARKS[first:last] stands at `begin`."""
    for place in range(first, last):
        if data[begin + place - first] != _MARKS[place]:
            return False
    return True


@njit(cache=True, nogil=True)
def _without_citations(data, begin, stop):
    """Where data[begin:stop] ends without citations: [edit], [citation needed], and brackets around nothing but
    digits.
    """
    while stop - begin >= 2 and data[stop - 1] == 93:
        opening = stop - 2
        while opening > begin and 48 <= data[opening] <= 57:
            opening -= 1
        if data[opening] == 91:
            stop = opening
        elif stop - begin >= 6 and _is_mark(data, stop - 6, 0, 6):
            stop -= 6
        elif stop - begin >= 17 and _is_mark(data, stop - 17, 6, 23):
            stop -= 17
        else:
            break
    return stop


@njit(cache=True, nogil=True)
def _c4_ending(data, begin, stop):
    """Whether C4 takes the line's end for one of a sentence: . ? ! " or ', but not three dots."""
    stop = _without_citations(data, begin, stop)
    if stop == begin:
        return False
    last = data[stop - 1]
    if last != 46:
        return last == 63 or last == 33 or last == 34 or last == 39
    for _ in range(2):
        stop = _without_citations(data, begin, stop - 1)
        if stop == begin or data[stop - 1] != 46:
            return True
    return False


@njit(cache=True, nogil=True)
def _last_point(data, begin, stop):
    """The last code point of data[begin:stop], which is not empty, and where it begins."""
    position = stop - 1
    if data[position] < 0x80:
        return np.int64(data[position]), position
    while position > begin and data[position] & 0xC0 == 0x80:
        position -= 1
    if data[position] < 0x80:
        return np.int64(0xFFFD), position
    point, _ = _decode(data, position, stop)
    return point, position


@njit(cache=True, nogil=True)
def _ends_sentence(data, begin, stop, classes, ends):
    """Whether a word that ends in a closing mark or in a wide character ends a sentence."""
    stop = _without_citations(data, begin, stop)
    while stop > begin:
        end = ends[data[stop - 1]]
        if end <= _END:
            return end == _END
        point, position = _last_point(data, begin, stop)
        if end == _WIDE and point not in _WIDE_CLOSING:
            return (classes[point] & TERMINAL) != 0
        stop = _without_citations(data, begin, position)
    return False


@njit(cache=True, nogil=True)
def _sentences(data, start, end, word, last, classes, ends):
    """Sentences in a kept line of the words from `word` to `last`."""
    count = 0
    for each in range(word, last):
        kind = ends[data[end[each] - 1]]
        count += kind == _END
        if kind > _END:
            count += _ends_sentence(data, start[each], end[each], classes, ends)
    return max(count, 1)


@njit(cache=True, nogil=True)
def _longest(chars, word, last):
    longest = 0
    for each in range(word, last):
        longest = max(longest, np.int64(chars[each]))
    return longest


@njit(cache=True, nogil=True)
def _c4_line(data, start, end, chars, word, last, classes, ends, probes, row):
    """Adds a line of the words from `word` to `last`."""
    begin, stop = start[word], end[last - 1]
    if last - word < C4_WORDS or not _c4_ending(data, begin, stop):
        return
    if stop - begin > C4_WORD_CHARS and _longest(chars, word, last) > C4_WORD_CHARS:
        return
    found = phrases_in(data, begin, stop, probes)
    row[_LOREM] += (found & LOREM_IPSUM) != 0
    if found & JAVASCRIPT:
        row[_JAVASCRIPT] += 1
        return
    row[_CURLY] += _holds_curly(data, begin, stop)
    if found & POLICY:
        row[_POLICY] += 1
        return
    row[_C4_LINES] += 1
    row[_C4_SENTENCES] += _sentences(data, start, end, word, last, classes, ends)


@njit(cache=True, nogil=True)
def _fineweb_line(data, begin, stop, chars, classes, generation, hashes, table, row):
    """Adds a line between line feeds that is not blank."""
    row[_TERMINAL] += (classes[_last_point(data, begin, stop)[0]] & TERMINAL) != 0
    row[_SHORT] += chars <= SHORT_LINE
    filled = row[_FILLED]
    hashes[filled] = _hash_bytes(data, begin, stop)
    if _earliest(table, np.uint64(len(table) - 1), generation, hashes, filled) != filled:
        row[_DUP_CHARS] += chars
    row[_FILLED] += 1


@njit(cache=True, nogil=True)
def _measure(data, offsets, first, start, end, word_chars, classes, ends, breaks, probes, hashes, table, sums):
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
                row[_BULLETS] += _is_bullet(data, start[split_word], end[word - 1])
                row[_ELLIPSES] += _ends_in_ellipsis(data, start[split_word], end[word - 1])
                _c4_line(data, start, end, word_chars, split_word, word, classes, ends, probes, row)
            begin = line_end + width
            if begin < stop and data[line_end] != _NEWLINE:
                continue
            newline = width > 0 and data[line_end] == _NEWLINE
            line_stop = line_end if newline else stop
            chars = _chars(data, line_begin, line_stop) if wide else line_stop - line_begin
            row[_LINES] += 1
            row[_NEWLINES] += newline
            row[_LINE_CHARS] += chars
            row[_MAX_CHARS] = max(row[_MAX_CHARS], chars)
            if word > line_word:
                _fineweb_line(data, line_begin, line_stop, chars, classes, np.uint64(document + 1), hashes, table, row)
            line_begin = begin
            line_word = word
