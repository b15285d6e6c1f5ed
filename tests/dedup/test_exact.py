"""Exact duplicates: the first by source order, shard and row stays; only documents that passed the rules take part."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonnage.dedup import exact
from tonnage.errors import WorkFailed
from tonnage.store.documents import read_table, write_columns
from tonnage.store.layout import columns_path
from tonnage.store.receipts import Receipt

KEY = "0" * 16
SOURCES = ("web", "books")
Corpus = list[tuple[str, int, list[tuple[str, bool]]]]  # source, shard, (text, passed the rules)


def find(root: Path, corpus: Corpus, partitions: int, reverse: bool = False) -> dict[tuple[str, int, int], object]:
    """The kept address beside every document, None for those that do not fall."""
    maps = []
    for ordinal, (source, shard, documents) in enumerate(corpus):
        names = [xxhash.xxh3_128_hexdigest(text.encode()) for text, _ in documents]
        write_columns(f"{root}/d{ordinal}", pa.table({"id": pa.array(names, pa.string())}))
        reasons = pa.array([None if passed else "rule" for _, passed in documents], pa.string())
        write_columns(f"{root}/v{ordinal}", pa.table({"reason": reasons}))
        maps.append(
            exact.MapTask(
                str(root), KEY, source, SOURCES.index(source), shard, ordinal, f"d{ordinal}", f"v{ordinal}", partitions
            )
        )
    order = list(reversed(maps)) if reverse else maps
    mapped = [exact.exact_map(task) for task in order]
    paths = tuple(exact.map_path(KEY, task) for task in maps)
    reduced = [exact.exact_reduce(exact.ReduceTask(str(root), KEY, p, paths)) for p in range(partitions)]
    pairs = tuple(exact.reduce_path(KEY, p) for p in range(partitions))
    written = [exact.exact_write(exact.WriteTask(str(root), KEY, task, SOURCES, pairs)) for task in order]
    exact.check_balance(mapped, reduced, written)
    found: dict[tuple[str, int, int], object] = {}
    for task in maps:
        rows = read_table(f"{root}/{columns_path('exact', KEY, task.source, task.shard)}").to_pylist()
        for row, twin in enumerate(rows):
            address = tuple(twin.values())
            found[(task.source, task.shard, row)] = None if address[0] is None else address
    return found


def expected(corpus: Corpus) -> dict[tuple[str, int, int], object]:
    addresses = sorted(
        (SOURCES.index(source), shard, row, text)
        for source, shard, documents in corpus
        for row, (text, passed) in enumerate(documents)
        if passed
    )
    first: dict[str, tuple[str, int, int]] = {}
    result: dict[tuple[str, int, int], object] = {
        (source, shard, row): None for source, shard, documents in corpus for row in range(len(documents))
    }
    for source, shard, row, text in addresses:
        address = (SOURCES[source], shard, row)
        if text in first:
            result[address] = first[text]
        else:
            first[text] = address
    return result


DOCUMENTS = st.lists(st.tuples(st.sampled_from(["", "cat", "dog", "a b c d", "e f g h"]), st.booleans()), max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shards=st.lists(DOCUMENTS, min_size=1, max_size=4), partitions=st.integers(1, 3), reverse=st.booleans())
def test_equals_brute_force_in_any_order_of_tasks(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[tuple[str, bool]]], partitions: int, reverse: bool
) -> None:
    corpus: Corpus = [(SOURCES[i % 2], i // 2, documents) for i, documents in enumerate(shards)]
    corpus.sort(key=lambda entry: (SOURCES.index(entry[0]), entry[1]))
    assert find(tmp_path_factory.mktemp("run"), corpus, partitions, reverse) == expected(corpus)


def test_short_texts_collapse_only_onto_equal_ones(tmp_path: Path) -> None:
    texts = ["cat", "dog", "cat", "a b c d", "e f g h"]
    found = find(tmp_path, [("web", 0, [(text, True) for text in texts])], 2)
    assert [row for (_, _, row), twin in found.items() if twin is None] == [0, 1, 3, 4]
    assert found[("web", 0, 2)] == ("web", 0, 0)


def test_a_document_that_a_rule_drops_keeps_no_other_from_staying(tmp_path: Path) -> None:
    found = find(tmp_path, [("web", 0, [("cat", False), ("cat", True)])], 1)
    assert found == {("web", 0, 0): None, ("web", 0, 1): None}


def test_an_imbalance_fails_the_run() -> None:
    def receipt(**counts: int) -> Receipt:
        return Receipt("exact", KEY, "t", (), counts)

    with pytest.raises(WorkFailed, match="do not balance"):
        exact.check_balance([receipt(members=3)], [receipt(members=3, clusters=2, removed=1)], [receipt(duplicates=0)])
