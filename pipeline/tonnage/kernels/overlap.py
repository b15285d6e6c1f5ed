"""Which documents of a group are contained in one that stays: decided one after another in keep order.

Shingles of kept documents stand in an inverted index. A document that is to fall shares at least `need` of its d
distinct shingles with one kept document, so that one holds at least one of any d - need + 1 of them: only the rarest so
many are looked up (prefix filtering; Chaudhuri, Ganti, Kaushik 2006), and every document met there is compared shingle
by shingle. Shingles that occur once in a group are neither kept nor looked up. So the outcome is exact, however large
the group, as long as look-ups have no bound; with one, a document may stay that would have fallen, never the reverse.
What groups are and in which order they stand is for dedup.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tonnage.kernels.compiled import kernel
from tonnage.kernels.hashing import slots

CONTAINMENT = 0  # shared / shingles of the document that is to fall
JACCARD = 1  # shared / shingles of both
_MOST_SLOTS = 1 << 24
_NONE = np.int32(-1)


class Verdicts(NamedTuple):
    """Per document of all groups: what it is contained in, and how much work that took."""

    kept: np.ndarray  # int64[n], index of the kept document it falls for, -1 when it stays
    shared: np.ndarray  # int64[n], distinct shingles shared with that one
    comparisons: np.ndarray  # int64[n], kept documents it was compared with
    bounded: np.ndarray  # bool[n], whether the bound on look-ups ended the search


def decide(
    shingles: np.ndarray,
    bounds: np.ndarray,
    groups: np.ndarray,
    realm: np.ndarray,
    *,
    measure: int,
    threshold: float,
    exact_members: int,
    lookups: int,
) -> Verdicts:
    """Verdicts on n documents in g groups, each group in keep order.

    `shingles` uint64[m], distinct and rising within a document; `bounds` int64[n + 1]; `groups` int64[g + 1] into the
    documents. `realm` int32[n]: documents of realm 0 stay without being looked at, others fall for documents of their
    own realm or of realm 0. In groups of more than `exact_members` documents at most `lookups` index entries are
    visited for each document.
    """
    result = _all_stay(len(bounds) - 1)
    sizes = bounds[groups[1:]] - bounds[groups[:-1]]
    largest = int(sizes.max(initial=0))
    longest = int(np.diff(bounds).max(initial=0))
    table = min(slots(largest), _MOST_SLOTS)
    _decide(
        shingles, bounds, groups, measure, threshold, exact_members, lookups, realm,
        np.zeros(table, np.int32), np.empty(table, np.int32),
        np.empty(largest, np.int32), np.empty(largest, np.int32), np.empty(largest, np.int32),
        np.empty(int(np.diff(groups).max(initial=0)), np.int32), np.empty(longest, np.uint64), *result,
    )  # fmt: skip
    return result


def _all_stay(documents: int) -> Verdicts:
    return Verdicts(
        np.full(documents, -1, np.int64),
        np.zeros(documents, np.int64),
        np.zeros(documents, np.int64),
        np.zeros(documents, np.bool_),
    )


def first_of_each(shingles: np.ndarray, bounds: np.ndarray, groups: np.ndarray, realm: np.ndarray) -> Verdicts:
    """Every document falls for the first of its group that it may fall for, whatever they share: nothing is verified.

    Shapes as in `decide`.
    """
    result = _all_stay(len(bounds) - 1)
    _first_of_each(shingles, bounds, groups, realm, *result)
    return result


@kernel
def _first_of_each(shingles, bounds, groups, realm, kept, shared, comparisons, bounded):
    for group in range(len(groups) - 1):
        for document in range(groups[group], groups[group + 1]):
            if realm[document] == 0:
                continue
            for other in range(groups[group], document):
                if realm[other] == 0 or (realm[other] == realm[document] and kept[other] < 0):
                    kept[document] = other
                    shared[document] = _shared(
                        shingles, bounds[document], bounds[document + 1], bounds[other], bounds[other + 1], 0
                    )
                    break


def shared_pairs(shingles: np.ndarray, bounds: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """int64[m]: how many shingles the documents left[i] and right[i] share."""
    result = np.zeros(len(left), np.int64)
    _shared_pairs(shingles, bounds, left, right, result)
    return result


@kernel
def _shared_pairs(shingles, bounds, left, right, result):
    for pair in range(len(left)):
        a, b = left[pair], right[pair]
        result[pair] = _shared(shingles, bounds[a], bounds[a + 1], bounds[b], bounds[b + 1], 0)


def sort_each(shingles: np.ndarray, bounds: np.ndarray) -> None:
    """Sorts the shingles of each document where they lie."""
    _sort_each(shingles, bounds)


@njit(cache=True, nogil=True)
def _sort_each(shingles, bounds):
    for document in range(len(bounds) - 1):
        shingles[bounds[document] : bounds[document + 1]].sort()


def least_shared(shingles: int, threshold: float) -> int:
    """The least number of shared shingles whose share of `shingles` reaches `threshold`."""
    return int(_need(shingles, threshold))


@kernel
def _need(shingles, threshold):
    need = np.int64(np.ceil(threshold * shingles))
    while need > 0 and (need - 1) / shingles >= threshold:
        need -= 1
    while need / shingles < threshold:
        need += 1
    return need


@kernel
def _shared(shingles, begin, stop, other, end, need):
    """How many shingles two documents share; less than `need` once that many cannot be reached."""
    count = np.int64(0)
    missing = stop - begin - need
    while begin < stop and other < end:
        a, b = shingles[begin], shingles[other]
        if a == b:
            count += 1
            begin += 1
            other += 1
        elif a < b:
            begin += 1
            missing -= 1
            if missing < 0:
                return count
        else:
            other += 1
    return count


@kernel
def _slot(shingle, mask):
    return np.int64((shingle >> np.uint64(7)) & mask)


@kernel
def _sort(values, count):
    """Shell sort with Ciura's gaps: a prefix is short, and needs no array of its own."""
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for place in range(gap, count):
            value = values[place]
            other = place
            while other >= gap and values[other - gap] > value:
                values[other] = values[other - gap]
                other -= gap
            values[other] = value


