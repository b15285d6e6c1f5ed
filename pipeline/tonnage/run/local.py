"""A run on this machine: worker processes, progress on stderr, kernels compiled once before they start."""

from __future__ import annotations

import sys

from tonnage.engines.local import LocalEngine
from tonnage.engines.progress import progress_on
from tonnage.plan import EXPORT, Plan
from tonnage.run import Context, execute
from tonnage.run.record import Record

COMPILED_AFTER = 3.0  # seconds; a warm cache loads faster, so slower means that kernels were compiled


def run_locally(plan: Plan, root: str, workers: int, until: str = EXPORT) -> Record:
    """Executes `plan` in `root` with `workers` processes and returns its record."""
    with progress_on(sys.stderr) as progress, LocalEngine(workers) as engine:
        return execute(Context(root, plan, engine, progress), until)
