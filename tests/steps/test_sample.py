"""A sample depends on the texts alone: not on how they lie in shards, nor on the order in which shards report."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tonnage.steps import sample
from tonnage.steps.sample import Candidates, Place, RankTask, chosen, merge, of_shard, rank_documents
from tonnage.store import schema
from tonnage.store.documents import writing_parquet
from tonnage.store.layout import documents_path

DOCUMENT = st.tuples(st.integers(0, 12), st.integers(0, 40))  # rank, bytes: few ranks, so that texts meet again
SHARDS = st.lists(st.lists(DOCUMENT, max_size=8), max_size=6)


def by_sorting(shards: list[list[tuple[int, int]]], max_bytes: int, max_documents: int) -> list[tuple[int, int]]:
    """(shard, row) of the sample over all, the plain way."""
    found = sorted((r, shard, row, size) for shard, rows in enumerate(shards) for row, (r, size) in enumerate(rows))
    result: list[tuple[int, int]] = []
    total, last = 0, None
    for rank, shard, row, size in found:
        if size == 0 or rank == last:
            continue
        total, last = total + size, rank
        if result and (total > max_bytes or len(result) == max_documents):
            break
        result.append((shard, row))
    return sorted(result)


def candidates_of(rows: list[tuple[int, int]], max_bytes: int, max_documents: int) -> Candidates:
    rank, size = (np.array([row[part] for row in rows], kind) for part, kind in ((0, np.uint64), (1, np.int64)))
    found = Candidates(rank, np.zeros(len(rows), np.int32), np.arange(len(rows)), size)
    return merge(sample.NO_CANDIDATES, found, max_bytes, max_documents)


@given(SHARDS, st.integers(1, 120), st.integers(1, 10), st.randoms())
def test_merging_in_any_order_is_sorting_all_at_once(
    shards: list[list[tuple[int, int]]], max_bytes: int, max_documents: int, chance: random.Random
) -> None:
    # Equal ids are equal texts, so equal ranks have equal sizes.
    sizes = {rank: size for rows in shards for rank, size in rows}
    shards = [[(rank, sizes[rank]) for rank, _ in rows] for rows in shards]
    order = list(range(len(shards)))
    chance.shuffle(order)
    merged = sample.NO_CANDIDATES
    for shard in order:
        found = of_shard(candidates_of(shards[shard], max_bytes, max_documents), shard)
        merged = merge(merged, found, max_bytes, max_documents)
    samples = chosen(merged, [Place("web", shard) for shard in range(len(shards))], max_bytes)
    assert [(each.place.shard, row) for each in samples for row in each.rows] == by_sorting(
        shards, max_bytes, max_documents
    )


def test_ranks_of_a_shard_are_hashes_of_seed_and_id(tmp_path: Path) -> None:
    texts = ["one", "", "two two", "three", "two two"]
    ids = [xxhash.xxh3_128_hexdigest(text.encode()) for text in texts]
    columns = {field.name: pa.nulls(len(texts), field.type) if field.nullable else None for field in schema.DOCUMENTS}
    columns |= {"id": pa.array(ids), "text": pa.array(texts, pa.large_string())}
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([0 if pa.types.is_integer(field.type) else ""] * len(texts), field.type)
            if columns[field.name] is None
            else columns[field.name].cast(field.type)
            for field in schema.DOCUMENTS
        ],
        schema=schema.DOCUMENTS,
    )
    with writing_parquet(str(tmp_path / documents_path("web", 0)), schema.DOCUMENTS, text_column="text") as writer:
        writer.write(batch)
    found = rank_documents(RankTask(str(tmp_path), Place("web", 0), 17, 1000, 10))
    expected = sorted((xxhash.xxh3_64_intdigest(ids[row].encode(), 17), row) for row in (0, 2, 3))
    assert [(rank, row) for rank, row in zip(found.rank.tolist(), found.row.tolist(), strict=True)] == expected
