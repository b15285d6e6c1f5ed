"""How deep the elements of a page may nest, from its tags alone: cheap enough to ask of every page before extraction.

Tags are tokenized as HTML does (comments, quoted attributes, raw text of scripts), but no tree is built: an element
counts as open until an end tag of its name. Elements that HTML closes without an end tag stay open here, so the answer
may be too high, never much too low.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_TABLE = 1 << 12
_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


def _hash(name: str) -> int:
    """FNV-1a, as `_name` computes it."""
    value = int(_BASIS)
    for byte in name.encode():
        value = (value ^ byte) * int(_PRIME) % (1 << 64)
    return value


# HTML, 13.1.2: elements without content, and elements whose content is text whatever it looks like.
_VOID = np.array(
    [
        _hash(name)
        for name in "area base br col embed hr img input link meta source track wbr param frame keygen bgsound".split()
    ],
    np.uint64,
)
_RAW = np.array([_hash(name) for name in "script style textarea title xmp iframe noembed noframes".split()], np.uint64)


def depth_bound(data: np.ndarray) -> int:
    """At most so many elements lie within one another on the page `data` (uint8, UTF-8)."""
    return int(_bound(data, _VOID, _RAW))


@njit(cache=True, nogil=True)
def _name(data, position):
    """(hash of the lower-case tag name at `position`, where it ends)."""
    value = _BASIS
    while position < len(data):
        byte = data[position]
        if byte <= 32 or byte == 47 or byte == 62:
            break
        if 65 <= byte <= 90:
            byte = byte + 32
        value = (value ^ np.uint64(byte)) * _PRIME
        position += 1
    return value, position


@njit(cache=True, nogil=True)
def _tag_end(data, position):
    """Behind the > that ends a tag; quotes hide it only where an attribute's value may begin."""
    quote = 0
    before = 0
    while position < len(data):
        byte = data[position]
        position += 1
        if quote:
            if byte == quote:
                quote = 0
                before = 0
        elif byte == 62:
            break
        elif (byte == 34 or byte == 39) and before == 61:
            quote = byte
        elif byte > 32:
            before = byte
    return position


@njit(cache=True, nogil=True)
def _comment_end(data, position):
    while position + 2 < len(data):
        if data[position] == 45 and data[position + 1] == 45 and data[position + 2] == 62:
            return position + 3
        position += 1
    return len(data)


@njit(cache=True, nogil=True)
def _raw_end(data, position, name):
    """Where the end tag of a raw text element begins."""
    while position + 1 < len(data):
        if data[position] == 60 and data[position + 1] == 47:
            found, _ = _name(data, position + 2)
            if found == name:
                return position
        position += 1
    return len(data)


@njit(cache=True, nogil=True)
def _slot(keys, name):
    """The place of a name in the table, -1 when it is full."""
    place = np.int64(name & np.uint64(_TABLE - 1))
    for _ in range(_TABLE):
        if keys[place] == name or keys[place] == 0:
            return place
        place = (place + 1) & (_TABLE - 1)
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _bound(data, void, raw):
    keys = np.zeros(_TABLE, np.uint64)
    opened = np.zeros(_TABLE, np.int64)
    depth = 0
    deepest = 0
    position = 0
    size = len(data)
    while position + 1 < size:
        if data[position] != 60:
            position += 1
            continue
        byte = data[position + 1]
        if byte == 33 and position + 3 < size and data[position + 2] == 45 and data[position + 3] == 45:
            position = _comment_end(data, position + 2)
            continue
        closing = byte == 47
        begin = position + 2 if closing else position + 1
        if begin >= size or not (97 <= (data[begin] | 32) <= 122):
            position += 1
            continue
        name, end = _name(data, begin)
        position = _tag_end(data, end)
        slot = _slot(keys, name)
        if slot < 0:
            depth += not closing
        elif closing:
            if opened[slot] > 0:
                opened[slot] -= 1
                depth -= 1
        elif not np.any(void == name):
            keys[slot] = name
            opened[slot] += 1
            depth += 1
            if np.any(raw == name):
                position = _raw_end(data, position, name)
        deepest = max(deepest, depth)
    return deepest
