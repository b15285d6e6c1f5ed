"""Words of UTF-8 text: found once a batch, for every measure that is about words.

A word is a maximal run of code points that are not white space, except that in scripts written without spaces (Han,
kana,
Thai, Lao, Khmer, Myanmar, Tibetan) each letter is a word of its own, with the combining marks that follow it. Folding
takes a word to lower case, one code point to one, and leaves out punctuation, symbols, control and format characters; a
word of these alone folds to nothing. What is measured over words is left to statistics, lines, repetition and linear.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from tonnage.kernels.compiled import kernel
from tonnage.kernels.tables import ALPHA, MARK, SILENT, UNSPACED, WHITE, tables

HAS_ALPHA = 1  # flag: at least one letter
IS_UNSPACED = 2  # flag: one letter of a script without spaces
IS_SILENT = 4  # flag: nothing but punctuation, symbols, control and format characters

_SEED = np.uint64(0x9E3779B97F4A7C15)
_STEP = np.uint64(0xBF58476D1CE4E5B9)

# What `_codes` says of a byte, beside its lower case in the lowest eight bits.
_CODE_LOWER = np.uint64(0xFF)
_CODE_ALPHA = np.uint64(0x100)
_CODE_SILENT = np.uint64(0x200)
_CODE_STOP = np.uint64(0x400)  # white space, or a byte outside of ASCII
_ONE = np.uint64(1)


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
    _scan(data, offsets, _codes(), known.classes, known.lower, first, *columns)
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


@functools.cache
def _codes() -> np.ndarray:
    """uint64[256]: what the scan needs to know of each byte, in one number."""
    known = tables()
    kinds = known.classes[:0x80]
    codes = np.full(256, _CODE_STOP, np.uint64)
    codes[:0x80] = known.lower[:0x80]
    for kind, bit in ((ALPHA, _CODE_ALPHA), (SILENT, _CODE_SILENT), (WHITE, _CODE_STOP)):
        codes[:0x80] |= np.where(kinds & kind, bit, np.uint64(0))
    return codes


@kernel
def decode(data, position, stop):
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


@kernel
def _mix(value, point):
    """The hash of the code points so far and one more: multiply, and let the upper half act on the lower."""
    value = (value ^ point) * _STEP
    return value ^ (value >> np.uint64(32))


@kernel
def _finish(value):
    """The last rounds of splitmix64 (Steele, Lea, Flood 2014); never 0, which stands for words that fold to nothing."""
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return max(value, _ONE)


@kernel
def _ascii_run(data, begin, stop, codes, value):
    """(end of the run of ASCII without white space, hash so far, its silent characters, codes met in it).

    Unsigned positions spare numba's look at negative ones, and a silent character is passed over without a branch.
    """
    position = np.uint64(begin)
    end = np.uint64(stop)
    silent = np.uint64(0)
    met = np.uint64(0)
    while position < end:
        code = codes[data[position]]
        if code & _CODE_STOP:
            break
        met |= code
        mute = code & _CODE_SILENT
        silent += mute
        mixed = _mix(value, code & _CODE_LOWER)
        value = value if mute else mixed
        position += _ONE
    return np.int64(position), value, np.int64(silent // _CODE_SILENT), met


@kernel
def _scan(data, offsets, codes, classes, lower, first, start, end, chars, folded, folded_chars, flags):
    """Fills the columns of Words."""
    word = np.int64(0)
    for document in range(len(offsets) - 1):
        position = offsets[document]
        stop = offsets[document + 1]
        while position < stop:
            begin = position
            value = _SEED
            silent = np.int64(0)
            alpha = False
            alone = False
            further = np.int64(0)  # bytes that continue a code point
            skipped = np.int64(0)
            while position < stop:
                if not alone:
                    position, value, more, met = _ascii_run(data, position, stop, codes, value)
                    silent += more
                    alpha |= (met & _CODE_ALPHA) != 0
                if position >= stop or data[position] < 0x80:
                    break
                point, length = decode(data, position, stop)
                kind = classes[point]
                if kind & WHITE:
                    skipped = length
                    break
                if kind & UNSPACED:
                    if position > begin:
                        break
                    alone = True
                elif alone and not kind & MARK:
                    break
                position += length
                further += length - 1
                alpha |= (kind & ALPHA) != 0
                if kind & SILENT:
                    silent += 1
                else:
                    value = _mix(value, np.uint64(lower[point]))
            if position == begin:
                position += max(skipped, 1)
                continue
            size = position - begin - further
            start[word] = begin
            end[word] = position
            chars[word] = size
            folded[word] = _finish(value) if size > silent else np.uint64(0)
            folded_chars[word] = size - silent
            flags[word] = HAS_ALPHA * alpha | IS_UNSPACED * alone | IS_SILENT * (size == silent)
            word += 1
        first[document + 1] = word


@kernel
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


@kernel
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
                point, length = decode(data, position, stop)
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
