"""Shingles and MinHash signatures of documents, over words found once a batch.

A shingle is a run of n folded words; words that fold to nothing are skipped, so punctuation and case tell no two texts
apart. A document's signature holds, for each of p hash functions, the least value over its distinct shingles: two
documents agree in one place with the probability of their Jaccard similarity (Broder 1997). How places become bands,
and what follows from a match, is for dedup.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tonnage.kernels.compiled import kernel
from tonnage.kernels.hashing import earliest, joined, mixed, mixed_all, slots
from tonnage.kernels.words import Words

NOTHING = np.uint32(0xFFFFFFFF)  # every place of the signature of a document without shingles
_BASE = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint32(16)


class Family(NamedTuple):
    """The p hash functions of a signature: x -> ((x ^ mask) * first, its upper half folded in) * second."""

    mask: np.ndarray  # uint32[p]
    first: np.ndarray  # uint32[p], odd
    second: np.ndarray  # uint32[p], odd


def family(places: int, seed: int) -> Family:
    """The hash functions of signatures with `places` places; the same for the same seed, anywhere."""
    numbers = np.arange(3 * places, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 32)
    drawn = (mixed_all(numbers * _BASE + _BASE) >> np.uint64(32)).astype(np.uint32).reshape(3, places)
    return Family(drawn[0], drawn[1] | np.uint32(1), drawn[2] | np.uint32(1))


def shingles(words: Words, ngram: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct shingles of n documents: (hashes uint64[m], bounds int64[n + 1]).

    Those of document i are hashes[bounds[i]:bounds[i + 1]], in the order in which they first stand in the text; a
    document of fewer than `ngram` words has none.
    """
    documents = len(words.first) - 1
    longest = int(np.diff(words.first).max(initial=0))
    table = np.zeros(slots(longest), np.uint64)
    hashes = np.empty(int(words.first[-1] - words.first[0]), np.uint64)
    bounds = np.zeros(documents + 1, np.int64)
    power = np.uint64(pow(int(_BASE), ngram, 1 << 64))
    recent = np.zeros(ngram, np.uint64)
    _shingles(words.first, words.folded, ngram, power, recent, table, hashes, bounds)
    return hashes[: bounds[-1]], bounds


@kernel
def _shingles(first, folded, ngram, power, recent, table, hashes, bounds):
    """A polynomial over the last n word hashes moves on with the text; its mixed value is the shingle."""
    count = np.int64(0)
    for document in range(len(first) - 1):
        begin = count
        generation = np.uint64(document + 1)
        mask = np.uint64(slots(first[document + 1] - first[document]) - 1)
        own = hashes[begin:]
        rolling = np.uint64(0)
        seen = np.int64(0)
        place = np.int64(0)
        for word in range(first[document], first[document + 1]):
            value = folded[word]
            if value == 0:
                continue
            rolling = rolling * _BASE + value
            if seen >= ngram:
                rolling -= recent[place] * power
            recent[place] = value
            place = place + 1 if place + 1 < ngram else 0
            seen += 1
            if seen >= ngram:
                position = count - begin
                own[position] = mixed(rolling)
                if earliest(table, mask, generation, own, position) == position:
                    count += 1
        bounds[document + 1] = count


def signatures(hashes: np.ndarray, bounds: np.ndarray, functions: Family) -> np.ndarray:
    """uint32[n, p]: the signature of each of n documents from its distinct shingles, as `shingles` gives them."""
    result = np.full((len(bounds) - 1, len(functions.mask)), NOTHING, np.uint32)
    _signatures(hashes, bounds, functions.mask, functions.first, functions.second, result)
    return result


@kernel
def _lower(low, value, mask, first, second):
    """The lesser of `low` and the hash of `value`; casts keep numba from widening products to 64 bits."""
    product = np.uint32((value ^ mask) * first)
    hashed = np.uint32(np.uint32(product ^ np.uint32(product >> _HALF)) * second)
    return hashed if hashed < low else low


@kernel
def _signatures(hashes, bounds, masks, firsts, seconds, result):
    """Four shingles meet one place after another: the inner loop runs over places, eight or sixteen at a time."""
    for document in range(len(bounds) - 1):
        signature = result[document]
        stop = bounds[document + 1]
        fours = bounds[document] + ((stop - bounds[document]) & ~3)
        for shingle in range(bounds[document], fours, 4):
            a = np.uint32(hashes[shingle])
            b = np.uint32(hashes[shingle + 1])
            c = np.uint32(hashes[shingle + 2])
            d = np.uint32(hashes[shingle + 3])
            for place in range(len(masks)):
                mask, first, second = masks[place], firsts[place], seconds[place]
                low = _lower(signature[place], a, mask, first, second)
                low = _lower(low, b, mask, first, second)
                low = _lower(low, c, mask, first, second)
                signature[place] = _lower(low, d, mask, first, second)
        for shingle in range(fours, stop):
            a = np.uint32(hashes[shingle])
            for place in range(len(masks)):
                signature[place] = _lower(signature[place], a, masks[place], firsts[place], seconds[place])


def band_hashes(signatures: np.ndarray, layout: np.ndarray) -> np.ndarray:
    """uint64[n, b]: for each document and band the hash of the band and of its places' values.

    `signatures` uint32[n, p]; `layout` int64[b, r] says which r places make each of the b bands.
    """
    result = np.empty((len(signatures), len(layout)), np.uint64)
    _bands(np.ascontiguousarray(signatures), layout, result)
    return result


@kernel
def _bands(signatures, layout, result):
    for document in range(len(signatures)):
        for band in range(len(layout)):
            value = np.uint64(band + 1)
            for row in range(layout.shape[1]):
                value = joined(value, np.uint64(signatures[document, layout[band, row]]))
            result[document, band] = value
