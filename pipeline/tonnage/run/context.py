"""What every stage of a run needs: where the run lies, its plan, the engine that does the work, the progress that
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tonnage.engines.progress import Progress
from tonnage.plan import Plan
from tonnage.store.receipts import Receipt


class Engine(Protocol):
    """What a run needs of an engine: results in the order of tasks, each announced once it is there."""

    def map(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        label: Callable[[Any], str],
        on_result: Callable[[int, Any], None] | None = None,
    ) -> list[Any]: ...


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
    if not tasks:
        return []
    context.progress.start(step, tasks=len(tasks))

    def advance(_: int, result: Any) -> None:
        receipt = result[0] if isinstance(result, tuple) else result
        counts = receipt.counts if isinstance(receipt, Receipt) else {}
        documents = counts.get("documents", 0)
        context.progress.advance(tasks=1, documents=documents if isinstance(documents, int) else 0)

    results = context.engine.map(function, tasks, label=lambda task: f"{step} {name(task)}", on_result=advance)
    context.progress.finish()
    return results
