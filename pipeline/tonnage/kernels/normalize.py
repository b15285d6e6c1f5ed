"""Normalized text: line ends made one kind, runs of white space bounded. What is changed is counted a document.

Carriage returns, alone or before a line feed, become line feeds. A run of white space longer than a limit is cut to its
first characters: pages whose extraction left megabytes of blanks would exhaust a tokenizer, and no word is lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tonnage.kernels.compiled import kernel
from tonnage.kernels.tables import WHITE, tables
from tonnage.kernels.words import decode

MAX_WHITESPACE_RUN = 128


class Normalized(NamedTuple):
    """The texts of n documents, one behind the other, and what was changed in each."""

    data: np.ndarray  # uint8
    offsets: np.ndarray  # int64[n + 1], from 0
    carriage_returns: np.ndarray  # int64[n], CR or CR LF made LF
    runs_cut: np.ndarray  # int64[n], runs of white space cut


def normalize(data: np.ndarray, offsets: np.ndarray, max_whitespace_run: int = MAX_WHITESPACE_RUN) -> Normalized:
    """n documents: `data` uint8 (UTF-8), `offsets` int64[n + 1]; a run keeps `max_whitespace_run` code points."""
    documents = len(offsets) - 1
    result = np.empty(int(offsets[-1] - offsets[0]) + 1, np.uint8)
    bounds = np.zeros(documents + 1, np.int64)
    changes = np.zeros((documents, 2), np.int64)
    _normalize(data, offsets, tables().classes, max_whitespace_run, result, bounds, changes)
    return Normalized(
        result[: bounds[-1]].copy(),
        bounds,
        np.ascontiguousarray(changes[:, 0]),
        np.ascontiguousarray(changes[:, 1]),
    )


@kernel
def _normalize(data, offsets, classes, limit, result, bounds, changes):
    place = np.int64(0)
    for document in range(len(offsets) - 1):
        position = offsets[document]
        stop = offsets[document + 1]
        run = 0
        while position < stop:
            byte = data[position]
            length = np.int64(1)
            kind = classes[byte] if byte < 0x80 else np.uint16(0)
            if byte >= 0x80:
                point, length = decode(data, position, stop)
                kind = classes[point]
            if not kind & WHITE:
                run = 0
                for index in range(length):
                    result[place + index] = data[position + index]
                place += length
                position += length
                continue
            run += 1
            begin = position
            position += length
            if byte == 13:
                changes[document, 0] += 1
                if position < stop and data[position] == 10:
                    position += 1
            if run > limit:
                changes[document, 1] += run == limit + 1
            elif byte == 13:
                result[place] = 10
                place += 1
            else:
                for index in range(length):
                    result[place + index] = data[begin + index]
                place += length
        bounds[document + 1] = place
