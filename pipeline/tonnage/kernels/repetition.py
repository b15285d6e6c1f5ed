"""Repetition inside one document: repeated lines, paragraphs and n-grams of words, as raw sums a document.

The measures are those of Gopher (Rae et al. 2021, arXiv 2112.11446, appendix A.1.1, table A1) in the definitions of
datatrove's GopherRepetitionFilter, except for what is said below. Ratios and thresholds are left to the callers;
where the words are is told by the scan of kernels/words.

Lines are cut at runs of newlines, paragraphs at two or more newlines of the stripped text; an element is a duplicate
when an equal one, byte for byte, came before it. Words are compared folded, those with nothing left are skipped. The
top n-gram is the most frequent one, of several the first seen; its characters are those of its words joined by spaces
times its count. Duplicate n-grams are searched from left to right: one seen before counts with the characters of its
words, and the search goes on behind it.

Where this differs from datatrove:
- A line or paragraph of nothing but white space is left out; there the cut at the text's first and last newline gives
  an empty line, and a line of blanks counts and can be a duplicate.
- White space is Unicode's White_Space; Python strips U+001C to U+001F as well.
- Duplicate n-grams are equal when their words are equal; there "a bc" equals "ab c".
- Equality is that of 64-bit hashes: two different n-grams of one document of 10^6 words meet with a probability of
  about 3 in 10^8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tonnage.kernels.hashing import earliest, hash_bytes, joined, slots
from tonnage.kernels.words import Words

_earliest, _hash_bytes, _slots = earliest, hash_bytes, slots

TOP_NGRAMS = (2, 3, 4)
DUP_NGRAMS = (5, 6, 7, 8, 9, 10)

_NEWLINE = 10


class Repetition(NamedTuple):
    """Per document; characters are code points."""

    chars: np.ndarray  # int64[n], of the whole text: the denominator of every character ratio
    lines: np.ndarray  # int64[n]
    dup_lines: np.ndarray  # int64[n]
    dup_line_chars: np.ndarray  # int64[n]
    paragraphs: np.ndarray  # int64[n]
    dup_paragraphs: np.ndarray  # int64[n]
    dup_paragraph_chars: np.ndarray  # int64[n]
    top_chars: np.ndarray  # int64[n, 3], n-grams of TOP_NGRAMS; 0 when the document has fewer words than n
    dup_chars: np.ndarray  # int64[n, 6], n-grams of DUP_NGRAMS


def repetition(data: np.ndarray, offsets: np.ndarray, words: Words) -> Repetition:
    """Repetition sums of n documents: `data` uint8 (UTF-8), `offsets` int64[n + 1], `words` the scan of the same text.

    Takes memory of at most about 80 bytes a word and 32 bytes a line of the batch's longest document.
    """
    documents = len(offsets) - 1
    lines, chars = _extent(data, offsets)
    longest_words = int(np.diff(words.first).max()) if documents else 0
    longest_lines = int(lines.max()) if documents else 0
    elements = max(longest_words, longest_lines, 1)
    sums = np.zeros((documents, 6), np.int64)
    top_chars = np.zeros((documents, len(TOP_NGRAMS)), np.int64)
    dup_chars = np.zeros((documents, len(DUP_NGRAMS)), np.int64)
    _measure(
        data,
        offsets,
        words.first,
        words.start,
        words.end,
        words.folded,
        words.folded_chars,
        np.zeros(slots(elements), np.uint64),
        np.empty((2, longest_lines + 1), np.uint64),
        np.empty((2, longest_lines + 1), np.int64),
        np.empty((2, longest_words + 1), np.uint64),
        np.empty((4, longest_words + 1), np.int64),
        sums,
        top_chars,
        dup_chars,
    )
    return Repetition(chars, *(np.ascontiguousarray(column) for column in sums.T), top_chars, dup_chars)


@njit(cache=True, nogil=True)
def _chars(text):
    """Code points of UTF-8: the bytes that do not continue another."""
    count = 0
    for byte in text:
        count += (byte & 0xC0) != 0x80
    return count


@njit(cache=True, nogil=True)
def _extent(data, offsets):
    """Per document, an upper bound of its lines, and its code points."""
    documents = len(offsets) - 1
    lines = np.empty(documents, np.int64)
    chars = np.empty(documents, np.int64)
    for document in range(documents):
        text = data[offsets[document] : offsets[document + 1]]
        newlines = 0
        for byte in text:
            newlines += byte == _NEWLINE
        lines[document] = newlines + 1
        chars[document] = _chars(text)
    return lines, chars


@njit(cache=True, nogil=True)
def _duplicates(table, generation, hashes, chars, count):
    """(number, characters) of the elements that are equal to an earlier one."""
    mask = np.uint64(slots(count) - 1)
    number = 0
    total = 0
    for position in range(count):
        if earliest(table, mask, generation, hashes, position) != position:
            number += 1
            total += chars[position]
    return number, total


@njit(cache=True, nogil=True)
def _cut(data, begin, stop, word, last, start, end, hashes, chars):
    """Hashes and characters of a document's lines (row 0) and paragraphs (row 1); returns how many of each.

    `word` and `last` bound the document's words in `start` and `end`: the stripped text runs from the first to the
    last one, and a line in which none stands is blank.
    """
    text_begin = start[word]
    text_stop = end[last - 1]
    lines = 0
    paragraphs = 0
    inside = False
    wordy = False
    paragraph_hash = np.uint64(0)
    paragraph_chars = 0
    line_begin = begin
    while line_begin < text_stop:
        line_stop = line_begin
        while line_stop < stop and data[line_stop] != _NEWLINE:
            line_stop += 1
        line_chars = _chars(data[line_begin:line_stop])
        if line_stop > line_begin and line_stop > text_begin:
            while word < last and end[word] <= line_begin:
                word += 1
            blank = word == last or start[word] >= line_stop
            line_hash = hash_bytes(data, line_begin, line_stop)
            if not blank:
                hashes[0, lines] = line_hash
                chars[0, lines] = line_chars
                lines += 1
            stripped_begin = max(line_begin, text_begin)
            stripped_stop = min(line_stop, text_stop)
            if stripped_stop - stripped_begin < line_stop - line_begin:
                line_hash = hash_bytes(data, stripped_begin, stripped_stop)
                line_chars = _chars(data[stripped_begin:stripped_stop])
            if inside:
                paragraph_hash = joined(paragraph_hash, line_hash)
                paragraph_chars += 1 + line_chars
            else:
                paragraph_hash = line_hash
                paragraph_chars = line_chars
            inside = True
            wordy |= not blank
        elif inside:
            if wordy:
                hashes[1, paragraphs] = paragraph_hash
                chars[1, paragraphs] = paragraph_chars
                paragraphs += 1
            inside = False
            wordy = False
        line_begin = line_stop + 1
    if inside:
        hashes[1, paragraphs] = paragraph_hash
        chars[1, paragraphs] = paragraph_chars
        paragraphs += 1
    return lines, paragraphs


@njit(cache=True, nogil=True)
def _lengthened(size, words, hashes, candidates, count):
    """Keeps the candidates whose successor is one too, and makes the hash there that of `size` words; returns how many.

    An n-gram can occur twice only where both (n-1)-grams in it do, so each size looks at ever fewer positions.
    """
    kept = 0
    for index in range(count - 1):
        position = candidates[index]
        if candidates[index + 1] == position + 1:
            hashes[position] = joined(hashes[position], words[position + size - 1])
            candidates[kept] = position
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _top_ngram(size, table, generation, hashes, candidates, count, ends, times, repeated):
    """Count times characters of the most frequent n-gram of `size` words, joined by spaces.

    `candidates` are all positions at which an n-gram that occurs twice may stand; `ends[p]` are the characters of the
    words before p. Makes `repeated[p]` equal to `size` where the n-gram at p does occur twice.
    """
    mask = np.uint64(slots(count) - 1)
    most = 1
    first = 0
    for index in range(count):
        position = candidates[index]
        before = earliest(table, mask, generation, hashes, position)
        if before == position:
            times[position] = 1
            continue
        repeated[position] = size
        repeated[before] = size
        times[before] += 1
        if times[before] > most or (times[before] == most and before < first):
            most = times[before]
            first = before
    return most * (ends[first + size] - ends[first] + size - 1)


@njit(cache=True, nogil=True)
def _only_repeated(size, candidates, count, repeated):
    kept = 0
    for index in range(count):
        position = candidates[index]
        if repeated[position] == size:
            candidates[kept] = position
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _duplicate_ngrams(size, table, generation, hashes, candidates, count, ends):
    """Whether there are any, and the characters of the n-grams of `size` words that were seen before.

    The search goes on behind each one found, so they do not overlap.
    """
    mask = np.uint64(slots(count) - 1)
    found = False
    total = 0
    resume = 0
    for index in range(count):
        position = candidates[index]
        if position < resume:
            continue
        if earliest(table, mask, generation, hashes, position) != position:
            found = True
            total += ends[position + size] - ends[position]
            resume = position + size
    return found, total


@njit(cache=True, nogil=True)
def _ngrams(table, generation, words, hashes, numbers, count, top_chars, dup_chars):
    """The n-gram sums of one document of `count` folded words; returns the last generation used."""
    ends, candidates, times, repeated = numbers[0], numbers[1], numbers[2], numbers[3]
    repeated[:count] = 0
    candidate_count = max(count - 1, 0)
    for position in range(candidate_count):
        hashes[position] = joined(words[position], words[position + 1])
        candidates[position] = position
    for size in range(2, min(4, count) + 1):
        if size > 2:
            candidate_count = _lengthened(size, words, hashes, candidates, candidate_count)
        generation += np.uint64(1)
        top_chars[size - 2] = _top_ngram(
            size, table, generation, hashes, candidates, candidate_count, ends, times, repeated
        )
        candidate_count = _only_repeated(size, candidates, candidate_count, repeated)
    for size in range(5, 11):
        candidate_count = _lengthened(size, words, hashes, candidates, candidate_count)
        generation += np.uint64(1)
        found, dup_chars[size - 5] = _duplicate_ngrams(
            size, table, generation, hashes, candidates, candidate_count, ends
        )
        if not found:
            break
    return generation


@njit(cache=True, nogil=True)
def _measure(
    data,
    offsets,
    first,
    start,
    end,
    folded,
    folded_chars,
    table,
    hashes,
    chars,
    grams,
    numbers,
    sums,
    top_chars,
    dup_chars,
):
    """Fills `sums`, `top_chars` and `dup_chars`; the arrays from `table` on are room to work in for any document."""
    generation = np.uint64(0)
    for document in range(len(offsets) - 1):
        word, last = first[document], first[document + 1]
        if word == last:
            continue
        counts = _cut(data, offsets[document], offsets[document + 1], word, last, start, end, hashes, chars)
        for kind in range(2):
            generation += np.uint64(1)
            number, total = _duplicates(table, generation, hashes[kind], chars[kind], counts[kind])
            sums[document, 3 * kind] = counts[kind]
            sums[document, 3 * kind + 1] = number
            sums[document, 3 * kind + 2] = total
        count = 0
        numbers[0, 0] = 0
        for index in range(word, last):
            if folded[index] != 0:
                grams[0, count] = folded[index]
                numbers[0, count + 1] = numbers[0, count] + folded_chars[index]
                count += 1
        generation = _ngrams(
            table, generation, grams[0], grams[1], numbers, count, top_chars[document], dup_chars[document]
        )
