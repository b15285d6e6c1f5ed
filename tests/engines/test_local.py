"""The local engine: results in order, faults named, killed workers noticed, no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tonnage.engines.local import LocalEngine
from tonnage.errors import UsageError, WorkFailed

SUPPORT = Path(__file__).parents[1]


def label(task: object) -> str:
    return f"shard {task}"


def test_results_come_in_the_order_of_tasks_whatever_the_order_of_their_ends() -> None:
    from support.engine_tasks import slow_first

    seen: list[int] = []
    with LocalEngine(3) as engine:
        results = engine.map(slow_first, range(6), label=label, on_result=lambda index, _: seen.append(index))
    assert results == [0, 10, 20, 30, 40, 50]
    assert sorted(seen) == list(range(6))
    assert engine.peak_worker_bytes > 0


def test_one_and_several_workers_give_the_same() -> None:
    from support.engine_tasks import slow_first

    outcomes = []
    for workers in (1, 4):
        with LocalEngine(workers) as engine:
            outcomes.append(engine.map(slow_first, range(5), label=label))
    assert outcomes[0] == outcomes[1]


def test_a_killed_worker_is_replaced_and_its_task_done(tmp_path: Path) -> None:
    from support.engine_tasks import die_once

    with LocalEngine(2) as engine:
        assert engine.map(die_once, [str(tmp_path / name) for name in "ab"], label=label) == ["done", "done"]


def test_a_task_that_kills_its_worker_twice_fails_the_run_by_name() -> None:
    from support.engine_tasks import die_always

    with pytest.raises(WorkFailed, match=r"shard 7 \(killed by signal SIGKILL\)"), LocalEngine(2) as engine:
        engine.map(die_always, [7], label=label)


def test_parts_arrive_before_their_result_and_begin_again_with_a_new_worker(tmp_path: Path) -> None:
    from support.engine_tasks import in_parts

    with LocalEngine(2) as engine:
        heard: list[tuple[int, object]] = []
        tasks = [str(tmp_path / name) for name in "ab"]
        for index, result in engine.each(
            in_parts, tasks, label=label, on_part=lambda index, part: heard.append((index, part))
        ):
            heard.append((index, result))
    for index in (0, 1):
        assert [what for of, what in heard if of == index] == [1, 1, 2, "done"]


def test_our_errors_come_through_as_they_are() -> None:
    from support.engine_tasks import refuse

    with pytest.raises(UsageError, match="found 3"), LocalEngine(2) as engine:
        engine.map(refuse, [3], label=label)


@pytest.mark.parametrize("name", ["divide", "unpicklable"])
def test_other_errors_name_the_task(name: str) -> None:
    from support import engine_tasks

    with pytest.raises(WorkFailed, match="shard 0 failed"), LocalEngine(1) as engine:
        engine.map(getattr(engine_tasks, name), [0], label=label)


def start_long_work() -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    script = "from support.engine_tasks import long_work\nif __name__ == '__main__':\n    long_work()\n"
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    parent = subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"started\n"
    return parent, psutil.Process(parent.pid).children(recursive=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(number: signal.Signals) -> None:
    parent, workers = start_long_work()
    assert workers
    os.kill(parent.pid, number)
    assert parent.wait(10) != 0
    deadline = time.monotonic() + 10
    while any(worker.is_running() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers)
