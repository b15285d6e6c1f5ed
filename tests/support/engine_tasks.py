"""Tasks for tests of engines; module-level, so that workers can import them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage.engines.local import LocalEngine
from tonnage.errors import UsageError


def slow_first(task: int) -> int:
    time.sleep(0.2 if task == 0 else 0)
    return 10 * task


def die_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def in_parts(mark: str) -> Generator[int, None, str]:
    yield 1
    yield from [2] if die_once(mark) else []
    return "done"


def die_always(task: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(task: int) -> None:
    raise UsageError(f"found {task}")


def divide(task: int) -> float:
    return 1 / task


def unpicklable(task: int) -> object:
    return lambda: task


def nap(task: int) -> None:
    time.sleep(0.2 if task < 2 else 600)


def node_of(task: int) -> str:
    """The node that it ran on, once there was time for the others to have a task too."""
    import ray

    time.sleep(0.3)
    return str(ray.get_runtime_context().get_node_id())


def wait_for(signal_file: str) -> Generator[str, None, str]:
    """Says its node, then waits until the file is there, for a minute at most."""
    yield node_of(0)
    deadline = time.monotonic() + 60
    while not Path(signal_file).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return node_of(0)


@dataclass(frozen=True)
class Leave:
    """Leaves a file of its own in the folder whenever it is called."""

    folder: str

    def __call__(self) -> None:
        (Path(self.folder) / f"{os.getpid()}").touch()


def environment(name: str) -> str | None:
    return os.environ.get(name)


def writable_array(size: int) -> Any:
    import numpy as np

    return np.zeros(size)


def long_work() -> None:
    def say(index: int, _: object) -> None:
        if index == 1:
            print("started", flush=True)

    with LocalEngine(2) as engine:
        engine.map(nap, range(1000), label=str, on_result=say)
