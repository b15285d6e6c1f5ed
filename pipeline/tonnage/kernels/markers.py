"""How often any of a set of byte strings occurs in each document: first bytes found, then a trie walked from there.

An occurrence is the longest pattern that starts at the leftmost place, and the search goes on behind it, as the
tokenizers library finds added tokens. Which strings are looked for is for the callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

BLOCK = 1 << 20  # bytes whose places are listed together


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
def _count(data, offsets, places, child, ends, behind, counts):
    """Counts matches at `places`, none before `behind`; returns the end of the last one."""
    document = np.searchsorted(offsets, places[0], side="right") - 1
    for place in places:
        while offsets[document + 1] <= place:
            document += 1
        if place >= behind:
            length = _longest(data, place, offsets[document + 1], child, ends)
            if length > 0:
                counts[document] += 1
                behind = place + length
    return behind


def count_matches(data: np.ndarray, offsets: np.ndarray, trie: Trie) -> np.ndarray:
    """Occurrences of the trie's patterns in each document of data uint8[], offsets int64[n + 1]; int64[n]."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    firsts = np.flatnonzero(trie.child[0]).astype(np.uint8)
    behind = int(offsets[0])
    for start in range(behind, int(offsets[-1]), BLOCK) if len(firsts) else ():
        text = data[start : min(start + BLOCK, int(offsets[-1]))]
        found = text == firsts[0]
        for first in firsts[1:]:
            found |= text == first
        places = start + np.flatnonzero(found)
        if len(places):
            behind = _count(data, offsets, places, trie.child, trie.ends, behind, counts)
    return counts
