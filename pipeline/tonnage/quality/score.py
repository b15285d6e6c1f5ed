"""Probabilities of a collapsed model over a text column. Equal to fastText's own within 1e-4.

A document is one line: its line feeds become spaces, so a line feed at its end changes nothing. Reading models is
model.py's, the sums are kernels/linear's.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tonnage.kernels.linear import sum_rows
from tonnage.kernels.words import fold_text
from tonnage.quality.model import LinearModel, tiny_models
from tonnage.store.arrow_text import buffers

QUALITY_VERSION = 1
FOLD, RAW = "fold", "raw"


def score(model: LinearModel, text: pa.LargeStringArray, *, normalise: str) -> np.ndarray:
    """float32[n]: the probability of the model's label for each document of a large_string column without nulls.

    `normalise` is 'fold' (lower case without punctuation, kernels/words) or 'raw'. A document of which the model knows
    nothing at all, for which fastText gives no label, scores 0.
    """
    data, offsets = buffers(text)
    if normalise == FOLD:
        data, offsets = fold_text(data, offsets)
    return probabilities(model, data, offsets)


def warm_up() -> None:
    """Compiles the kernels behind `score`, or loads them from numba's cache."""
    text = pa.array(["a word"], pa.large_string())
    for model in tiny_models():
        for normalise in (FOLD, RAW):
            score(model, text, normalise=normalise)


def probabilities(model: LinearModel, data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """float32[n] for documents as they lie: `data` uint8, `offsets` int64[n + 1]."""
    sums, rows = sum_rows(data, offsets, model.table)
    logits = sums / np.maximum(rows, 1)[:, None]
    with np.errstate(over="ignore"):
        result = _probability(model, logits)
    return np.where(rows > 0, result, 0).astype(np.float32)


def _probability(model: LinearModel, logits: np.ndarray) -> np.ndarray:
    if model.kind == "softmax":
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers[:, model.label] / powers.sum(axis=1)
    signs = model.signs if model.kind == "path" else np.ones(1)
    return np.prod(1 / (1 + np.exp(-logits * signs)), axis=1)
