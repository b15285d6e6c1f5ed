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

from tonnage.kernels.compiled import kernel
from tonnage.kernels.hashing import earliest, hash_bytes, slots
from tonnage.kernels.phrases import JAVASCRIPT, LOREM_IPSUM, POLICY, PROBES, phrases_in
from tonnage.kernels.tables import TERMINAL, tables
from tonnage.kernels.words import Words, decode

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
        np.zeros(slots(most + 1), np.uint64),
        sums,
    )
    return Lines(*(np.ascontiguousarray(column) for column in sums.T))


# Bytes at which a line may end: the first bytes of its separators.
_BREAKS = np.isin(np.arange(256), [*b"\n\v\f", 0xC2, 0xE2])

_CLOSING = (0x22, 0x27, 0x29, 0x5D, 0xBB, 0x2019, 0x201D)  # may stand between a sentence's end and the space behind it
_NO_END, _END, _LOOK = 0, 1, 2


@functools.cache
def _ends() -> np.ndarray:
    """uint8[256]: whether a word with this last byte ends a sentence, or has to be looked at."""
    ends = np.where(tables().classes[:256] & TERMINAL, _END, _NO_END).astype(np.uint8)
    ends[[mark for mark in _CLOSING if mark < 0x80]] = _LOOK
    ends[0x80:] = _LOOK
    return ends


@kernel
def _most_lines(data, offsets):
    most = 0
    for document in range(len(offsets) - 1):
        lines = 1
        for byte in data[offsets[document] : offsets[document + 1]]:
            lines += byte == _NEWLINE
        most = max(most, lines)
    return most


@kernel
def _next_break(data, begin, stop, breaks):
    """(where the line that begins at `begin` ends, bytes of its separator); none at the end of the document."""
    position = begin
    width = 0
    while position < stop and width == 0:
        byte = data[position]
        if breaks[byte]:
            if byte < 0x80:
                width = 1
            elif byte == 0xC2:
                width = 2 * (position + 2 <= stop and data[position + 1] == 0x85)
            elif position + 3 <= stop and data[position + 1] == 0x80 and data[position + 2] & 0xFE == 0xA8:
                width = 3
        position += width == 0
    return position, width


@kernel
def _is_wide(text):
    """Whether there is more than ASCII."""
    every = np.uint8(0)
    for byte in text:
        every |= byte
    return every >= 0x80


@kernel
def _chars(data, begin, stop):
    """Code points of UTF-8: the bytes that do not continue another."""
    count = 0
    for position in range(begin, stop):
        count += (data[position] & 0xC0) != 0x80
    return count


@kernel
def _holds_curly(data, begin, stop):
    count = 0
    for position in range(begin, stop):
        count += data[position] == 123
    return count > 0


@kernel
def _is_bullet(data, begin, stop):
    """Whether the first character is a hyphen or U+2022."""
    first = data[begin]
    wide = first == 0xE2 and stop - begin >= 3 and data[begin + 1] == 0x80 and data[begin + 2] == 0xA2
    return wide or first == 45


@kernel
def _ends_in_ellipsis(data, begin, stop):
    """Whether the last characters are three dots or the last one is U+2026."""
    last = data[stop - 1]
    found = False
    if stop - begin >= 3 and (last == 46 or last == 0xA6):
        before, third = data[stop - 2], data[stop - 3]
        found = before == third == 46 if last == 46 else before == 0x80 and third == 0xE2
    return found


_MARKS = np.frombuffer(b"[edit][citation needed]", np.uint8)  # of six and of seventeen bytes


@kernel
def _is_mark(data, begin, first, last):
    """Whether the citation mark _MARKS[first:last] stands at `begin`."""
    place = first
    while place < last and data[begin + place - first] == _MARKS[place]:
        place += 1
    return place == last


@kernel
def _without_citations(data, begin, stop):
    """Where data[begin:stop] ends without citations: [edit], [citation needed], brackets around digits or nothing."""
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


@kernel
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


@kernel
def _last_point(data, begin, stop):
    """The last code point of data[begin:stop], which is not empty, and where it begins."""
    position = stop - 1
    while position > begin and data[position] & 0xC0 == 0x80:
        position -= 1
    point = np.int64(data[position])
    if point >= 0xC0:
        point, _ = decode(data, position, stop)
    return point, position


@kernel
def _ends_sentence(data, begin, stop, classes):
    """Whether a word that ends in a closing mark or in a wide character ends a sentence."""
    found = False
    while stop > begin:
        stop = _without_citations(data, begin, stop)
        point, position = (np.int64(0), begin) if stop == begin else _last_point(data, begin, stop)
        if point in _CLOSING:
            stop = position
        else:
            found = (classes[point] & TERMINAL) != 0
            stop = begin
    return found


@kernel
def _sentences(data, start, end, word, last, classes, ends):
    """Sentences in a kept line of the words from `word` to `last`."""
    count = 0
    for each in range(word, last):
        kind = ends[data[end[each] - 1]]
        count += kind == _END
        if kind == _LOOK:
            count += _ends_sentence(data, start[each], end[each], classes)
    return max(count, 1)


@kernel
def _longest(chars, word, last):
    longest = 0
    for each in range(word, last):
        longest = max(longest, np.int64(chars[each]))
    return longest


@kernel
def _c4_line(data, start, end, chars, word, last, classes, ends, probes, row):
    """Adds a line of the words from `word` to `last`."""
    begin, stop = start[word], end[last - 1]
    whole = last - word >= C4_WORDS and _c4_ending(data, begin, stop)
    if whole and stop - begin > C4_WORD_CHARS:
        whole = _longest(chars, word, last) <= C4_WORD_CHARS
    if whole:
        found = phrases_in(data, begin, stop, probes)
        script = (found & JAVASCRIPT) != 0
        policy = not script and (found & POLICY) != 0
        row[_LOREM] += (found & LOREM_IPSUM) != 0
        row[_JAVASCRIPT] += script
        row[_POLICY] += policy
        row[_CURLY] += not script and _holds_curly(data, begin, stop)
        if not script and not policy:
            row[_C4_LINES] += 1
            row[_C4_SENTENCES] += _sentences(data, start, end, word, last, classes, ends)


@kernel
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
            newline = width == 1 and data[line_end] == _NEWLINE
            if newline or begin >= stop:
                line_stop = line_end if newline else stop
                chars = _chars(data, line_begin, line_stop) if wide else line_stop - line_begin
                row[_LINES] += 1
                row[_NEWLINES] += newline
                row[_LINE_CHARS] += chars
                row[_MAX_CHARS] = max(row[_MAX_CHARS], chars)
                if word > line_word:
                    row[_TERMINAL] += (classes[_last_point(data, line_begin, line_stop)[0]] & TERMINAL) != 0
                    row[_SHORT] += chars <= SHORT_LINE
                    filled = row[_FILLED]
                    hashes[filled] = hash_bytes(data, line_begin, line_stop)
                    if earliest(table, np.uint64(len(table) - 1), np.uint64(document + 1), hashes, filled) != filled:
                        row[_DUP_CHARS] += chars
                    row[_FILLED] += 1
                line_begin = begin
                line_word = word
