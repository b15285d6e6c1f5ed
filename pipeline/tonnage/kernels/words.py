"""Words of UTF-8 text: found once a batch, for every measure that is about words.

A word is a maximal run of code points that are not white space, except that in scripts written without spaces (Han,
kana,
Thai, Lao, Khmer, Myanmar, Tibetan) each letter is a word of its own, with the combining marks that follow it. Folding
takes a word to lower case, one code point to one, and leaves out punctuation, symbols, control and format characters; a
word of these alone folds to nothing. What is measured over words is left to statistics, lines, repetition and linear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tonnage.kernels.tables import ALPHA, MARK, SILENT, UNSPACED, WHITE, tables

HAS_ALPHA = 1  # flag: at least one letter
IS_UNSPACED = 2  # flag: one letter of a script without spaces
IS_SILENT = 4  # flag: nothing but punctuation, symbols, control and format characters

_SEED = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xBF58476D1CE4E5B9)


class Words(NamedTuple):
    """The words of n documents, w in all, in the order of the text."""

    first: np.ndarray  # int64[n + 1], words of document i are first[i]:first[i + 1]
    start: np.ndarray  # int64[w], byte offsets into data
    end: np.ndarray  # int64[w]
    chars: np.ndarray  # int32[w], code points
    folded: np.ndarray  # uint64[w], hash of the folded word; 0 when nothing is left of it
    folded_chars: np.ndarray  # int32[w], code points of the folded word
    flags: np.ndarray  # uint8[w], HAS_ALPHA, IS_UNSPACED, IS_SILENT


def scan_words(data: np.ndarray, offsets: np.ndarray) -> Words:
    """The words of n documents: `data` uint8 (valid UTF-8), `offsets` int64[n + 1] into it."""
    known = tables()
    # Two words take at least three bytes, their space included. Pages that are never written cost no memory.
    most = (int(offsets[-1] - offsets[0]) + 2 * len(offsets)) // 2
    first = np.zeros(len(offsets), np.int64)
    columns = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.uint64),
        np.empty(most, np.int32),
        np.empty(most, np.uint8),
    )
    _scan(data, offsets, known.classes, known.lower, first, *columns)
    return Words(first, *(column[: first[-1]] for column in columns))


def fold_text(data: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The folded words of each document joined by single spaces: (data uint8, offsets int64[n + 1] from 0).

    What folds to nothing leaves no trace, so the result holds no line feed, no tab and no two spaces in a row.
    """
    known = tables()
    size = int(offsets[-1] - offsets[0])
    # A lower-case letter takes at most half as many bytes again; every letter of a script without spaces adds a space.
    result = np.empty(2 * size + 1, np.uint8)
    bounds = np.zeros(len(offsets), np.int64)
    _fold(data, offsets, known.classes, known.lower, result, bounds)
    return result[: bounds[-1]].copy(), bounds


@njit(cache=True, nogil=True)
def _decode(data, position, stop):
    """(code point, its bytes) at `position`, where a multi-byte sequence begins; never reads at or beyond `stop`."""
    byte = data[position]
    if byte < 0xE0:
        length = 2
        point = np.int64(byte & 0x1F)
    elif byte < 0xF0:
        length = 3
        point = np.int64(byte & 0x0F)
    else:
        length = 4
        point = np.int64(byte & 0x07)
    if position + length > stop:
        return np.int64(0xFFFD), stop - position
    for index in range(1, length):
        point = (point << 6) | np.int64(data[position + index] & 0x3F)
    return min(point, np.int64(0x10FFFF)), np.int64(length)


@njit(cache=True, nogil=True)
def _mix(value, part):
    """A hash so far and eight more bytes: multiply, and let the upper half act on the lower."""
    value = (value ^ part) * _STEP
    return value ^ (value >> np.uint64(32))


@njit(cache=True, nogil=True)
def _finish(value, part, size):
    """The hash of a folded word of `size` bytes, the last ones in `part`; splitmix64's last rounds, never 0."""
    value = _mix(value ^ np.uint64(size), part)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return max(value, np.uint64(1))


