"""Duplicates of a run, looked at again: does each point to a document that stays, and is it as alike as is claimed?

Pointers are checked for every duplicate, similarities from the texts of a sample. Which documents are duplicates was
decided by dedup.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tonnage.dedup.signatures import Shingling
from tonnage.dedup.verification import sorted_shingles
from tonnage.errors import UsageError
from tonnage.inspect.view import RunView, open_run
from tonnage.kernels.overlap import shared_pairs
from tonnage.plan import EXACT, FUZZY
from tonnage.recipe.schema import Fuzzy
from tonnage.run.duplicates import shingling_of
from tonnage.select import EXACT_DUPLICATE, FUZZY_DUPLICATE
from tonnage.steps.decide import ShardColumns
from tonnage.store.documents import read_row_groups, read_table
from tonnage.store.files import join
from tonnage.store.layout import documents_path, selection_path, shard_name

STEPS = {EXACT_DUPLICATE: EXACT, FUZZY_DUPLICATE: FUZZY}


@dataclass(frozen=True)
class Address:
    """Where a document lies: `run` is None for the run that is looked at."""

    run: str | None
    source: str
    shard: int
    row: int

    def __str__(self) -> str:
        name = f"{self.source}/{shard_name(self.shard)} row {self.row}"
        return name if self.run is None else f"{name} of {self.run}"


@dataclass(frozen=True)
class Duplicate:
    """A document that falls for another: `reason` is why, `row` all columns of the step that found it."""

    address: Address
    id: str
    reason: str
    row: Mapping[str, Any]

    @property
    def kept(self) -> Address:
        row = self.row
        return Address(row["duplicate_run"], row["duplicate_source"], row["duplicate_shard"], row["duplicate_row"])


def duplicates_of(view: RunView, place: ShardColumns, reason: str) -> Iterator[Duplicate]:
    """The documents of one shard that fall for `reason`, in the order of rows."""
    selection = read_table(join(view.root, selection_path(view.selection_key, place.source, place.shard)), ["reason"])
    rows = np.flatnonzero(np.equal(selection.column("reason").to_numpy(zero_copy_only=False), reason))
    if not len(rows):
        return
    table = read_table(join(view.root, place.path(STEPS[reason]))).take(pa.array(rows))
    ids = read_table(join(view.root, documents_path(place.source, place.shard)), ["id"]).column("id")
    names = ids.take(pa.array(rows)).to_pylist()
    for row, name, columns in zip(rows.tolist(), names, table.to_pylist(), strict=True):
        yield Duplicate(Address(None, place.source, place.shard, row), name, reason, columns)


def sample(view: RunView, reason: str, count: int) -> list[Duplicate]:
    """`count` duplicates, the same each time: those whose id hashes lowest."""
    found = (duplicate for place in view.shards() for duplicate in duplicates_of(view, place, reason))
    return heapq.nsmallest(count, found, key=lambda duplicate: (duplicate.id[::-1], str(duplicate.address)))


class Texts:
    """Texts and selections of documents by address, of this run and of those that it was compared with."""

    def __init__(self, view: RunView) -> None:
        self._views: dict[str | None, RunView] = {None: view}

    def view(self, run: str | None) -> RunView:
        """The run that an address names. Raises UsageError when an earlier run is no longer there."""
        if run is not None and run not in self._views:
            self._views[run] = open_run(run.partition("/columns/signatures-")[0])
        return self._views[run]

    def text(self, address: Address) -> str:
        view = self.view(address.run)
        seen = 0
        for batch in read_row_groups(join(view.root, documents_path(address.source, address.shard)), ["text"]):
            if address.row < seen + batch.num_rows:
                return str(batch.column("text")[address.row - seen])
            seen += batch.num_rows
        raise UsageError(f"there is no document {address}")


def similarity(one: str, other: str, shingling: Shingling) -> tuple[float, float]:
    """(containment of `one` in `other`, Jaccard) from their distinct shingles."""
    hashes, bounds = sorted_shingles(pa.array([one, other], pa.large_string()), shingling)
    shared = int(shared_pairs(hashes, bounds, np.array([0]), np.array([1]))[0])
    own, others = (int(size) for size in np.diff(bounds))
    return shared / max(own, 1), shared / max(own + others - shared, 1)


def pointer_faults(view: RunView, reason: str) -> Iterator[str | int]:
    """A sentence for each duplicate that points to a document that is not kept; numbers count those looked at.

    An exact duplicate may also point to one that fell after it, as the fuzzy duplicate of a kept document: the two are
    the same text.
    """
    texts = Texts(view)
    accepted = (None, FUZZY_DUPLICATE) if reason == EXACT_DUPLICATE else (None,)
    kept: dict[tuple[str | None, str, int], np.ndarray] = {}
    for place in view.shards():
        count = 0
        for duplicate in duplicates_of(view, place, reason):
            count += 1
            target = duplicate.kept
            shard = (target.run, target.source, target.shard)
            if shard not in kept:
                other = texts.view(target.run)
                path = selection_path(other.selection_key, target.source, target.shard)
                reasons = read_table(join(other.root, path), ["reason"]).column("reason").to_pylist()
                kept[shard] = np.array([found in accepted for found in reasons], bool)
            if not (target.row < len(kept[shard]) and kept[shard][target.row]):
                yield f"{duplicate.address} falls as {reason} of {target}, which is not kept"
        yield count


def similarity_faults(view: RunView, count: int) -> Iterator[str | int]:
    """A sentence for each of `count` fuzzy duplicates whose texts are not as alike as its columns say."""
    fuzzy = Fuzzy.model_validate(view.content["recipe"]["dedup"]["fuzzy"])
    texts = Texts(view)
    for duplicate in sample(view, FUZZY_DUPLICATE, count):
        found = similarity(texts.text(duplicate.address), texts.text(duplicate.kept), shingling_of(fuzzy))
        claimed = duplicate.row["containment"], duplicate.row["jaccard"]
        where = f"{duplicate.address}, a fuzzy duplicate of {duplicate.kept},"
        if not np.allclose(found, claimed, atol=1e-6):
            yield f"{where} has containment {found[0]:.4f} and Jaccard {found[1]:.4f}, its columns say {claimed}"
        if fuzzy.verify is not False and found[fuzzy.verify.measure == "jaccard"] < fuzzy.verify.threshold:
            yield f"{where} falls though its {fuzzy.verify.measure} is below {fuzzy.verify.threshold:g}"
        yield 1
