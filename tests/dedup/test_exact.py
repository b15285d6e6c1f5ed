"""Exact duplicates: the first by source order, shard and row stays; only documents that passed the rules take part."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonnage.dedup import corpus as corpora
from tonnage.dedup import exact
from tonnage.errors import WorkFailed
from tonnage.store.documents import read_table, write_columns
from tonnage.store.layout import columns_path, documents_path, in_folder
from tonnage.store.receipts import Receipt

KEY = "0" * 16
SOURCES = ("web", "books")
Corpus = list[tuple[str, int, list[tuple[str, bool]]]]  # source, shard, (text, passed the rules)


def corpus_of(root: Path, corpus: Corpus, earlier: frozenset[str]) -> corpora.Corpus:
    """The documents and verdicts of `corpus` on disk; sources named in `earlier` lie in a run of their own."""
    parts = []
    for source in dict.fromkeys(source for source, _, _ in corpus):
        run = "before" if source in earlier else None
        folder = f"{root}/{run or 'own'}"
        shards = [(shard, documents) for name, shard, documents in corpus if name == source]
        for shard, documents in shards:
            names = [xxhash.xxh3_128_hexdigest(text.encode()) for text, _ in documents]
            write_columns(f"{folder}/{documents_path(source, shard)}", pa.table({"id": pa.array(names, pa.string())}))
            reasons = pa.array([None if passed else "rule" for _, passed in documents], pa.string())
            write_columns(f"{folder}/{in_folder('verdicts', source, shard)}", pa.table({"reason": reasons}))
        parts.append(corpora.Part(folder, source, len(shards), ("verdicts",), run))
    return corpora.Corpus(tuple(parts))


def find(
    root: Path, corpus: Corpus, partitions: int, reverse: bool = False, earlier: frozenset[str] = frozenset()
) -> dict[tuple[str, int, int], object]:
    """The kept address beside every document, None for those that do not fall."""
    whole = corpus_of(root, corpus, earlier)
    own = f"{root}/own"
    maps = [exact.MapTask(own, KEY, place, partitions) for place in whole.places()]
    order = list(reversed(maps)) if reverse else maps
    mapped = [exact.exact_map(task) for task in order]
    reduced = [exact.exact_reduce(exact.ReduceTask(own, KEY, p, partitions, whole)) for p in range(partitions)]
    places = [place for place in whole.places() if not place.earlier]
    written = [exact.exact_write(exact.WriteTask(own, KEY, place, whole, partitions)) for place in places]
    exact.check_balance(mapped, reduced, written)
    assert sum(n for receipt in reduced for row in receipt.counts["pairs"].values() for n in row.values()) == sum(
        receipt.counts["removed"] for receipt in reduced
    )
    found: dict[tuple[str, int, int], object] = {}
    for place in places:
        source = place.part.source
        rows = read_table(f"{own}/{columns_path('exact', KEY, source, place.shard)}").to_pylist()
        for row, twin in enumerate(rows):
            address = tuple(twin.values())[1:]
            assert twin["duplicate_run"] == ("before" if twin["duplicate_source"] in earlier else None)
            found[(source, place.shard, row)] = None if address[0] is None else address
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


def test_documents_of_an_earlier_corpus_stay_and_come_first(tmp_path: Path) -> None:
    before = ("web", 0, [("cat", True), ("cat", True), ("dog", False)])
    own = ("books", 0, [("cat", True), ("dog", True), ("dog", True), ("emu", True)])
    found = find(tmp_path, [before, own], 2, earlier=frozenset({"web"}))
    twins = [("web", 0, 0), None, ("books", 0, 1), None]
    assert found == {("books", 0, row): twin for row, twin in enumerate(twins)}


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
        exact.check_balance([receipt(members=3)], [receipt(members=3, stay=2, removed=1)], [receipt(duplicates=0)])