@njit(cache=True, nogil=True)
def _scan(data, offsets, classes, lower, first, start, end, chars, folded, folded_chars, flags):
    """Fills the columns of Words. The folded word enters its hash as UTF-8, eight bytes at a time."""
    word = np.int64(0)
    for document in range(len(offsets) - 1):
        position = offsets[document]
        stop = offsets[document + 1]
        while position < stop:
            point = np.int64(data[position])
            length = np.int64(1)
            if point >= 0x80:
                point, length = _decode(data, position, stop)
            kind = classes[point]
            if kind & WHITE:
                position += length
                continue
            begin = position
            alone = (kind & UNSPACED) != 0
            any_kind = np.uint16(0)
            every_kind = np.uint16(SILENT)
            value = _SEED
            part = np.uint64(0)
            size = 0
            count = 0
            loud = 0
            while True:
                position += length
                count += 1
                any_kind |= kind
                every_kind &= kind
                if not kind & SILENT:
                    loud += 1
                    bytes_ = np.uint64(lower[point])
                    width = 1
                    if bytes_ >= 0x80:
                        bytes_, width = _packed(bytes_)
                    for _ in range(width):
                        part = (part << np.uint64(8)) | (bytes_ & np.uint64(0xFF))
                        bytes_ >>= np.uint64(8)
                        size += 1
                        if size & 7 == 0:
                            value = _mix(value, part)
                            part = np.uint64(0)
                if position >= stop:
                    break
                point = np.int64(data[position])
                length = np.int64(1)
                if point >= 0x80:
                    point, length = _decode(data, position, stop)
                kind = classes[point]
                if kind & (WHITE | UNSPACED):
                    break
                if alone and not kind & MARK:
                    break
            start[word] = begin
            end[word] = position
            chars[word] = count
            folded[word] = _finish(value, part, size) if loud else np.uint64(0)
            folded_chars[word] = loud
            flag = np.uint8(0)
            if any_kind & ALPHA:
                flag |= np.uint8(HAS_ALPHA)
            if alone:
                flag |= np.uint8(IS_UNSPACED)
            if every_kind:
                flag |= np.uint8(IS_SILENT)
            flags[word] = flag
            word += 1
        first[document + 1] = word


@njit(cache=True, nogil=True)
def _packed(point):
    """The UTF-8 bytes of a code point from U+0080 on in one number, the first one lowest, and how many there are."""
    low = np.uint64(0x80) | (point & np.uint64(0x3F))
    second = np.uint64(0x80) | ((point >> np.uint64(6)) & np.uint64(0x3F))
    third = np.uint64(0x80) | ((point >> np.uint64(12)) & np.uint64(0x3F))
    if point < 0x800:
        return (np.uint64(0xC0) | (point >> np.uint64(6))) | (low << np.uint64(8)), 2
    if point < 0x10000:
        first = np.uint64(0xE0) | (point >> np.uint64(12))
        return first | (second << np.uint64(8)) | (low << np.uint64(16)), 3
    first = np.uint64(0xF0) | (point >> np.uint64(18))
    return first | (third << np.uint64(8)) | (second << np.uint64(16)) | (low << np.uint64(24)), 4


@njit(cache=True, nogil=True)
def _encode(point, result, place):
    """Writes `point` as UTF-8 at `place`; returns the place behind it."""
    if point < 0x80:
        result[place] = point
        return place + 1
    if point < 0x800:
        result[place] = 0xC0 | (point >> 6)
        result[place + 1] = 0x80 | (point & 0x3F)
        return place + 2
    if point < 0x10000:
        result[place] = 0xE0 | (point >> 12)
        result[place + 1] = 0x80 | ((point >> 6) & 0x3F)
        result[place + 2] = 0x80 | (point & 0x3F)
        return place + 3
    result[place] = 0xF0 | (point >> 18)
    result[place + 1] = 0x80 | ((point >> 12) & 0x3F)
    result[place + 2] = 0x80 | ((point >> 6) & 0x3F)
    result[place + 3] = 0x80 | (point & 0x3F)
    return place + 4


@njit(cache=True, nogil=True)
def _fold(data, offsets, classes, lower, result, bounds):
    place = np.int64(0)
    for document in range(len(offsets) - 1):
        position = offsets[document]
        stop = offsets[document + 1]
        begin = place
        state = 0  # 0 between words, 1 in a word of a run, 2 behind a letter that is a word of its own
        parted = False  # a word border lies between what was written last and what comes
        while position < stop:
            point = np.int64(data[position])
            length = np.int64(1)
            if point >= 0x80:
                point, length = _decode(data, position, stop)
            position += length
            kind = classes[point]
            if kind & WHITE:
                state = 0
                parted = True
                continue
            if kind & UNSPACED:
                state = 2
                parted = True
            elif state == 2 and not kind & MARK:
                state = 1
                parted = True
            elif state == 0:
                state = 1
            if kind & SILENT:
                continue
            if parted and place > begin:
                result[place] = 32
                place += 1
            parted = False
            place = _encode(np.int64(lower[point]), result, place)
        bounds[document + 1] = place
