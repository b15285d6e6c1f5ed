"""Tasks for tests of engines; module-level, so that workers can import them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from pathlib import Path

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


def long_work() -> None:
    def say(index: int, _: object) -> None:
        if index == 1:
            print("started", flush=True)

    with LocalEngine(2) as engine:
        engine.map(nap, range(1000), label=str, on_result=say)
