"""Verdicts within groups, against a brute force that compares every document with every kept one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels import overlap

GROUP = st.lists(st.tuples(st.sets(st.integers(0, 12), max_size=9), st.integers(0, 2)), max_size=8)


def arrays(groups: list[list[tuple[set[int], int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    documents = [document for group in groups for document in group]
    flat = [value for values, _ in documents for value in sorted(values)]
    # Few slots are alike though shingles differ, as in large groups: hashes are multiples of what picks a slot.
    shingles = np.array(flat, np.uint64) * np.uint64(64)
    bounds = np.cumsum([0, *(len(values) for values, _ in documents)])
    starts = np.cumsum([0, *(len(group) for group in groups)])
    return shingles, bounds, starts, np.array([realm for _, realm in documents], np.int32)


def brute_force(
    groups: list[list[tuple[set[int], int]]], measure: int, threshold: float
) -> tuple[list[int], list[int]]:
    kept_of: list[int] = []
    shared_of: list[int] = []
    for group in groups:
        first = len(kept_of)
        kept: list[int] = []
        for index, (values, realm) in enumerate(group):
            best, similarity, both = -1, -1.0, 0
            for other in kept if realm else ():
                others, other_realm = group[other]
                if other_realm not in (0, realm) or not values:
                    continue
                shared = len(values & others)
                found = shared / len(values if measure == overlap.CONTAINMENT else values | others)
                if found >= threshold and found > similarity:
                    best, similarity, both = first + other, found, shared
            kept_of.append(best)
            shared_of.append(both)
            if best < 0:
                kept.append(index)
    return kept_of, shared_of


@settings(max_examples=400, deadline=None)
@given(st.lists(GROUP, max_size=3), st.sampled_from([0.3, 0.5, 0.75, 1.0]), st.sampled_from([0, 1]))
def test_equals_brute_force(groups: list[list[tuple[set[int], int]]], threshold: float, measure: int) -> None:
    found = overlap.decide(*arrays(groups), measure=measure, threshold=threshold, exact_members=99, lookups=0)
    assert (found.kept.tolist(), found.shared.tolist()) == brute_force(groups, measure, threshold)
    assert not found.bounded.any()


@settings(max_examples=200, deadline=None)
@given(st.lists(GROUP, max_size=2), st.integers(0, 3))
def test_a_bound_on_look_ups_lets_stay_but_never_drops(groups: list[list[tuple[set[int], int]]], lookups: int) -> None:
    shingles, bounds, starts, realm = arrays(groups)
    found = overlap.decide(shingles, bounds, starts, realm, measure=0, threshold=0.75, exact_members=1, lookups=lookups)
    documents = [document for group in groups for document in group]
    for index, kept in enumerate(found.kept.tolist()):
        if kept >= 0:
            values, others = documents[index][0], documents[kept][0]
            assert len(values & others) / len(values) >= 0.75
            assert found.kept[kept] == -1


def test_a_bound_is_reported_where_it_ended_a_search() -> None:
    groups = [[({1, 2, 3, 4}, 1), ({1, 2, 5, 6}, 1), ({1, 2, 7, 8}, 1), ({1, 2, 3, 9}, 1)]]
    found = overlap.decide(*arrays(groups), measure=0, threshold=0.3, exact_members=3, lookups=0)
    assert found.bounded.tolist() == [False, True, True, True]
    found = overlap.decide(*arrays(groups), measure=0, threshold=0.3, exact_members=4, lookups=0)
    assert not found.bounded.any() and found.kept.tolist() == [-1, 0, 0, 0]


@pytest.mark.parametrize(("shingles", "threshold", "need"), [(4, 0.75, 3), (10, 0.7, 7), (3, 1.0, 3), (7, 0.1, 1)])
def test_the_least_number_of_shared_shingles_is_exact(shingles: int, threshold: float, need: int) -> None:
    assert overlap.least_shared(shingles, threshold) == need


def test_unchecked_groups_fall_for_their_first_of_the_same_realm() -> None:
    groups = [[({1}, 0), ({2}, 1)], [({3}, 1), ({4}, 2), ({5}, 1), ({6}, 2), ({4}, 2)]]
    found = overlap.first_of_each(*arrays(groups))
    assert found.kept.tolist() == [-1, 0, -1, -1, 2, 3, 3]
    assert found.shared.tolist() == [0, 0, 0, 0, 0, 0, 1]


def test_shared_pairs_counts_what_two_documents_have_in_common() -> None:
    shingles, bounds, _, _ = arrays([[({1, 2, 3}, 1), ({2, 3, 4}, 1), (set(), 1)]])
    shared = overlap.shared_pairs(shingles, bounds, np.array([0, 1, 2]), np.array([1, 0, 0]))
    assert shared.tolist() == [2, 2, 0]
