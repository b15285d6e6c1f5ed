"""What duplicates add up to: sizes of clusters, who duplicates whom, how alike they are; and sums of all that.

A cluster is a document that stays together with those that fall for it, all of this run or the first of an earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tonnage.dedup.corpus import ROW_BITS, Corpus

BINS = 20  # of the similarity histogram


def clusters(kept: np.ndarray) -> dict[str, int]:
    """{members: clusters} where kept[i] (int64[m]) is what the i-th fallen document falls for."""
    _, falling = np.unique(kept, return_counts=True)
    sizes, counts = np.unique(falling + 1, return_counts=True)
    return {str(size): count for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)}


def source_pairs(corpus: Corpus, fallen: np.ndarray, kept: np.ndarray) -> dict[str, dict[str, int]]:
    """{source of the fallen: {source of the kept, with its run if earlier: documents}} for nodes int64[m]."""
    parts = len(corpus.parts)
    places = corpus.part_of(fallen >> ROW_BITS) * parts + corpus.part_of(kept >> ROW_BITS)
    result: dict[str, dict[str, int]] = {}
    for place, count in zip(*(column.tolist() for column in np.unique(places, return_counts=True)), strict=True):
        falls, stays = corpus.parts[place // parts], corpus.parts[place % parts]
        name = stays.source if stays.run is None else f"{stays.source} of {stays.run}"
        result.setdefault(falls.source, {})[name] = count
    return result


def largest(corpus: Corpus, fallen: np.ndarray, kept: np.ndarray) -> dict[str, Any]:
    """The document for which the most fall: how many, its address, and the source of the first that falls for it.

    {"removed": 0} when none falls.
    """
    if not len(kept):
        return {"removed": 0}
    nodes, counts = np.unique(kept, return_counts=True)
    node = int(nodes[int(np.argmax(counts))])
    part, shard, row = corpus.address(node)
    first, _, _ = corpus.address(int(fallen[np.flatnonzero(kept == node)[0]]))
    return {
        "removed": int(counts.max()),
        "run": part.run,
        "source": part.source,
        "shard": shard,
        "row": row,
        "falls_in": first.source,
    }


def histogram(values: np.ndarray) -> list[int]:
    """How many similarities lie in each of BINS equal bins of 0..1; 1 itself counts to the last."""
    bins = np.minimum((values.astype(np.float64) * BINS + 1e-6).astype(np.int64), BINS - 1)
    return [int(count) for count in np.bincount(bins, minlength=BINS)]


def add_up(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum of counts as above: numbers and lists are added, tables merged; of `largest` the first with the most."""
    result: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            result[name] = _added(name, result[name], value) if name in result else value
    return result


def _added(name: str, left: Any, right: Any) -> Any:
    if name == "largest":
        return max(left, right, key=lambda entry: entry["removed"] if isinstance(entry, Mapping) else entry)
    if isinstance(left, Mapping):
        if not all(isinstance(value, int) for value in (*left.values(), *right.values())):
            return add_up([left, right])
        return dict(sorted((Counter(left) + Counter(right)).items()))
    if isinstance(left, list):
        return [a + b for a, b in zip(left, right, strict=True)]
    return left + right
