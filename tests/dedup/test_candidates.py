"""Candidate groups: whatever hangs together by shared bands, for any number of partitions and order of tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonnage.dedup import candidates
from tonnage.exchange import gather_partition, write_partitions
from tonnage.kernels.forest import components
from tonnage.store.layout import exchange_path

KEY = "0" * 16
SHARDS = 3


def groups_of(
    root: Path, records: list[tuple[int, int]], partitions: int, most_shingles: int = 1 << 30, reverse: bool = False
) -> tuple[dict[int, int], dict[int, int], int]:
    """({node: group}, {node: parts}, star rounds) from (band, node) records; every document has 10 shingles."""

    def path(name: str, number: int) -> str:
        return f"{root}/{exchange_path(candidates.STEP, KEY, name, number)}"

    def each(function, reads: str, inputs: int, **more: int):
        numbers = range(partitions)
        return [
            function(candidates.PartitionTask(str(root), KEY, number, partitions, reads, inputs, **more))
            for number in (reversed(numbers) if reverse else numbers)
        ]

    bands, nodes = (np.array(column, np.int64) for column in zip(*records, strict=True)) if records else ([], [])
    table = pa.table([np.array(bands, np.uint64), nodes, np.full(len(nodes), 10)], schema=candidates.BANDS)
    write_partitions(path(candidates.MAP, 0), table, np.array(bands, np.int64) % partitions, partitions)
    each(candidates.match, candidates.MAP, 1)
    reads, before = candidates.MATCH, None
    for turn in range(candidates.MOST_ROUNDS):
        stars = each(candidates.large_star, reads, partitions, turn=turn)
        now = [sum(receipt.counts[name] for receipt in stars) for name in ("edges", "digest")]
        if now == before or not now[0]:
            break
        before = now
        each(candidates.small_star, candidates.name_of_round(candidates.LARGE_STAR, turn), partitions, turn=turn)
        reads = candidates.name_of_round(candidates.SMALL_STAR, turn)
    else:
        raise AssertionError("star rounds did not settle")
    receipts = each(candidates.group, reads, partitions, most_shingles=most_shingles, shards=SHARDS)
    found: dict[int, int] = {}
    parts: dict[int, int] = {}
    for shard in range(SHARDS):
        paths = [path(candidates.GROUPS, number) for number in range(partitions)]
        members = gather_partition(paths, shard, SHARDS).to_pylist()
        assert all(member["node"] >> 32 == shard for member in members)
        assert not {member["node"] for member in members} & set(found)
        found |= {member["node"]: member["group"] for member in members}
        parts |= {member["node"]: member["parts"] for member in members}
    assert sum(receipt.counts["members"] for receipt in receipts) == len(found)
    assert sum(receipt.counts["shingles"] for receipt in receipts) == 10 * len(found)
    assert sum(receipt.counts["groups"] for receipt in receipts) == len(set(found.values()))
    return found, parts, turn


def expected(records: list[tuple[int, int]]) -> dict[int, int]:
    heads: dict[int, int] = {}
    edges = [(node, heads.setdefault(band, node)) for band, node in records]
    real = [edge for edge in edges if edge[0] != edge[1]]
    if not real:
        return {}
    nodes, roots = components(*(np.array(side) for side in zip(*real, strict=True)))
    return dict(zip(nodes.tolist(), roots.tolist(), strict=True))


NODES = st.tuples(st.integers(0, SHARDS - 1), st.integers(0, 6)).map(lambda place: (place[0] << 32) | place[1])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 12), NODES), max_size=25), st.integers(1, 4), st.booleans())
def test_groups_are_the_connected_components(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[int, int]], partitions: int, reverse: bool
) -> None:
    found, _, _ = groups_of(tmp_path_factory.mktemp("groups"), records, partitions, reverse=reverse)
    assert found == expected(records)


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_a_chain_of_fifty_documents_is_one_group(tmp_path: Path, partitions: int) -> None:
    chance = np.random.default_rng(2)
    names = chance.permutation(50).tolist()
    records = [(band, name) for band in range(49) for name in (names[band], names[band + 1])]
    found, _, rounds = groups_of(tmp_path, records, partitions)
    assert found == dict.fromkeys(range(50), 0)
    assert rounds < 12


def test_a_group_too_large_for_memory_is_cut_into_parts(tmp_path: Path) -> None:
    records = [(1, node) for node in range(10)] + [(2, 20), (2, 21)]
    _, parts, _ = groups_of(tmp_path, records, 2, most_shingles=40)
    assert {parts[node] for node in range(10)} == {3}
    assert parts[20] == parts[21] == 1
