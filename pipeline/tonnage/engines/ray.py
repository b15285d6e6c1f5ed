"""Workers on a Ray cluster: one actor a worker, kept for all maps, with one task at a time.

It is written on Ray's own actors and streaming generators. An executor that submits whole jobs and looks for markers of
finished ones learns of a killed worker late or never; here the stream of a task ends in an error as soon as Ray misses
the worker or its node, so the task is given once to another worker, and then the run fails naming it. At most one task
a worker is under way, whatever their number.

What a worker makes of one task is in outcomes.py, what nodes must share in site.py, the cluster in ray_cluster.py.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from tonnage.engines.outcomes import ATTEMPTS, ONE_THREAD, Fault, Part, died_twice, outcomes, peak_bytes
from tonnage.engines.ray_cluster import Node, ask_nodes, cpus, joined, working_nodes
from tonnage.engines.site import Site, enter, lacking
from tonnage.errors import UsageError, WorkFailed

START_SECONDS = 300.0  # how long a run waits for its first worker: a cluster may have to grow, or be busy
FAILED_STARTS = 3  # workers in a row, beyond one for each wanted, that may end before they begin


@dataclass
class _Worker:
    actor: Any
    says: Any  # where its next message comes from: its greeting, then the stream of its task
    node: Node | None = None  # None until it has greeted
    task: int | None = None


@dataclass(frozen=True)
class _Work:
    """One call of `each`: `waiting` are places in `tasks` still to be given out, the next one last."""

    function: Callable[[Any], Any]
    tasks: Sequence[Any]
    label: Callable[[Any], str]
    waiting: list[int]
    attempts: list[int]

    def name(self, index: int) -> str:
        return self.label(self.tasks[index])


class RayEngine:
    """`workers` actors, as many as the cluster has CPUs if not given; use as a context manager.

    The cluster is joined, and every node checked against `site`, when there is work to do. `peak_worker_bytes` is the
    largest resident memory that any worker has reported, `died` the number of workers that ended while they had a task.
    """

    def __init__(self, workers: int | None = None, site: Site | None = None) -> None:
        self._size = workers or 0
        self._site = site
        self._joined = False
        self._stack = contextlib.ExitStack()
        self._workers: list[_Worker] = []
        self._visited: set[str] = set()
        self._errands: list[Callable[[], None]] = []
        self._failed_starts = 0
        self.peak_worker_bytes = 0
        self.died = 0

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._joined = False
        self._stack.close()

    def on_each_node(self, function: Callable[[], None]) -> None:
        """Calls `function` here, so that nodes sharing this disk find what it leaves, then once on every node.

        Nodes that join later call it before their first task.
        """
        self._join()
        function()
        self._errands.append(function)
        self._send_out(function, list(working_nodes().values()))

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
        A task that is tried again begins its parts again; the last part of a killed worker may be lost with it.

        Raises the TonnageError that a task raised, WorkFailed for any other fault of a task, for a worker or node that
        was lost twice over the same task and for a cluster that starts none, and UsageError for a node that does not
        share the run's folder. The first fault ends the work on all others.
        """
        done = 0
        work = _Work(function, tasks, label, list(range(len(tasks) - 1, -1, -1)), [0] * len(tasks))
        try:
            while done < len(tasks):
                self._join()
                self._hand_out(work)
                for worker in self._ready():
                    outcome = self._received(worker, work)
                    if outcome is None:
                        continue
                    index, value = outcome
                    if not isinstance(value, Part):
                        done += 1
                        yield index, value
                    elif on_part is not None:
                        on_part(index, value.value)
        except BaseException:
            self._stop()
            raise

    def _join(self) -> None:
        if self._joined:
            return
        self._stack.enter_context(joined(self._size or None))
        self._joined = True
        self._size = self._size or max(cpus(), 1)
        if self._site is not None:
            self._site = self._stack.enter_context(self._site.probed())
        self._visit(list(working_nodes().values()))

    def _visit(self, nodes: Sequence[Node]) -> None:
        """Checks nodes that have not had a task yet, and sends them on every errand so far."""
        nodes = [node for node in nodes if node.id not in self._visited]
        self._visited.update(node.id for node in nodes)
        if self._site is not None:
            for node, lack in _asked(nodes, lacking, self._site):
                if isinstance(lack, Fault):
                    raise lack.as_exception(f"the check of node {node.name}")
                if lack is not None:
                    raise UsageError(f"node {node.name} {lack}")
        for function in self._errands:
            self._send_out(function, nodes)

    def _send_out(self, function: Callable[[], None], nodes: Sequence[Node]) -> None:
        for node, outcome in _asked(nodes, _call, function):
            if isinstance(outcome, Fault):
                raise outcome.as_exception(f"preparing node {node.name}")

    def _hand_out(self, work: _Work) -> None:
        idle = [worker for worker in self._workers if worker.node is not None and worker.task is None]
        while work.waiting and idle:
            worker, index = idle.pop(), work.waiting.pop()
            work.attempts[index] += 1
            worker.task = index
            worker.says = worker.actor.work.remote(pickle.dumps((work.function, work.tasks[index])))
        starting = sum(worker.node is None for worker in self._workers)
        for _ in range(min(self._size - len(self._workers), len(work.waiting) - starting)):
            self._start()

    def _start(self) -> None:
        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        remote: Any = ray.remote(_Served)
        actor = remote.options(**options, runtime_env={"env_vars": ONE_THREAD}).remote()
        folder = os.getcwd() if self._site is None else self._site.folder
        self._workers.append(_Worker(actor, actor.greet.remote(folder)))

    def _ready(self) -> list[_Worker]:
        by_source = {worker.says: worker for worker in self._workers if worker.node is None or worker.task is not None}
        begun = any(worker.node is not None for worker in self._workers)
        ready, _ = ray.wait(list(by_source), num_returns=1, timeout=None if begun else START_SECONDS)
        if not ready:
            free = int(ray.available_resources().get("CPU", 0))
            raise WorkFailed(
                f"the cluster has started no worker in {START_SECONDS:.0f} s, {free} of its {cpus()} CPUs are free; "
                f"free one or add a node, then give the same command again"
            )
        # All that are ready, so that the first in the list does not keep others waiting.
        ready, _ = ray.wait(list(by_source), num_returns=len(by_source), timeout=0)
        return [by_source[source] for source in ready]

    def _received(self, worker: _Worker, work: _Work) -> tuple[int, Any] | None:
        """(task, result or part) from a worker that has something to say; None when it has greeted or is gone."""
        try:
            message = ray.get(worker.says if worker.node is None else next(worker.says))
        except RayTaskError as fault:
            where = "a worker's start" if worker.task is None else work.name(worker.task)
            reason = str(fault).strip().rpartition("\n")[2]
            raise Fault(None, reason, str(fault)).as_exception(where) from None
        except (RayError, StopIteration) as fault:
            self._bury(worker, work, fault)
            return None
        if worker.task is None:
            self._greeted(worker, message)
            return None
        index = worker.task
        peak, outcome = pickle.loads(message)
        self.peak_worker_bytes = max(self.peak_worker_bytes, peak)
        if isinstance(outcome, Fault):
            raise outcome.as_exception(work.name(index))
        if not isinstance(outcome, Part):
            worker.task = None
        return index, outcome

    def _greeted(self, worker: _Worker, node_id: str) -> None:
        self._failed_starts = 0
        node = working_nodes().get(node_id, Node(node_id, node_id))
        self._visit([node])
        worker.node = node

    def _bury(self, worker: _Worker, work: _Work, fault: Exception) -> None:
        self._workers.remove(worker)
        _kill(worker.actor)  # Ray may only have lost sight of it
        if worker.node is None or worker.task is None:
            self._failed_starts += 1
            if self._failed_starts >= self._size + FAILED_STARTS:
                reason = str(fault).strip().rpartition("\n")[2]
                failed = WorkFailed(f"workers end before they begin ({reason}); look at the logs of the cluster")
                raise _with_note(failed, fault)
            return
        self.died += 1
        if work.attempts[worker.task] >= ATTEMPTS:
            raise _with_note(died_twice(work.name(worker.task), f"at last on node {worker.node.name}"), fault)
        work.waiting.append(worker.task)

    def _stop(self) -> None:
        for worker in self._workers:
            _kill(worker.actor)
        self._workers.clear()


