"""The order inside a cell: for every epoch of every cell a permutation of its sequences that belongs to it alone.

The permutation depends on seed, cell name, epoch and the number of sequences, on nothing else: another mixture over
the same cells, with the same seed, visits a cell in the same order.
"""

from __future__ import annotations

import json

import numpy as np
import xxhash

from tonnage.kernels.permute import permute_many


def cell_key(seed: int, cell: str) -> int:
    """The 64-bit key of a cell's permutations."""
    return xxhash.xxh3_64_intdigest(json.dumps(["cell", seed, cell]).encode())


def permute(index: np.ndarray, size: np.ndarray, key: np.ndarray, epoch: np.ndarray) -> np.ndarray:
    """Sequence in the cell that the `index`-th draw of an epoch reads.

    `index`, `size` (of the cell, in sequences) and `epoch` int64[n], `key` uint64[n]; 0 <= index < size. Returns
    int64[n].
    """
    return permute_many(index, size, key, epoch)
