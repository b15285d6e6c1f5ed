"""Counts over characters and words of each document, for Gopher's quality rules and for code.

Raw sums only; ratios are made by annotate/heuristics. Definitions are those of Gopher (Rae et al. 2021, arXiv
2112.11446, appendix A.1.1) as datatrove's GopherQualityFilter reads them, over the words of kernels/words.
"""

from __future__ import annotations

import functools
import string
from typing import NamedTuple

import numpy as np

from tonnage.kernels.compiled import kernel
from tonnage.kernels.tables import ALNUM, DIGIT, UPPER, WHITE, tables
from tonnage.kernels.words import HAS_ALPHA, IS_SILENT, IS_UNSPACED, Words, decode

LONG_WORD = 50  # characters above which a word counts as long
STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")  # Gopher, A.1.1

# Columns of the character sums; the first six are counted byte by byte, in the order of `_marks`.
_CHARS, _DIGITS, _UPPER, _ALNUM, _WHITE, _HASHES, _REPLACEMENT, _ELLIPSES, _HEX_RUN = range(9)
_BLOCK = 255  # bytes after which a count of one byte may be full
# Columns of the word sums.
_WORDS, _WORDLIKE, _WORDLIKE_CHARS, _LONGEST, _ALPHA_WORDS, _UNSPACED, _LONG_WORDS, _STOP_WORDS = range(8)


class Statistics(NamedTuple):
    """Per document, int64[n] each."""

    chars: np.ndarray  # code points
    digits: np.ndarray  # decimal digits
    upper: np.ndarray  # upper-case letters
    alnum: np.ndarray  # letters and numbers
    white: np.ndarray  # white space
    hashes: np.ndarray  # '#'
    replacement: np.ndarray  # U+FFFD
    ellipses: np.ndarray  # U+2026 and, not overlapping, '...'
    hex_run: np.ndarray  # the longest run of hexadecimal digits, any case
    words: np.ndarray
    wordlike: np.ndarray  # words that hold more than punctuation and symbols
    wordlike_chars: np.ndarray
    longest_word: np.ndarray  # characters
    alpha_words: np.ndarray  # words with a letter
    unspaced: np.ndarray  # words that are letters of a script without spaces
    long_words: np.ndarray  # words of more than LONG_WORD characters
    stop_words: np.ndarray  # how many of STOP_WORDS occur, as they stand


def statistics(data: np.ndarray, offsets: np.ndarray, words: Words) -> Statistics:
    """Sums of n documents: `data` uint8 (UTF-8), `offsets` int64[n + 1], `words` the scan of the same text."""
    documents = len(offsets) - 1
    characters = np.zeros((documents, 9), np.int64)
    _characters(data, offsets, tables().classes, _marks(), _HEXADECIMAL, characters)
    sums = np.zeros((documents, 8), np.int64)
    _words(words.first, words.chars, words.flags, sums)
    _stop_words(data, words.first, words.start, words.end, _STOP_SLOTS, sums[:, _STOP_WORDS])
    return Statistics(*(np.ascontiguousarray(column) for column in (*characters.T, *sums.T)))


_SPREAD = np.uint64(0x467437419466E473)  # takes the codes of STOP_WORDS to 32 slots without a collision; found by trial
_SLOT_SHIFT = np.uint64(59)


def _stop_slots() -> np.ndarray:
    """uint64[32]: the code of each stop word in its slot.

    The code of a word of at most four bytes is its bytes, the first lowest, and its length in the fifth byte.
    """
    slots = np.zeros(32, np.uint64)
    for word in STOP_WORDS:
        code = np.array([int.from_bytes(word.encode(), "little") | len(word) << 32], np.uint64)
        slots[code * _SPREAD >> _SLOT_SHIFT] = code
    return slots


_STOP_SLOTS = _stop_slots()


@functools.cache
def _marks() -> np.ndarray:
    """uint64[256]: eight counts of one byte each that a byte of text adds 0 or 1 to.

    From the lowest: characters, and of ASCII digits, capitals, letters and digits, white space, '#', '.'; then bytes
    outside of ASCII.
    """
    byte = np.arange(256)
    kinds = np.where(byte < 0x80, tables().classes[:256], 0)
    flags = (byte & 0xC0 != 0x80, *(kinds & each != 0 for each in (DIGIT, UPPER, ALNUM, WHITE)))
    flags = (*flags, byte == ord("#"), byte == ord("."), byte >= 0x80)
    return np.sum([flag.astype(np.uint64) << np.uint64(8 * place) for place, flag in enumerate(flags)], axis=0)


# int64[256]: all bits set for a hexadecimal digit, else none.
_HEXADECIMAL = np.array([-(chr(byte) in string.hexdigits) for byte in range(256)], np.int64)


