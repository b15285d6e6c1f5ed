"""Token ids of documents copied together: rows gathered from a longer array, BOS and EOS put around each.

Copies whole documents at a time; where ids come from and go to, and whether they are valid, is for the callers.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _gather(ids, first, offsets, out):
    for document in range(len(first)):
        source = first[document]
        start = offsets[document]
        for i in range(offsets[document + 1] - start):
            out[start + i] = ids[source + i]


@njit(cache=True, nogil=True)
def _wrap(ids, offsets, bos, eos, out):
    at = 0
    for document in range(len(offsets) - 1):
        start = offsets[document]
        length = offsets[document + 1] - start
        if bos >= 0:
            out[at] = bos
            at += 1
        for i in range(length):
            out[at + i] = ids[start + i]
        at += length
        if eos >= 0:
            out[at] = eos
            at += 1


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """int64[n + 1] running sums of `lengths`, from 0."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def gather(ids: np.ndarray, first: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pieces ids[first[i] : first[i] + lengths[i]], one after another, and their offsets int64[n + 1].

    Raises ValueError when a piece lies outside of `ids`.
    """
    first = np.ascontiguousarray(first, np.int64)
    lengths = np.ascontiguousarray(lengths, np.int64)
    if len(first) and (first.min() < 0 or lengths.min() < 0 or (first + lengths).max() > len(ids)):
        raise ValueError(f"pieces reach outside of the {len(ids)} ids")
    offsets = offsets_of(lengths)
    out = np.empty(int(offsets[-1]), ids.dtype)
    _gather(np.asarray(ids), first, offsets, out)
    return out, offsets


def wrap(ids: np.ndarray, offsets: np.ndarray, bos: int | None, eos: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Documents ids[offsets[i] : offsets[i + 1]], each with `bos` before and `eos` behind; their lengths int64[n]."""
    lengths = np.diff(offsets) + ((bos is not None) + (eos is not None))
    out = np.empty(int(lengths.sum()), ids.dtype)
    _wrap(
        np.asarray(ids),
        np.ascontiguousarray(offsets, np.int64),
        -1 if bos is None else bos,
        -1 if eos is None else eos,
        out,
    )
    return out, lengths