class _Served:
    """A worker's side."""

    def greet(self, folder: str) -> str:
        """Makes this process ready for work and says which node it is on."""
        import pyarrow

        pyarrow.set_cpu_count(1)
        enter(folder)
        return str(ray.get_runtime_context().get_node_id())

    # Pickled here, since arrays that Ray itself brings over cannot be written to.
    @ray.method(num_returns="streaming")
    def work(self, packed: bytes) -> Iterator[bytes]:
        """(peak memory, part or result or fault) of one task."""
        function, task = pickle.loads(packed)
        for outcome in outcomes(function, task):
            yield pickle.dumps((peak_bytes(), outcome))


def _asked(nodes: Sequence[Node], function: Callable[[Any], Any], argument: Any) -> Iterator[tuple[Node, Any]]:
    for node, answer in ask_nodes(nodes, _answer, pickle.dumps((function, argument)), ONE_THREAD):
        yield node, pickle.loads(answer)


def _answer(packed: bytes) -> bytes:
    function, argument = pickle.loads(packed)
    return pickle.dumps(next(outcomes(function, argument)))


def _call(function: Callable[[], None]) -> None:
    function()


def _kill(actor: Any) -> None:
    with contextlib.suppress(Exception):  # it is gone, or the cluster is
        ray.kill(actor)


def _with_note(failed: WorkFailed, fault: Exception) -> WorkFailed:
    failed.add_note(str(fault))
    return failed
