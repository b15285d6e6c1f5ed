"""Quality buckets: quantiles of scores weighted by UTF-8 bytes, exact over any number of shards.

Scores fall on a grid of 2^20 steps; bytes a step are counted in integers and added up over shards in any order, so the
edges depend on the documents alone. An edge is a step's lower border, which float32 holds exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

GRID = 1 << 20


class Histogram(NamedTuple):
    """Bytes by step of the grid; steps without bytes are left out."""

    steps: np.ndarray  # int64[k], rising
    bytes: np.ndarray  # int64[k]


def histogram(scores: np.ndarray, sizes: np.ndarray) -> Histogram:
    """The histogram of float32 scores in 0..1 and the UTF-8 bytes (int64) of their documents."""
    return _summed(np.floor(scores.astype(np.float64) * GRID).astype(np.int64), sizes.astype(np.int64))


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of histograms."""
    parts = list(histograms)
    nothing = np.zeros(0, np.int64)
    return _summed(
        np.concatenate([nothing, *(part.steps for part in parts)]),
        np.concatenate([nothing, *(part.bytes for part in parts)]),
    )


def _summed(steps: np.ndarray, sizes: np.ndarray) -> Histogram:
    unique, inverse = np.unique(steps, return_inverse=True)
    sums = np.zeros(len(unique), np.int64)
    np.add.at(sums, inverse, sizes)
    return Histogram(unique, sums)


def edges(hist: Histogram, buckets: int) -> list[float]:
    """The `buckets` - 1 edges, rising: below edge b lie at least b / `buckets` of the bytes, and with the last step
    below it taken away, fewer. Without any bytes the edges part 0..1 evenly.
    """
    total = int(hist.bytes.sum())
    if not total:
        return [index / buckets for index in range(1, buckets)]
    below = np.cumsum(hist.bytes)
    result = []
    for index in range(1, buckets):
        wanted = -(-total * index // buckets)
        result.append(float(hist.steps[int(np.searchsorted(below, wanted))] + 1) / GRID)
    return result


def bucket_of(scores: np.ndarray, borders: Sequence[float] | np.ndarray) -> np.ndarray:
    """int64[n]: the bucket of each score, 0 the lowest; a score on an edge lies above it."""
    return np.searchsorted(np.asarray(borders, np.float64), scores.astype(np.float64), side="right").astype(np.int64)
