"""What a worker does with one task and what it says of it, the same on every engine.

Parts of a generator, then its result or its fault; the sentences of a fault; how many attempts a task has. How workers
are started, reached and missed is each engine's own.
"""

from __future__ import annotations

import pickle
import resource
import traceback
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from tonnage.errors import TonnageError, WorkFailed

ATTEMPTS = 2  # a task whose worker was killed is tried once more
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}  # a worker's environment, set before it imports anything


@dataclass(frozen=True)
class Part:
    """What a task says of itself while it works."""

    value: Any


@dataclass(frozen=True)
class Fault:
    """What a task raised, as a worker sends it: the error itself when it is one of ours."""

    error: TonnageError | None
    summary: str
    trace: str

    def as_exception(self, label: str) -> TonnageError:
        if self.error is not None:
            return self.error
        failed = WorkFailed(f"{label} failed ({self.summary}); run with --debug for where, and please report it")
        failed.add_note(self.trace)
        return failed


def outcomes(function: Callable[[Any], Any], task: Any) -> Iterator[Any]:
    """The parts of a generator, then the result or the fault."""
    try:
        result = function(task)
        if isinstance(result, Generator):
            result = yield from _parts(result)
        pickle.dumps(result)
    except TonnageError as fault:
        result = Fault(fault, str(fault), traceback.format_exc())
    except Exception as fault:
        result = Fault(None, f"{type(fault).__name__}: {fault}", traceback.format_exc())
    yield result


def _parts(work: Generator[Any, None, Any]) -> Generator[Any, None, Any]:
    while True:
        try:
            part = next(work)
        except StopIteration as end:
            return end.value
        yield Part(part)


def peak_bytes() -> int:
    """The largest resident memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def died_twice(label: str, how: str) -> WorkFailed:
    """The fault of a task that no worker survives."""
    return WorkFailed(
        f"a worker died twice at {label} ({how}); if memory ran out, use fewer workers or smaller task_bytes, then "
        f"give the same command again"
    )
