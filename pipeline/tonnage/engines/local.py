"""A pool of worker processes on this machine that notices within seconds when one of them dies.

Each worker has a pipe of its own; the parent waits for pipes and for the end of processes at the same time. A task
whose worker is killed is given once to a fresh worker, then the run fails naming it. Workers ignore Ctrl-C and end when
their parent does. What a worker makes of one task is in outcomes.py; what a task does is the caller's.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

from tonnage.engines.outcomes import ATTEMPTS, ONE_THREAD, Fault, Part, died_twice, outcomes, peak_bytes

STOP_SECONDS = 5.0


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    task: int | None = None


class LocalEngine:
    """`workers` processes, started when first needed and kept for all maps; use as a context manager.

    `peak_worker_bytes` is the largest resident memory that any worker has reported, `died` the number of workers that
    ended while they had a task.
    """

    def __init__(self, workers: int) -> None:
        self._size = workers
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self.peak_worker_bytes = 0
        self.died = 0

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(gently=kind is None)

    def on_each_node(self, function: Callable[[], None]) -> None:
        """Calls `function` on every machine that works: this one."""
        function()

    def map(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        label: Callable[[Any], str],
        on_result: Callable[[int, Any], None] | None = None,
    ) -> list[Any]:
        """The results of `function` over `tasks`, in the order of `tasks`; `on_result` is called as they arrive.

        Raises what `each` raises.
        """
        results: dict[int, Any] = {}
        for index, result in self.each(function, tasks, label=label):
            results[index] = result
            if on_result is not None:
                on_result(index, result)
        return [results[index] for index in range(len(tasks))]

    def each(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        label: Callable[[Any], str],
        on_part: Callable[[int, Any], None] | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """(place in `tasks`, result) as they arrive; none is kept.

        A function may be a generator: what it yields goes to `on_part` while it works, what it returns is the result.
        A task that is tried again begins its parts again.

        Raises the TonnageError that a task raised, and WorkFailed for any other fault of a task or for a worker that
        was killed twice over the same task. The first fault ends the work on all others.
        """
        done = 0
        attempts = [0] * len(tasks)
        waiting = list(range(len(tasks) - 1, -1, -1))
        try:
            while done < len(tasks):
                self._hand_out(function, tasks, waiting, attempts)
                for worker in self._ready():
                    message = self._received(worker, tasks, waiting, attempts, label)
                    if message is None:
                        continue
                    index, outcome = message
                    if not isinstance(outcome, Part):
                        done += 1
                        yield index, outcome
                    elif on_part is not None:
                        on_part(index, outcome.value)
        except BaseException:
            self._stop(gently=False)
            raise

    def _hand_out(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], waiting: list[int], attempts: list[int]
    ) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        while waiting and (idle or len(self._workers) < self._size):
            worker = idle.pop() if idle else self._start()
            index = waiting.pop()
            attempts[index] += 1
            worker.task = index
            # A worker that is gone is seen by the next wait, and its task given to another.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                worker.pipe.send((index, function, tasks[index]))

    def _ready(self) -> list[_Worker]:
        by_handle: dict[Any, _Worker] = {}
        for worker in self._workers:
            by_handle[worker.pipe] = worker
            by_handle[worker.process.sentinel] = worker
        found = wait(list(by_handle))
        return list({id(by_handle[handle]): by_handle[handle] for handle in found}.values())

    def _received(
        self,
        worker: _Worker,
        tasks: Sequence[Any],
        waiting: list[int],
        attempts: list[int],
        label: Callable[[Any], str],
    ) -> tuple[int, Any] | None:
        """(task, result or part) from a worker that has something to say; None when it is gone."""
        try:
            message = worker.pipe.recv() if worker.pipe.poll() else None
        except (EOFError, OSError):
            message = None
        if message is None:
            self._bury(worker, tasks, waiting, attempts, label)
            return None
        index, peak, outcome = message
        self.peak_worker_bytes = max(self.peak_worker_bytes, peak)
        if isinstance(outcome, Fault):
            raise outcome.as_exception(label(tasks[index]))
        if not isinstance(outcome, Part):
            worker.task = None
        return index, outcome

    def _bury(
        self,
        worker: _Worker,
        tasks: Sequence[Any],
        waiting: list[int],
        attempts: list[int],
        label: Callable[[Any], str],
    ) -> None:
        worker.process.join(STOP_SECONDS)
        self._workers.remove(worker)
        worker.pipe.close()
        index = worker.task
        if index is None:
            return
        self.died += 1
        if attempts[index] >= ATTEMPTS:
            raise died_twice(label(tasks[index]), _ending(worker.process.exitcode))
        waiting.append(index)

    def _start(self) -> _Worker:
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        try:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
            process.start()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _stop(self, *, gently: bool) -> None:
        for worker in self._workers:
            if not gently:
                worker.process.terminate()
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join(STOP_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by signal {signal.Signals(-code).name}"
    return f"exit code {code}"


def _serve(pipe: Connection, parent: int) -> None:
    """A worker's life: one task after another until the parent closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import pyarrow

    pyarrow.set_cpu_count(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            index, function, task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            for outcome in outcomes(function, task):
                pipe.send((index, peak_bytes(), outcome))
        except (BrokenPipeError, ConnectionResetError):
            return


def _end_with(parent: int) -> None:
    """Ends this process, whatever it is at, once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
