"""A run on this machine: worker processes, progress on stderr, kernels compiled once before they start."""

from __future__ import annotations

import sys
import threading

from tonnage.engines.local import LocalEngine
from tonnage.engines.progress import Progress, progress_on
from tonnage.plan import EXPORT, Plan
from tonnage.run import Context, execute
from tonnage.run.record import Record
from tonnage.run.warm_up import warm_up
from tonnage.store.files import remove_partials

LOADING = 2.0  # seconds that loading kernels from the cache never takes


def run_locally(plan: Plan, root: str, workers: int, until: str = EXPORT) -> Record:
    """Executes `plan` in `root` with `workers` processes and returns its record."""
    with progress_on(sys.stderr) as progress, LocalEngine(workers) as engine:
        record = execute(Context(root, plan, engine, progress, lambda: _compile(progress)), until)
        if engine.died:
            remove_partials(root)
        if engine.peak_worker_bytes:
            progress.say(f"workers: at most {engine.peak_worker_bytes / 1e9:,.2f} GB of memory each")
        return record


def _compile(progress: Progress) -> None:
    """Kernels are compiled here, so that workers find them in the cache and none compiles what another does."""
    line = "kernels: compiling, once for this installation (about half a minute)"
    announcement = threading.Timer(LOADING, progress.say, [line])
    announcement.daemon = True
    announcement.start()
    try:
        warm_up()
    finally:
        announcement.cancel()
