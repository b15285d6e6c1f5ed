"""Shingles and similarities the slow and obvious way."""

from __future__ import annotations

from collections.abc import Sequence

from support import plain_words

Shingle = tuple[str, ...]


def shingles(text: str, ngram: int = 5) -> frozenset[Shingle]:
    words = [word for word in map(plain_words.fold, plain_words.words(text)) if word]
    return frozenset(zip(*(words[i:] for i in range(ngram)), strict=False))


def containment(inner: frozenset[Shingle], outer: frozenset[Shingle]) -> float:
    return len(inner & outer) / len(inner) if inner else 0.0


def jaccard(one: frozenset[Shingle], other: frozenset[Shingle]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def falls(texts: Sequence[str], threshold: float, ngram: int = 5) -> list[int | None]:
    """For each of `texts`, in keep order, the kept one that contains the most of it, from `threshold` on; else None."""
    sets = [shingles(text, ngram) for text in texts]
    kept: list[int] = []
    holders: dict[Shingle, list[int]] = {}
    result: list[int | None] = []
    for index, own in enumerate(sets):
        shared: dict[int, int] = {}
        for shingle in own:
            for other in holders.get(shingle, ()):
                shared[other] = shared.get(other, 0) + 1
        best = min(shared, key=lambda other: (-shared[other], other), default=None)
        if best is not None and shared[best] / len(own) >= threshold:
            result.append(best)
            continue
        result.append(None)
        kept.append(index)
        for shingle in own:
            holders.setdefault(shingle, []).append(index)
    return result
