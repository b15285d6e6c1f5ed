"""Shingles and signatures: against the obvious reading, and the measured match curve against its formula."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import shingling

from tonnage.dedup.signatures import Banding, Shingling, bands_of, sign, signature_values
from tonnage.kernels.minhash import NOTHING, band_hashes, family, shingles, signatures
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

WORDS = st.lists(st.sampled_from(["a", "b", "B", "c,", "...", "你好", "d\n"]), max_size=30).map(" ".join)


def shingles_of(texts: list[str], ngram: int) -> list[np.ndarray]:
    hashes, bounds = shingles(scan_words(*buffers(pa.array(texts, pa.large_string()))), ngram)
    return [hashes[begin:end] for begin, end in itertools.pairwise(bounds)]


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=5), st.integers(1, 6))
def test_shingles_are_the_distinct_runs_of_folded_words(texts: list[str], ngram: int) -> None:
    found = shingles_of(texts, ngram)
    expected = [shingling.shingles(text, ngram) for text in texts]
    for hashes, runs in zip(found, expected, strict=True):
        assert len(hashes) == len(set(hashes.tolist())) == len(runs)
    for one, own in zip(found, expected, strict=True):
        for other, runs in zip(found, expected, strict=True):
            assert len(set(one.tolist()) & set(other.tolist())) == len(own & runs)


def test_a_signature_holds_the_least_value_of_each_hash_function() -> None:
    values = np.random.default_rng(5).integers(0, 2**64, 1001, dtype=np.uint64)
    bounds = np.array([0, 0, 1, 8, 1001])
    functions = family(20, 3)
    product = (values.astype(np.uint32)[:, None] ^ functions.mask) * functions.first
    hashed = (product ^ (product >> 16)) * functions.second
    expected = [hashed[begin:end].min(axis=0, initial=NOTHING) for begin, end in itertools.pairwise(bounds)]
    assert np.array_equal(signatures(values, bounds, functions), np.array(expected))


def test_hash_functions_differ_by_seed_and_from_each_other() -> None:
    one, same, other = family(112, 1), family(112, 1), family(112, 2)
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.any(np.isin(one.mask, other.mask))
    assert len(set(zip(one.mask.tolist(), one.first.tolist(), one.second.tolist(), strict=True))) == 112


def pairs_of(similarity: float, count: int, shared_size: int, seed: int) -> np.ndarray:
    """Signatures of `count` pairs of shingle sets with that Jaccard similarity, uint32[2 * count, 112]."""
    chance = np.random.default_rng(seed)
    whole = round(shared_size / similarity)
    alone = (whole - shared_size) // 2
    sets = []
    for _ in range(count):
        drawn = chance.integers(0, 2**64, shared_size + 2 * alone, dtype=np.uint64)
        sets += [drawn[: shared_size + alone], np.concatenate([drawn[:shared_size], drawn[shared_size + alone :]])]
    bounds = np.cumsum([0, *(len(each) for each in sets)])
    return signatures(np.concatenate(sets), bounds, family(112, 1))


@pytest.mark.parametrize("similarity", [0.23, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_places_agree_as_often_as_documents_are_alike(similarity: float) -> None:
    pairs = pairs_of(similarity, 400, 200, seed=int(similarity * 100))
    agreeing = (pairs[0::2] == pairs[1::2]).mean(axis=1)
    assert abs(agreeing.mean() - similarity) < 0.01
    # A place agrees or not independently of the others: the spread is that of a binomial, no wider.
    expected = np.sqrt(similarity * (1 - similarity) / 112)
    assert agreeing.std() < 1.2 * expected


@pytest.mark.parametrize("arrangements", [1, 2])
@pytest.mark.parametrize("similarity", [0.23, 0.5, 0.66, 0.75, 0.8, 0.9])
def test_the_measured_match_curve_is_that_of_the_formula(similarity: float, arrangements: int) -> None:
    pairs = pairs_of(similarity, 2000, 120, seed=7)
    banding = Banding(14, 8, arrangements)
    bands = band_hashes(pairs, banding.layout())
    measured = (bands[0::2] == bands[1::2]).any(axis=1).mean()
    expected = banding.match(similarity)
    spread = np.sqrt(max(expected * (1 - expected), 1e-4) / 2000)
    # Bands of another arrangement share places with those of the first: a little less is found than were they fresh.
    assert -4 * spread - 0.05 * (arrangements - 1) < measured - expected < 4 * spread


def test_two_thousand_templated_documents_of_low_similarity_meet_rarely() -> None:
    """A weak hash family merged nearly all of such a set: equal headers, different words behind them."""
    chance = random.Random(1)
    header = " ".join(f"h{i}" for i in range(40))
    texts = [f"{header} {' '.join(str(chance.random()) for _ in range(60))}" for _ in range(2000)]
    columns = sign(pa.array(texts, pa.large_string()), Shingling(5, 112, 1))
    bands = bands_of(columns.column("signature"), Banding(14, 8, 1))
    similarity = shingling.jaccard(*(shingling.shingles(text) for text in texts[:2]))
    pairs = sum(int((np.unique(bands[:, band], return_counts=True)[1] - 1).sum()) for band in range(14))
    expected = Banding(14, 8, 1).match(similarity) * 2000 * 1999 / 2
    assert 0.2 < similarity < 0.25 and pairs < 3 * expected + 20


def test_layouts_use_every_place_once_an_arrangement() -> None:
    layout = Banding(14, 8, 3).layout()
    assert layout.shape == (42, 8)
    for turn in range(3):
        assert sorted(layout[14 * turn : 14 * turn + 14].ravel().tolist()) == list(range(112))
    assert np.array_equal(layout[:14].ravel(), np.arange(112))
    assert np.array_equal(layout[:28], Banding(14, 8, 2).layout())


def test_signature_columns_survive_slices() -> None:
    columns = sign(pa.array(["a b c d", "x", "a b c d e"], pa.large_string()), Shingling(2, 8, 0))
    values = signature_values(columns.column("signature"))
    assert columns.column("shingles").to_pylist() == [3, 0, 4]
    assert np.array_equal(values[1], np.full(8, NOTHING))
    assert np.array_equal(signature_values(columns.slice(2).column("signature")), values[2:])