@kernel
def _rarest(shingles, begin, stop, often, mask, wanted, prefix):
    """Fills `prefix` with places of the shingles to look up, rarest first; their number.

    Shingles that no other document of the group has come first, and need no look-up.
    """
    count = np.int64(0)
    for place in range(begin, stop):
        times = often[_slot(shingles[place], mask)]
        if times > 1:
            prefix[count] = (np.uint64(times) << np.uint64(32)) | np.uint64(place - begin)
            count += 1
    alone = stop - begin - count
    if alone >= wanted:
        return 0
    _sort(prefix, count)
    return wanted - alone


@kernel
def _decide(
    shingles, bounds, groups, measure, threshold, exact_members, lookups, realm,
    often, heads, following, owner, entry, met, prefix, kept, shared, comparisons, bounded,
):  # fmt: skip
    for group in range(len(groups) - 1):
        first = groups[group]
        last = groups[group + 1]
        bounded_group = last - first > exact_members
        size = min(slots(bounds[last] - bounds[first]), len(heads))
        mask = np.uint64(size - 1)
        for slot in range(size):
            often[slot] = 0
            heads[slot] = _NONE
        for place in range(bounds[first], bounds[last]):
            often[_slot(shingles[place], mask)] += 1
        entries = np.int32(0)
        met[: last - first] = _NONE
        for document in range(first, last):
            begin = bounds[document]
            stop = bounds[document + 1]
            total = stop - begin
            best = np.int64(-1)
            best_shared = np.int64(0)
            best_whole = np.int64(1)
            if realm[document] > 0 and total > 0:
                need = _need(total, threshold)
                count = _rarest(shingles, begin, stop, often, mask, total - need + 1, prefix)
                visits = np.int64(0)
                for index in range(count):
                    wanted = shingles[begin + np.int64(prefix[index] & np.uint64(0xFFFFFFFF))]
                    link = heads[_slot(wanted, mask)]
                    while link != _NONE:
                        if bounded_group and visits >= lookups:
                            bounded[document] = True
                            break
                        visits += 1
                        other = first + owner[link]
                        if (
                            met[owner[link]] != document - first
                            and shingles[bounds[other] + entry[link]] == wanted
                            and (realm[other] == 0 or realm[other] == realm[document])
                        ):
                            met[owner[link]] = document - first
                            comparisons[document] += 1
                            both = _shared(shingles, begin, stop, bounds[other], bounds[other + 1], need)
                            whole = total
                            if measure == JACCARD:
                                whole = total + bounds[other + 1] - bounds[other] - both
                            if both / whole >= threshold:
                                more = both * best_whole - best_shared * whole
                                if best < 0 or more > 0 or (more == 0 and other < best):
                                    best, best_shared, best_whole = other, both, whole
                        link = following[link]
                    if bounded[document]:
                        break
            kept[document] = best
            shared[document] = best_shared
            if best >= 0:
                continue
            for place in range(begin, stop):
                slot = _slot(shingles[place], mask)
                if often[slot] > 1:
                    following[entries] = heads[slot]
                    owner[entries] = document - first
                    entry[entries] = place - begin
                    heads[slot] = entries
                    entries += 1
