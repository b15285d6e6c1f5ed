"""Counts over characters and words of each document, for Gopher's quality rules and for code.

Raw sums only; ratios are made by annotate/heuristics. Definitions are those of Gopher (Rae et al. 2021, arXiv 2112.11446,
appendix A.1.1) as datatrove's GopherQualityFilter reads them, over the words of kernels/words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tonnage.kernels.tables import ALNUM, DIGIT, UPPER, WHITE, tables
from tonnage.kernels.words import HAS_ALPHA, IS_SILENT, IS_UNSPACED, Words, _decode

LONG_WORD = 50  # characters above which a word counts as long
STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")  # Gopher, A.1.1

# Columns of the character sums.
_CHARS, _DIGITS, _UPPER, _ALNUM, _WHITE, _REPLACEMENT, _HASHES, _ELLIPSES, _HEX_RUN = range(9)
# Columns of the word sums.
_WORDS, _WORDLIKE, _WORDLIKE_CHARS, _LONGEST, _ALPHA_WORDS, _UNSPACED, _LONG_WORDS, _STOP_WORDS = range(8)


class Statistics(NamedTuple):
    """Per document, int64[n] each."""

    chars: np.ndarray  # code points
    digits: np.ndarray  # decimal digits
    upper: np.ndarray  # upper-case letters
    alnum: np.ndarray  # letters and numbers
    white: np.ndarray  # white space
    replacement: np.ndarray  # U+FFFD
    hashes: np.ndarray  # '#'
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
    _characters(data, offsets, tables().classes, characters)
    sums = np.zeros((documents, 8), np.int64)
    _words(data, words.first, words.start, words.end, words.chars, words.flags, _STOP_CODES, sums)
    return Statistics(*(np.ascontiguousarray(column) for column in (*characters.T, *sums.T)))


def _code(word: bytes) -> int:
    """A word of at most seven bytes as one number, its length in the lowest byte."""
    return int.from_bytes(bytes([len(word)]) + word, "little")


_STOP_CODES = np.array([_code(word.encode()) for word in STOP_WORDS], np.uint64)


@njit(cache=True, nogil=True)
def _characters(data, offsets, classes, sums):
    """ASCII through a histogram of bytes, four of them so that equal neighbours do not wait for each other."""
    histogram = np.zeros((4, 256), np.int64)
    for document in range(len(offsets) - 1):
        begin = offsets[document]
        stop = offsets[document + 1]
        histogram[:] = 0
        position = begin
        while position + 4 <= stop:
            histogram[0, data[position]] += 1
            histogram[1, data[position + 1]] += 1
            histogram[2, data[position + 2]] += 1
            histogram[3, data[position + 3]] += 1
            position += 4
        while position < stop:
            histogram[0, data[position]] += 1
            position += 1
        row = sums[document]
        ascii_bytes = 0
        for byte in range(0x80):
            count = histogram[0, byte] + histogram[1, byte] + histogram[2, byte] + histogram[3, byte]
            if count:
                ascii_bytes += count
                _add(row, classes[byte], count)
                if byte == 35:
                    row[_HASHES] = count
                elif byte == 46 and count >= 3:
                    row[_ELLIPSES] = _dots(data, begin, stop)
        row[_CHARS] = ascii_bytes
        row[_HEX_RUN] = _hex_run(data, begin, stop)
        if ascii_bytes < stop - begin:
            _wide_characters(data, begin, stop, classes, row)


@njit(cache=True, nogil=True)
def _add(row, kind, count):
    if kind & DIGIT:
        row[_DIGITS] += count
    if kind & UPPER:
        row[_UPPER] += count
    if kind & ALNUM:
        row[_ALNUM] += count
    if kind & WHITE:
        row[_WHITE] += count


@njit(cache=True, nogil=True)
def _dots(data, begin, stop):
    """How often '...' occurs without overlap."""
    found = 0
    dots = 0
    for position in range(begin, stop):
        if data[position] != 46:
            dots = 0
            continue
        dots += 1
        if dots == 3:
            found += 1
            dots = 0
    return found


@njit(cache=True, nogil=True)
def _is_hex(byte):
    return 48 <= byte <= 57 or 97 <= (byte | 32) <= 102


@njit(cache=True, nogil=True)
def _hex_run(data, begin, stop):
    """The longest run of hexadecimal digits in data[begin:stop].

    A longer run than the longest so far has to cover the byte that many places ahead, so most bytes are never looked at.
    """
    longest = 0
    known = begin  # from `begin` to here are hexadecimal digits
    while begin + longest < stop:
        probe = begin + longest
        place = probe
        while place >= known and _is_hex(data[place]):
            place -= 1
        if place >= known:
            begin = place + 1
            known = max(probe + 1, begin) if place < probe else begin
            continue
        known = probe + 1
        while known < stop and _is_hex(data[known]):
            known += 1
        longest = known - begin
        begin = known
    return longest


@njit(cache=True, nogil=True)
def _wide_characters(data, begin, stop, classes, row):
    """Adds the code points from U+0080 on."""
    position = begin
    while position < stop:
        if data[position] < 0x80:
            position += 1
            continue
        point, length = _decode(data, position, stop)
        position += length
        row[_CHARS] += 1
        _add(row, classes[point], 1)
        row[_REPLACEMENT] += point == 0xFFFD
        row[_ELLIPSES] += point == 0x2026


@njit(cache=True, nogil=True)
def _stop_word(data, begin, end, codes):
    """Index of the stop word data[begin:end], -1 when it is none."""
    length = end - begin
    if length > 4 or length < 2:
        return -1
    code = np.uint64(length)
    for index in range(length):
        code |= np.uint64(data[begin + index]) << np.uint64(8 * (index + 1))
    for index in range(len(codes)):
        if codes[index] == code:
            return index
    return -1


@njit(cache=True, nogil=True)
def _words(data, first, start, end, chars, flags, codes, sums):
    for document in range(len(first) - 1):
        row = sums[document]
        seen = 0
        row[_WORDS] = first[document + 1] - first[document]
        for word in range(first[document], first[document + 1]):
            flag = flags[word]
            if not flag & IS_SILENT:
                row[_WORDLIKE] += 1
                row[_WORDLIKE_CHARS] += chars[word]
            row[_LONGEST] = max(row[_LONGEST], np.int64(chars[word]))
            row[_ALPHA_WORDS] += (flag & HAS_ALPHA) != 0
            row[_UNSPACED] += (flag & IS_UNSPACED) != 0
            row[_LONG_WORDS] += chars[word] > LONG_WORD
            found = _stop_word(data, start[word], end[word], codes)
            if found >= 0:
                seen |= 1 << found
        while seen:
            row[_STOP_WORDS] += seen & 1
            seen >>= 1
