"""Which of C4's phrases a line holds, ASCII case aside.

No phrase is shorter than ten bytes, so one that stands in a line covers three bytes at one of the places
probed,
which lie eight bytes apart. Three bytes that occur in no phrase end the matter there; others are compared in full. What
follows from a phrase is for lines.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tonnage.kernels.compiled import kernel

LOREM_IPSUM = 1  # bits of what was found
JAVASCRIPT = 2
POLICY = 4

# C4 (Raffel et al. 2020, section 2.2) and, for the policy phrases, its published code; as datatrove's C4QualityFilter.
PHRASES = (
    (b"lorem ipsum", LOREM_IPSUM),
    (b"javascript", JAVASCRIPT),
    (b"terms of use", POLICY),
    (b"privacy policy", POLICY),
    (b"cookie policy", POLICY),
    (b"uses cookies", POLICY),
    (b"use of cookies", POLICY),
    (b"use cookies", POLICY),
)
_STRIDE = min(len(phrase) for phrase, _ in PHRASES) - 2


class _Probes(NamedTuple):
    """Chains of the places in phrases that hold the same three bytes, five bits of each byte taken for a key."""

    heads: np.ndarray  # uint8[2^15], the first place with this key, 0 for none
    following: np.ndarray  # uint8[places], the next place with the same key, 0 for none
    phrase: np.ndarray  # uint8[places], which phrase
    depth: np.ndarray  # uint8[places], bytes of the phrase before the place
    texts: np.ndarray  # uint8[bytes], the phrases, one behind the other
    bounds: np.ndarray  # int64[phrases + 1]
    bits: np.ndarray  # uint8[phrases]


def _probes() -> _Probes:
    heads = np.zeros(1 << 15, np.uint8)
    places = [(0, 0, 0)]  # place 0 means none
    for number, (phrase, _) in enumerate(PHRASES):
        for depth in range(len(phrase) - 2):
            key = int(_key(*(np.int64(byte) for byte in phrase[depth : depth + 3])))
            places.append((int(heads[key]), number, depth))
            heads[key] = len(places) - 1
    following, phrase_of, depths = (np.array(column, np.uint8) for column in zip(*places, strict=True))
    texts = np.frombuffer(b"".join(phrase for phrase, _ in PHRASES), np.uint8)
    bounds = np.cumsum([0, *(len(phrase) for phrase, _ in PHRASES)]).astype(np.int64)
    return _Probes(heads, following, phrase_of, depths, texts, bounds, np.array([bit for _, bit in PHRASES], np.uint8))


@kernel
def _key(first, second, third):
    """Letters of either case have the same lowest five bits."""
    return ((first & 31) << 10) | ((second & 31) << 5) | (third & 31)


@kernel
def _lowered(byte):
    return byte + 32 if 65 <= byte <= 90 else byte


@kernel
def _stands(data, start, texts, begin, stop):
    """Whether texts[begin:stop] stands at `start`."""
    place = begin
    while place < stop and _lowered(data[start + place - begin]) == texts[place]:
        place += 1
    return place == stop


@kernel
def phrases_in(data, begin, stop, probes):
    """The bits of the phrases in data[begin:stop]."""
    found = 0
    for position in range(begin, stop - 2, _STRIDE):
        three = data[position : position + 3]
        place = np.int64(probes.heads[_key(np.int64(three[0]), np.int64(three[1]), np.int64(three[2]))])
        while place != 0:
            number = probes.phrase[place]
            first, last = probes.bounds[number], probes.bounds[number + 1]
            start = position - np.int64(probes.depth[place])
            if start >= begin and start + last - first <= stop and _stands(data, start, probes.texts, first, last):
                found |= np.int64(probes.bits[number])
            place = np.int64(probes.following[place])
    return found


PROBES = _probes()
