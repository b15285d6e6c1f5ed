"""How often any of a set of byte strings occurs in each document, by one walk over a trie.

An occurrence is the longest pattern that starts at the leftmost place, and the search goes on behind it, as the
tokenizers library finds added tokens. Which strings are looked for is for the callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit


class Trie(NamedTuple):
    """`child` int32[nodes, 256]: the node behind a byte, 0 for none; `ends` bool[nodes]: a pattern ends there."""

    child: np.ndarray
    ends: np.ndarray


def build_trie(patterns: Sequence[bytes]) -> Trie:
    """The trie of `patterns`; empty ones are left out."""
    child = np.zeros((1 + sum(map(len, patterns)), 256), np.int32)
    ends = np.zeros(len(child), bool)
    used = 1
    for pattern in patterns:
        node = 0
        for byte in pattern:
            if not child[node, byte]:
                child[node, byte] = used
                used += 1
            node = child[node, byte]
        ends[node] = node > 0
    return Trie(child[:used].copy(), ends[:used].copy())


@njit(cache=True, nogil=True)
def _longest(data, position, end, child, ends):
    """Bytes of the longest pattern that starts at `position`, 0 for none."""
    node = 0
    longest = 0
    at = position
    while at < end:
        node = child[node, data[at]]
        if node == 0:
            break
        at += 1
        if ends[node]:
            longest = at - position
    return longest


@njit(cache=True, nogil=True)
def _count(data, offsets, child, ends, counts):
    root = child[0]
    for document in range(len(counts)):
        position = offsets[document]
        end = offsets[document + 1]
        while position < end:
            if root[data[position]] == 0:
                position += 1
                continue
            length = _longest(data, position, end, child, ends)
            if length == 0:
                position += 1
            else:
                counts[document] += 1
                position += length


def count_matches(data: np.ndarray, offsets: np.ndarray, trie: Trie) -> np.ndarray:
    """Occurrences of the trie's patterns in each document of data uint8[], offsets int64[n + 1]; int64[n]."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    if len(trie.child) > 1:
        _count(data, offsets, trie.child, trie.ends, counts)
    return counts