@kernel
def _characters(data, offsets, classes, marks, hexadecimal, sums):
    for document in range(len(offsets) - 1):
        text = data[offsets[document] : offsets[document + 1]]
        row = sums[document]
        dots, high = _count_marks(text, marks, row)
        if dots >= 3:
            row[_ELLIPSES] = _dots(text)
        row[_HEX_RUN] = _hex_run(text, hexadecimal)
        if high:
            _wide_characters(text, classes, row)


@kernel
def _count_marks(text, marks, row):
    """Adds the eight counts of `marks` to the first columns of `row`; returns the last two, which have no column."""
    dots = 0
    high = 0
    for begin in range(0, len(text), _BLOCK):
        total = np.uint64(0)
        for byte in text[begin : begin + _BLOCK]:
            total += marks[byte]
        for column in range(6):
            row[column] += np.int64((total >> np.uint64(8 * column)) & np.uint64(0xFF))
        dots += np.int64((total >> np.uint64(48)) & np.uint64(0xFF))
        high += np.int64(total >> np.uint64(56))
    return dots, high


@kernel
def _dots(text):
    """How often '...' occurs without overlap. Every third byte is enough to look at where there is no dot."""
    found = 0
    position = 2
    while position < len(text):
        if text[position] != 46:
            position += 3
        elif text[position - 1] != 46:
            position += 2
        elif text[position - 2] != 46:
            position += 1
        else:
            found += 1
            position += 3
    return found


@kernel
def _hex_run(text, hexadecimal):
    """The longest run of hexadecimal digits, without a branch: runs end too often to be foreseen."""
    run = np.int64(0)
    longest = np.int64(0)
    for byte in text:
        run = (run + 1) & hexadecimal[byte]
        longest = max(longest, run)
    return longest


@kernel
def _wide_characters(text, classes, row):
    """Adds what the code points from U+0080 on are; that they are characters is counted already."""
    position = np.int64(0)
    while position < len(text):
        if text[position] < 0x80:
            position += 1
            continue
        point, length = decode(text, position, len(text))
        position += length
        kind = classes[point]
        row[_DIGITS] += (kind & DIGIT) != 0
        row[_UPPER] += (kind & UPPER) != 0
        row[_ALNUM] += (kind & ALNUM) != 0
        row[_WHITE] += (kind & WHITE) != 0
        row[_REPLACEMENT] += point == 0xFFFD
        row[_ELLIPSES] += point == 0x2026


@kernel
def _short_code(data, begin, end):
    """The code of the word data[begin:end]; that of a word of more than four bytes is none of a stop word.

    Without a branch on the word's length, which nothing foretells; only at the end of the data bytes are read one by
    one.
    """
    length = np.uint64(min(end - begin, 5))
    value = np.uint64(0)
    if begin + 4 <= len(data):
        four = data[begin : begin + 4]
        value = np.uint64(four[0]) | (np.uint64(four[1]) << np.uint64(8))
        value |= (np.uint64(four[2]) << np.uint64(16)) | (np.uint64(four[3]) << np.uint64(24))
        value &= (np.uint64(1) << (np.uint64(8) * length)) - np.uint64(1)
    else:
        for place in range(end - begin):
            value |= np.uint64(data[begin + place]) << np.uint64(8 * place)
    return value | (length << np.uint64(32))


@kernel
def _stop_words(data, first, start, end, slots, counts):
    for document in range(len(first) - 1):
        seen = np.uint64(0)
        for word in range(first[document], first[document + 1]):
            code = _short_code(data, start[word], end[word])
            slot = code * _SPREAD >> _SLOT_SHIFT
            seen |= np.uint64(slots[slot] == code) << slot
        while seen:
            counts[document] += 1
            seen &= seen - np.uint64(1)


@kernel
def _words(first, chars, flags, sums):
    for document in range(len(first) - 1):
        wordlike = wordlike_chars = longest = alpha = unspaced = long_words = 0
        for word in range(first[document], first[document + 1]):
            flag = np.int64(flags[word])
            size = np.int64(chars[word])
            loud = (flag & IS_SILENT) == 0
            wordlike += loud
            wordlike_chars += size * loud
            longest = max(longest, size)
            alpha += (flag & HAS_ALPHA) != 0
            unspaced += (flag & IS_UNSPACED) != 0
            long_words += size > LONG_WORD
        row = sums[document]
        row[_WORDS] = first[document + 1] - first[document]
        row[_WORDLIKE] = wordlike
        row[_WORDLIKE_CHARS] = wordlike_chars
        row[_LONGEST] = longest
        row[_ALPHA_WORDS] = alpha
        row[_UNSPACED] = unspaced
        row[_LONG_WORDS] = long_words
