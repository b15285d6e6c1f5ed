"""What every stage of a run needs: where the run lies, its plan, the engine that does the work, the progress that
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from tonnage.engines.progress import Progress
from tonnage.plan import Plan
from tonnage.store.receipts import Receipt


class Engine(Protocol):
    """What a run needs of an engine: (place in `tasks`, result) as they arrive; parts of a result while it is made."""

    def each(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        label: Callable[[Any], str],
        on_part: Callable[[int, Any], None] | None = None,
    ) -> Iterator[tuple[int, Any]]: ...


class RunEngine(Engine, AbstractContextManager["RunEngine"], Protocol):
    """An engine as it is held for a whole run: what it prepares on each node, and what it says of its workers."""

    peak_worker_bytes: int
    died: int

    def on_each_node(self, function: Callable[[], None]) -> None: ...


@dataclass(frozen=True)
class Context:
    """What every step needs."""

    root: str
    plan: Plan
    engine: Engine
    progress: Progress
    prepare: Callable[[], None] = lambda: None  # called once before documents are scanned

    def key(self, step: str) -> str:
        return self.plan.steps[step].key

    def has(self, step: str) -> bool:
        return step in self.plan.steps


def run_tasks(
    context: Context,
    step: str,
    function: Callable[[Any], Any],
    tasks: Sequence[Any],
    name: Callable[[Any], str],
) -> list[Any]:
    """The results of `function` over `tasks` in their order, with progress; nothing is said when there is no task."""
    results = dict(each_task(context, step, function, tasks, name))
    return [results[index] for index in range(len(tasks))]


def each_task(
    context: Context,
    step: str,
    function: Callable[[Any], Any],
    tasks: Sequence[Any],
    name: Callable[[Any], str],
) -> Iterator[tuple[int, Any]]:
    """As run_tasks, (place in `tasks`, result) as they arrive: for results that are too large to keep them all."""
    if not tasks:
        return
    context.progress.start(step, tasks=len(tasks))
    for index, result in context.engine.each(function, tasks, label=lambda task: f"{step} {name(task)}"):
        documents = result.counts.get("documents", 0) if isinstance(result, Receipt) else 0
        context.progress.advance(tasks=1, documents=documents if isinstance(documents, int) else 0)
        yield index, result
    context.progress.finish()
