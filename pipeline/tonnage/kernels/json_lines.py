"""What a JSON parser does not tell of a line: how many members its objects have, how deep it nests, how long its
numbers.

A parser that keeps the last of two members with one name, or makes a float of a long integer, loses something without
a word. This scan makes such lines known, so that they can be parsed with care. It judges no syntax: for a line that is
not JSON the numbers mean nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

LONG_NUMBER = 19  # digits from which an integer may not fit 64 bits


class LineFacts(NamedTuple):
    """One entry a line."""

    members: np.ndarray  # int32, colons outside of strings: names of object members, at every depth
    depth: np.ndarray  # int32, deepest nesting of objects and arrays
    long_number: np.ndarray  # bool, a run of LONG_NUMBER digits or more outside of strings


def scan_json_lines(data: np.ndarray, lines: int) -> LineFacts:
    """`data` uint8 holds `lines` lines, each but perhaps the last with its LF."""
    facts = LineFacts(np.zeros(lines, np.int32), np.zeros(lines, np.int32), np.zeros(lines, np.bool_))
    _scan(data, facts.members, facts.depth, facts.long_number)
    return facts


@njit(cache=True, nogil=True)
def _scan(data, members, depth, long_number):
    line = 0
    level = 0
    deepest = 0
    names = 0
    digits = 0
    long = False
    inside = False
    position = 0
    stop = len(data)
    while position < stop:
        byte = data[position]
        position += 1
        if byte == 10:
            if line < len(members):
                members[line] = names
                depth[line] = deepest
                long_number[line] = long
            line += 1
            level = deepest = names = digits = 0
            long = False
            inside = False
        elif inside:
            while byte != 34 and byte != 92 and byte != 10 and position < stop:
                byte = data[position]
                position += 1
            if byte == 34:
                inside = False
            elif byte == 10:
                position -= 1
            elif byte == 92 and position < stop and data[position] != 10:
                position += 1
        elif 48 <= byte <= 57:
            digits += 1
            if digits >= LONG_NUMBER:
                long = True
        else:
            digits = 0
            if byte == 34:
                inside = True
            elif byte == 58:
                names += 1
            elif byte == 123 or byte == 91:
                level += 1
                deepest = max(deepest, level)
            elif byte == 125 or byte == 93:
                level -= 1
    if line < len(members):
        members[line] = names
        depth[line] = deepest
        long_number[line] = long
