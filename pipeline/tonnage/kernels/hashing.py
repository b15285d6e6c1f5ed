"""Hashes of bytes and of sequences, and the table that finds the earliest of equal hashes in one document after
another.

What is hashed and counted is for repetition.py and lines.py.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_POSITION_BITS = np.uint64(32)
_POSITION_MASK = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def slots(elements):
    """Slots of a table for `elements` keys: a power of two, at most half of them taken."""
    size = 4
    while size < 2 * elements:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def mixed(value):
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection; every output bit hangs on every input bit."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def mixed_all(values: np.ndarray) -> np.ndarray:
    """uint64[n]: `mixed` of each of n values."""
    result = np.empty(len(values), np.uint64)
    _mix_each(values, result)
    return result


@njit(cache=True, nogil=True)
def _mix_each(values, result):
    for index in range(len(values)):
        result[index] = mixed(values[index])


@njit(cache=True, nogil=True)
def joined(sequence, element):
    """The hash of a sequence with one more element."""
    return mixed(sequence * _GOLDEN + element)


@njit(cache=True, nogil=True)
def hash_bytes(data, begin, stop):
    """The hash of data[begin:stop], eight bytes a step; the length is hashed too, so zero bytes at the end count."""
    value = np.uint64(stop - begin)
    position = begin
    while position + 8 <= stop:
        chunk = np.uint64(0)
        for byte in range(8):
            chunk |= np.uint64(data[position + byte]) << np.uint64(8 * byte)
        value = (value ^ chunk) * _GOLDEN
        value ^= value >> np.uint64(32)
        position += 8
    chunk = np.uint64(0)
    while position < stop:
        chunk = (chunk << np.uint64(8)) | np.uint64(data[position])
        position += 1
    return mixed((value ^ chunk) * _GOLDEN)


@njit(cache=True, nogil=True)
def earliest(table, mask, generation, hashes, position):
    """The earliest position whose hash is that of `position`, which is entered when there is none.

    A slot holds generation and position; a slot of another generation is free, so nothing is ever cleared.
    """
    wanted = hashes[position]
    slot = wanted & mask
    while True:
        entry = table[slot]
        if entry >> _POSITION_BITS != generation:
            table[slot] = (generation << _POSITION_BITS) | np.uint64(position)
            return position
        found = np.int64(entry & _POSITION_MASK)
        if hashes[found] == wanted:
            return found
        slot = (slot + np.uint64(1)) & mask
