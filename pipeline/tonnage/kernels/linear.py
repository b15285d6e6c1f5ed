"""Sums of a collapsed linear text model over documents: one look-up a word, one a word n-gram.

A fastText classifier's output is linear in the rows of its input matrix, so each row is projected on the output layer
once and a document's logits are a sum of projected rows, divided by their number. Hashing follows fastText's own
(src/dictionary.cc of facebookresearch/fastText 0.9.2) to the sign extension: bytes as int8, word hashes as int32
widened to 64 bits before they enter an n-gram. Reading a model and turning logits into probabilities is quality's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tonnage.kernels.compiled import kernel

LABEL_WORD = -1  # in `rows`: the entry is a label, which fastText leaves out of a text

_FNV_BASIS = np.uint64(2166136261)
_FNV_PRIME = np.uint64(16777619)
_SIGN = np.uint64(0xFFFFFF00)  # what int8 -> uint32 sets above a byte of 128 or more
_LOW = np.uint64(0xFFFFFFFF)
_HIGH_BIT = np.uint64(0x80000000)
_NGRAM_FACTOR = np.uint64(116049371)
_KEY_BASIS = np.uint64(0xCBF29CE484222325)
_KEY_PRIME = np.uint64(0x100000001B3)
_BLOCK_WORDS = 512
_LABEL_PREFIX = np.frombuffer(b"__label__", np.uint8).copy()
_SEPARATORS = np.zeros(256, np.uint8)
_SEPARATORS[[0, 9, 10, 11, 12, 13, 32]] = 1  # what fastText's readWord cuts at


class LinearTable(NamedTuple):
    """A collapsed model of c columns.

    `keys` uint64[slots] is an open-addressing table of the vocabulary, 0 a free slot; `values` float32[slots, c] the
    sum of the word's projected rows, `rows` int32[slots] their number or LABEL_WORD. `hashed` float32[max(bucket, 1),
    c] holds the projected rows of n-grams. `end_key` and `end_hash` are those of the end of a line, `</s>`.
    """

    keys: np.ndarray
    values: np.ndarray
    rows: np.ndarray
    hashed: np.ndarray
    bucket: int
    word_ngrams: int
    min_chars: int
    max_chars: int
    end_key: np.uint64
    end_hash: np.uint64


def build_table(
    data: np.ndarray,
    offsets: np.ndarray,
    labels: np.ndarray,
    projected: np.ndarray,
    hashed: np.ndarray,
    *,
    bucket: int,
    word_ngrams: int,
    min_chars: int,
    max_chars: int,
) -> LinearTable:
    """The table of a vocabulary: words are data[offsets[i]:offsets[i + 1]] (uint8, int64), `labels` bool[words] marks
    labels, `projected` float32[words, c] (rows of labels are not read), `hashed` float32[bucket, c].

    Raises ValueError when two words have one key.
    """
    columns = projected.shape[1]
    size = 16
    while size < 2 * len(labels):
        size *= 2
    keys = np.zeros(size, np.uint64)
    values = np.zeros((size, columns), np.float32)
    rows = np.zeros(size, np.int32)
    buckets = hashed if len(hashed) else np.zeros((1, columns), np.float32)
    if not _enter(data, offsets, labels, projected, buckets, bucket, min_chars, max_chars, keys, values, rows):
        raise ValueError("two words of the vocabulary have the same 64-bit hash")
    end = np.frombuffer(b"</s>", np.uint8)
    end_hash, end_key = _hashes(end, 0, len(end))
    return LinearTable(
        keys,
        values,
        rows,
        buckets,
        bucket,
        word_ngrams,
        min_chars,
        max_chars,
        np.uint64(end_key),
        np.uint64(end_hash),
    )


def sum_rows(data: np.ndarray, offsets: np.ndarray, table: LinearTable) -> tuple[np.ndarray, np.ndarray]:
    """(float64[n, c] sums of projected rows, int64[n] their number) of n documents, each taken as one line with its
    line end: `data` uint8, `offsets` int64[n + 1].
    """
    documents = len(offsets) - 1
    sums = np.zeros((documents, table.values.shape[1]))
    rows = np.zeros(documents, np.int64)
    kinds = (np.uint64, np.uint64, np.int64, np.int64, np.uint64, np.int64)
    block = _Block(*(np.zeros(_BLOCK_WORDS + table.word_ngrams, kind) for kind in kinds))
    _sum(data, offsets, table, block, sums, rows)
    return sums, rows


class _Block(NamedTuple):
    """Words on their way through the look-ups; those that n-grams began with in the block before stand in front."""

    hashes: np.ndarray  # uint64
    keys: np.ndarray  # uint64
    start: np.ndarray  # int64, -1 for the end of the line
    end: np.ndarray  # int64
    grams: np.ndarray  # uint64, n-grams by their last word
    row: np.ndarray  # int64, of those


@kernel
def _finished(key):
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (key ^ (key >> np.uint64(32))) | np.uint64(1)


@kernel
def _hashes(data, begin, end):
    """(fastText's hash as int32 widened to 64 bits, key in our table) of data[begin:end]."""
    value = _FNV_BASIS
    key = _KEY_BASIS
    for position in range(begin, end):
        byte = np.uint64(data[position])
        value = (value ^ (byte | _SIGN if byte >= 128 else byte)) * _FNV_PRIME
        key = (key ^ byte) * _KEY_PRIME
    return _widened(value), _finished(key)


@kernel
def _widened(value):
    """The low 32 bits, their sign extended to 64."""
    low = value & _LOW
    return low | (~_LOW) if low & _HIGH_BIT else low


@kernel
def _find(keys, key):
    """The slot of `key`, or the free slot where it would stand."""
    mask = np.uint64(len(keys) - 1)
    slot = (key >> np.uint64(1)) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def _enter(data, offsets, labels, projected, hashed, bucket, min_chars, max_chars, keys, values, rows):
    """Fills the table; False when two words have one key."""
    _, end_key = _end_of_line()
    for word in range(len(labels)):
        begin, end = offsets[word], offsets[word + 1]
        _, key = _hashes(data, begin, end)
        slot = _find(keys, key)
        if keys[slot] != 0:
            return False
        keys[slot] = key
        if labels[word]:
            rows[slot] = LABEL_WORD
            continue
        for column in range(projected.shape[1]):
            values[slot, column] = projected[word, column]
        rows[slot] = 1
        if max_chars > 0 and key != end_key:
            rows[slot] += _add_subwords(data, begin, end, min_chars, max_chars, bucket, hashed, values[slot])
    return True


@kernel
def _end_of_line():
    value = _FNV_BASIS
    key = _KEY_BASIS
    for byte in (60, 47, 115, 62):
        value = (value ^ np.uint64(byte)) * _FNV_PRIME
        key = (key ^ np.uint64(byte)) * _KEY_PRIME
    return _widened(value), _finished(key)


@kernel
def _bordered(data, begin, end, position):
    """The byte of '<' + word + '>' at `position` from 0."""
    if position == 0:
        return np.uint64(60)
    if position == end - begin + 1:
        return np.uint64(62)
    return np.uint64(data[begin + position - 1])


@kernel
def _add_subwords(data, begin, end, min_chars, max_chars, bucket, hashed, result):
    """Adds the projected rows of the character n-grams of '<' + word + '>' to `result`; how many there are."""
    size = end - begin + 2
    count = 0
    for first in range(size):
        if _bordered(data, begin, end, first) & np.uint64(0xC0) == np.uint64(0x80):
            continue
        value = _FNV_BASIS
        position = first
        chars = 0
        while position < size and chars < max_chars:
            chars += 1
            while True:
                byte = _bordered(data, begin, end, position)
                value = (value ^ (byte | _SIGN if byte >= 128 else byte)) * _FNV_PRIME
                position += 1
                if position >= size or _bordered(data, begin, end, position) & np.uint64(0xC0) != np.uint64(0x80):
                    break
            if chars >= min_chars and not (chars == 1 and (first == 0 or position == size)):
                row = (value & _LOW) % np.uint64(bucket)
                for column in range(len(result)):
                    result[column] += hashed[row, column]
                count += 1
    return count


@kernel
def _is_label(data, begin, end):
    if end - begin < len(_LABEL_PREFIX) or data[begin] != _LABEL_PREFIX[0]:
        return False
    for index in range(len(_LABEL_PREFIX)):
        if data[begin + index] != _LABEL_PREFIX[index]:
            return False
    return True


@kernel
def _sum(data, offsets, table, block, sums, rows):
    """Fills `sums` and `rows`, a block of words after another: found first, looked up then, so that the look-ups of
    many words wait for memory at the same time.
    """
    for document in range(len(offsets) - 1):
        position = offsets[document]
        stop = offsets[document + 1]
        carried = 0
        ended = False
        while not ended:
            position, filled, ended = _find_words(data, position, stop, table, block, carried)
            found, filled = _add_words(data, table, block, carried, filled, sums[document])
            rows[document] += found
            if table.word_ngrams > 1:
                rows[document] += _add_ngrams(table, block, carried, filled, sums[document])
                kept = min(filled, table.word_ngrams - 1)
                for index in range(kept):
                    block.hashes[index] = block.hashes[filled - kept + index]
                carried = kept


@kernel
def _find_words(data, position, stop, table, block, carried):
    """(place behind the last word, end of the block, whether the line has ended) after filling a block."""
    word = carried
    last = carried + _BLOCK_WORDS
    place = np.uint64(position)
    limit = np.uint64(stop)
    while word < last:
        while place < limit and _SEPARATORS[data[place]]:
            place += np.uint64(1)
        if place >= limit:
            block.hashes[word] = table.end_hash
            block.keys[word] = table.end_key
            block.start[word] = -1
            return np.int64(place), word + 1, True
        begin = place
        value = _FNV_BASIS
        key = _KEY_BASIS
        while place < limit:
            byte = np.uint64(data[place])
            if _SEPARATORS[byte]:
                break
            value = (value ^ (byte | _SIGN if byte >= 128 else byte)) * _FNV_PRIME
            key = (key ^ byte) * _KEY_PRIME
            place += np.uint64(1)
        key = _finished(key)
        block.hashes[word] = _widened(value)
        block.keys[word] = key
        block.start[word] = np.int64(begin)
        block.end[word] = np.int64(place)
        word += 1
        # fastText stops reading at a written </s>, as at the end of the line.
        if key == table.end_key:
            return np.int64(place), word, True
    return np.int64(place), word, False


@kernel
def _add_words(data, table, block, carried, filled, total):
    """(rows added to `total`, end of the block): labels, which fastText leaves out, are taken from the block."""
    mask = np.uint64(len(table.keys) - 1)
    columns = len(total)
    count = np.int64(0)
    kept = carried
    first = 0.0
    for word in range(carried, filled):
        key = block.keys[word]
        slot = (key >> np.uint64(1)) & mask
        while table.keys[slot] != 0 and table.keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if table.keys[slot] == key:
            if table.rows[slot] < 0:
                continue
            count += table.rows[slot]
            if columns == 1:
                first += table.values[slot, 0]
            else:
                for column in range(columns):
                    total[column] += table.values[slot, column]
        elif block.start[word] >= 0:
            if _is_label(data, block.start[word], block.end[word]):
                continue
            if table.max_chars > 0:
                count += _add_subwords(
                    data,
                    block.start[word],
                    block.end[word],
                    table.min_chars,
                    table.max_chars,
                    table.bucket,
                    table.hashed,
                    total,
                )
        block.hashes[kept] = block.hashes[word]
        kept += 1
    total[0] += first
    return count, kept


@kernel
def _add_ngrams(table, block, carried, filled, total):
    """Adds the rows of the n-grams that end in this block to `total`; how many there are.

    Rows are computed for the whole block before any is read: reads that wait for nothing but memory wait together.
    """
    bucket = np.uint64(table.bucket)
    columns = len(total)
    count = np.int64(0)
    for word in range(filled):
        block.grams[word] = block.hashes[word]
    for size in range(2, table.word_ngrams + 1):
        for word in range(filled - 1, size - 2, -1):
            block.grams[word] = block.grams[word - 1] * _NGRAM_FACTOR + block.hashes[word]
        first = max(carried, size - 1)
        for word in range(first, filled):
            block.row[word] = np.int64(block.grams[word] % bucket)
        if columns == 1:
            added = 0.0
            for word in range(first, filled):
                added += table.hashed[block.row[word], 0]
            total[0] += added
        else:
            for word in range(first, filled):
                for column in range(columns):
                    total[column] += table.hashed[block.row[word], column]
        count += max(filled - first, 0)
    return count
