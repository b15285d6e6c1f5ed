"""A run on the engine that the user names: progress on stderr, kernels compiled before workers start.

What an engine does is in engines/; what a run does on it is in the package's `execute`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from tonnage.engines.local import LocalEngine
from tonnage.engines.progress import Progress, progress_on
from tonnage.engines.site import Site
from tonnage.errors import UsageError
from tonnage.plan import EXPORT, Plan
from tonnage.run import execute
from tonnage.run.context import Context, RunEngine
from tonnage.run.record import Record
from tonnage.run.warm_up import warm_up
from tonnage.store.files import remove_partials

LOCAL, RAY = "local", "ray"
RAY_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else Ray announces a change of its own
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # else Ray reports lost workers on stdout, beside what the run says of them
}  # read by Ray when it is imported


@dataclass(frozen=True)
class _Choice:
    """`loading` are seconds that loading kernels from the cache never takes."""

    make: Callable[[Plan, str, int | None], RunEngine]
    loading: float


def run_on_engine(plan: Plan, root: str, name: str = LOCAL, workers: int | None = None, until: str = EXPORT) -> Record:
    """Executes `plan` in `root` on the engine `name` with `workers` and returns its record.

    Raises UsageError when there is no such engine or it is not installed, and what `execute` raises.
    """
    if name not in ENGINES:
        raise UsageError(f"--engine {name} is no engine; engines are {', '.join(ENGINES)}")
    choice = ENGINES[name]
    with progress_on(sys.stderr) as progress, choice.make(plan, root, workers) as engine:
        context = Context(root, plan, engine, progress, lambda: _compile(progress, engine, choice.loading))
        record = execute(context, until)
        if engine.died:
            remove_partials(root)
        if engine.peak_worker_bytes:
            progress.say(f"workers: at most {engine.peak_worker_bytes / 1e9:,.2f} GB of memory each")
        return record


def _compile(progress: Progress, engine: RunEngine, loading: float) -> None:
    """Kernels are compiled once a node, so that workers find them in the cache and none compiles what another does."""
    line = "kernels: compiling, once for this installation (about half a minute)"
    announcement = threading.Timer(loading, progress.say, [line])
    announcement.daemon = True
    announcement.start()
    try:
        engine.on_each_node(warm_up)
    finally:
        announcement.cancel()


def _local(plan: Plan, root: str, workers: int | None) -> RunEngine:
    return LocalEngine(workers or os.cpu_count() or 1)


def _ray(plan: Plan, root: str, workers: int | None) -> RunEngine:
    for name, value in RAY_QUIET.items():
        os.environ.setdefault(name, value)
    try:
        from tonnage.engines.ray import RayEngine
    except ImportError as fault:
        raise UsageError(f'--engine ray needs Ray ({fault}); pip install "tonnage[ray]" on every node') from fault
    first = [source.listing.files[0] for source in plan.sources]
    return RayEngine(workers, Site(root, {file.path: file.bytes for file in first}))


ENGINES = {LOCAL: _Choice(_local, loading=2.0), RAY: _Choice(_ray, loading=15.0)}
