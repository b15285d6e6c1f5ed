"""The Ray engine on two nodes: what the local engine promises, and nodes that are lost or share too little."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

import ray
from support import engine_tasks

from tonnage.engines import ray as ray_engine
from tonnage.engines import ray_cluster as joining
from tonnage.engines.ray import RayEngine
from tonnage.engines.site import Site, lacking
from tonnage.errors import UsageError, WorkFailed


@pytest.fixture
def at_cluster(ray_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("RAY_ADDRESS", ray_cluster.address)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # of nodes that a test adds
    yield ray_cluster
    assert not ray.is_initialized()


def label(task: object) -> str:
    return f"shard {task}"


def results(engine: RayEngine, function: Callable[[Any], Any], tasks: Any, **more: Any) -> list[Any]:
    found = dict(engine.each(function, tasks, label=label, **more))
    return [found[index] for index in range(len(tasks))]


class Counted(list[str]):
    """Tasks that count how many of them were taken."""

    taken = 0

    def __getitem__(self, index: Any) -> Any:
        self.taken += 1
        return super().__getitem__(index)


def test_workers_are_on_all_nodes_and_give_what_local_ones_give(at_cluster: Any) -> None:
    with RayEngine() as engine:
        assert len(set(results(engine, engine_tasks.node_of, range(4)))) == 2
        arrived = [index for index, _ in engine.each(engine_tasks.slow_first, range(6), label=label)]
        assert results(engine, engine_tasks.slow_first, range(6)) == [0, 10, 20, 30, 40, 50]
        assert sorted(arrived) == list(range(6)) and arrived[0] != 0
        assert results(engine, engine_tasks.environment, ["POLARS_MAX_THREADS"]) == ["1"]
        results(engine, engine_tasks.writable_array, [100_000])[0][0] = 1
        assert results(engine, engine_tasks.slow_first, []) == []
        tasks = Counted(["HOME"] * 50)
        for done, _ in enumerate(engine.each(engine_tasks.environment, tasks, label=label)):
            assert tasks.taken <= done + 1 + 2  # one under way a worker
        assert engine.peak_worker_bytes > 0 and engine.died == 0


def test_a_killed_worker_is_replaced_and_its_parts_begin_again(at_cluster: Any, tmp_path: Path) -> None:
    heard: list[tuple[int, object]] = []
    with RayEngine(2) as engine:
        tasks = [str(tmp_path / name) for name in "ab"]
        parts = engine.each(engine_tasks.in_parts, tasks, label=label, on_part=lambda *part: heard.append(part))
        heard.extend(parts)
        assert engine.died == 2
    for index in (0, 1):
        # What the killed worker said last may be lost with it.
        assert [what for of, what in heard if of == index] in ([1, 1, 2, "done"], [1, 2, "done"])


def test_a_task_that_kills_its_worker_twice_fails_the_run_by_name(at_cluster: Any) -> None:
    with pytest.raises(WorkFailed, match=r"a worker died twice at shard 7 \(at last on node "), RayEngine(2) as engine:
        results(engine, engine_tasks.die_always, [7])


def test_our_errors_come_through_as_they_are_and_others_name_the_task(at_cluster: Any) -> None:
    with RayEngine(2) as engine:
        with pytest.raises(UsageError, match=r"^found 3$"):
            results(engine, engine_tasks.refuse, [3])
        for function in (engine_tasks.divide, engine_tasks.unpicklable):
            with pytest.raises(WorkFailed, match=r"^shard 0 failed \("):
                results(engine, function, [0])
        assert results(engine, engine_tasks.slow_first, [1]) == [10]


def test_the_first_fault_ends_the_work_on_all_others(at_cluster: Any) -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), RayEngine(2) as engine:
        for _ in engine.each(engine_tasks.nap, range(4), label=label):
            time.sleep(0.5)
            raise ZeroDivisionError
    assert time.monotonic() - began < 30


def test_a_node_that_is_lost_costs_one_more_try(at_cluster: Any, tmp_path: Path) -> None:
    third = at_cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    nodes: dict[int, list[str]] = {}

    def lose_the_third(index: int, node: str) -> None:
        nodes.setdefault(index, []).append(node)
        if len(nodes) == 3 and third in at_cluster.worker_nodes:
            at_cluster.remove_node(third, allow_graceful=False)
            threading.Thread(target=go_on_when_missed, daemon=True).start()

    def go_on_when_missed() -> None:
        while engine.died == 0:
            time.sleep(0.05)
        (tmp_path / "go").touch()

    with RayEngine(3) as engine:
        ends = results(engine, engine_tasks.wait_for, [str(tmp_path / "go")] * 3, on_part=lose_the_third)
        assert engine.died == 1
    assert third.unique_id not in ends and sorted(len(of) for of in nodes.values()) == [1, 1, 2]


def test_every_node_is_prepared_and_must_see_the_folder_of_the_run(at_cluster: Any, tmp_path: Path) -> None:
    with RayEngine(2, Site(str(tmp_path), {__file__: os.path.getsize(__file__)})) as engine:
        (tmp_path / "left").mkdir()
        engine.on_each_node(engine_tasks.Leave(str(tmp_path / "left")))
        assert len(list((tmp_path / "left").iterdir())) == 3  # here, and on two nodes
    assert [path.name for path in tmp_path.iterdir()] == ["left"]  # and no probe
    # A folder that only this process has, as one on the disk of one machine.
    mine = os.open(tmp_path, os.O_RDONLY)
    site = Site(f"/proc/self/fd/{os.dup2(mine, 250)}")
    try:
        says = r"^node .+ does not see the folder of the run, .+s3://$"
        with pytest.raises(UsageError, match=says), RayEngine(2, site) as engine:
            results(engine, engine_tasks.slow_first, [1])
    finally:
        os.close(250)
        os.close(mine)


def test_what_a_node_may_lack(tmp_path: Path) -> None:
    with Site(str(tmp_path)).probed() as site:
        assert lacking(site) is None
        assert "has tonnage" in str(lacking(replace(site, version="0.0")))
        assert "runs Python" in str(lacking(replace(site, python="3.9")))
        assert "does not see the input file" in str(lacking(replace(site, inputs={__file__: 1})))
        assert "has no folder" in str(lacking(replace(site, root="run", folder="/no/such/folder")))
    assert "does not see the folder of the run" in str(lacking(site))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:9", "no Ray cluster answers at 127.0.0.1:9"),
        ("somewhere", "is no HOST:PORT"),
        ("ray://127.0.0.1:10001", "a run is no client from outside"),
    ],
)
def test_an_address_without_a_cluster_is_refused(monkeypatch: pytest.MonkeyPatch, address: str, says: str) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UsageError, match=says), RayEngine(2) as engine:
        results(engine, engine_tasks.slow_first, [1])


def test_a_cluster_that_starts_no_worker_is_no_hang(at_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "START_SECONDS", 1.0)
    monkeypatch.setattr(ray_engine.RayEngine, "_start", starts_nowhere)
    with pytest.raises(WorkFailed, match=r"started no worker in 1 s, 2 of its 2 CPUs are free"), RayEngine(1) as engine:
        results(engine, engine_tasks.slow_first, [1])


def starts_nowhere(engine: RayEngine) -> None:
    remote: Any = ray.remote(ray_engine._Served)
    actor = remote.options(num_cpus=64).remote()
    engine._workers.append(ray_engine._Worker(actor, actor.greet.remote("/")))


def test_without_an_address_ray_is_started_here_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    with RayEngine(2) as engine:
        assert results(engine, engine_tasks.slow_first, range(3)) == [0, 10, 20]
        assert joining.cpus() == 2
    assert not ray.is_initialized()
