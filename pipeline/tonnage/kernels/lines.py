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
from tonnage.kernels.tables import TERMINAL, tables
from tonnage.kernels.words import Words, _decode

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


def measure_lines(data: np.ndarray, offsets: np.ndarray, words: Words) -> Lines:
    """Sums of n documents: `data` uint8 (UTF-8), `offsets` int64[n + 1], `words` the scan of the same text."""
    documents = len(offsets) - 1
    sums = np.zeros((documents, _COLUMNS), np.int64)
    most = _most_lines(data, offsets)
    _measure(
        data,
        offsets,
        tables().classes,
        words.first,
        words.start,
        words.end,
        words.chars,
        _TRIGGERS,
        _PHRASES,
        _PHRASE_ENDS,
        _PHRASE_TRIGGERS,
        np.empty(most + 1, np.uint64),
        np.zeros(_slots(most + 1), np.uint64),
        sums,
    )
    return Lines(*(np.ascontiguousarray(column) for column in sums.T))


# Phrases are looked for where a letter stands that is rare in them and in any text: (phrase, place of that letter).
_PHRASE_TEXTS = (
    (b"javascript", 2),
    (b"lorem ipsum", 7),
    (b"terms of use", 7),
    (b"privacy policy", 3),
    (b"cookie policy", 3),
    (b"uses cookies", 8),
    (b"use of cookies", 10),
    (b"use cookies", 7),
)
_JAVASCRIPT_PHRASE, _LOREM_PHRASE = 0, 1  # the others are C4's policy phrases
_PHRASES = np.frombuffer(b"".join(text for text, _ in _PHRASE_TEXTS), np.uint8)
_PHRASE_ENDS = np.cumsum([0, *(len(text) for text, _ in _PHRASE_TEXTS)]).astype(np.int64)
_PHRASE_TRIGGERS = np.array([place for _, place in _PHRASE_TEXTS], np.int64)


def _triggers() -> np.ndarray:
    """bool[256]: bytes at which a phrase has to be looked for."""
    found = np.zeros(256, np.bool_)
    for text, place in _PHRASE_TEXTS:
        found[text[place]] = True
        found[text[place] - 32] = True
    return found


_TRIGGERS = _triggers()


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
def _phrase_around(data, position, begin, stop, phrases, ends, triggers):
    """Index of the phrase in data[begin:stop] whose trigger stands at `position`, ASCII case aside; -1 without one."""
    for index in range(len(ends) - 1):
        text = ends[index]
        length = ends[index + 1] - text
        start = position - triggers[index]
        if start < begin or start + length > stop:
            continue
        place = 0
        while place < length and _lowered(data[start + place]) == phrases[text + place]:
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
def _last_point(data, begin, stop):
    """The last code point of data[begin:stop], which is not empty, and where it begins."""
    position = stop - 1
    while position > begin and data[position] & 0xC0 == 0x80:
        position -= 1
    if data[position] < 0x80:
        return np.int64(data[position]), position
    point, _ = _decode(data, position, stop)
    return point, position


@njit(cache=True, nogil=True)
def _ends_sentence(data, begin, stop, classes):
    """Whether the word data[begin:stop] ends a sentence, closing quotes and brackets aside."""
    while stop > begin:
        point, place = _last_point(data, begin, stop)
        if not _closes(point):
            return (classes[point] & TERMINAL) != 0
        stop = place
    return False


@njit(cache=True, nogil=True)
def _line_end(data, begin, stop, triggers, phrases, ends, phrase_triggers, row):
    """(end of the line, its characters, bits of phrases in it: 1 javascript, 2 policy); counts what is met on the way."""
    stop_of_line = begin
    while stop_of_line < stop and data[stop_of_line] != _NEWLINE:
        stop_of_line += 1
    chars = 0
    found = 0
    for position in range(begin, stop_of_line):
        byte = data[position]
        chars += (byte & 0xC0) != 0x80
        if triggers[byte]:
            phrase = _phrase_around(data, position, begin, stop_of_line, phrases, ends, phrase_triggers)
            if phrase == _JAVASCRIPT_PHRASE:
                found |= 1
            elif phrase == _LOREM_PHRASE:
                row[_LOREM] += 1
            elif phrase >= 0:
                found |= 2
        elif byte == 123:
            row[_CURLY] += 1
    return stop_of_line, chars, found


@njit(cache=True, nogil=True)
def _measure(
    data, offsets, classes, first, start, end, word_chars, triggers, phrases, ends, phrase_triggers, hashes, table, sums
):
    mask = np.uint64(len(table) - 1)
    for document in range(len(offsets) - 1):
        stop = offsets[document + 1]
        row = sums[document]
        word = first[document]
        last = first[document + 1]
        begin = offsets[document]
        while begin < stop:
            line_end, chars, found = _line_end(data, begin, stop, triggers, phrases, ends, phrase_triggers, row)
            row[_LINES] += 1
            row[_LINE_CHARS] += chars
            row[_MAX_CHARS] = max(row[_MAX_CHARS], chars)
            row[_NEWLINES] += line_end < stop
            row[_JAVASCRIPT] += found & 1
            row[_POLICY] += found >> 1
            line_word = word
            longest = 0
            sentences = 0
            while word < last and start[word] < line_end:
                longest = max(longest, np.int64(word_chars[word]))
                sentences += _ends_sentence(data, start[word], end[word], classes)
                word += 1
            if word > line_word:
                text, text_end = start[line_word], end[word - 1]
                row[_BULLETS] += _is_bullet(data, text, text_end)
                row[_ELLIPSES] += _ends_in_ellipsis(data, text, text_end)
                row[_TERMINAL] += (classes[_last_point(data, begin, line_end)[0]] & TERMINAL) != 0
                row[_SHORT] += chars <= SHORT_LINE
                filled = row[_FILLED]
                hashes[filled] = _hash_bytes(data, begin, line_end)
                if _earliest(table, mask, np.uint64(document + 1), hashes, filled) != filled:
                    row[_DUP_CHARS] += chars
                row[_FILLED] += 1
                whole = word - line_word >= C4_WORDS and longest <= C4_WORD_CHARS and found == 0
                if whole and _c4_ending(data, text, text_end):
                    row[_C4_LINES] += 1
                    row[_C4_SENTENCES] += max(sentences, 1)
            begin = line_end + 1
