"""A Megatron export opened with megatron-core itself; `make trainers` installs it and runs this."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.small_run import done

HERE = Path(__file__).parent
PYTHON = HERE.parent.parent / ".venv-trainers/bin/python"


@pytest.fixture(scope="module")
def mixture(finished: Path) -> list[dict]:
    return sorted(
        json.loads((finished / "runs/small/mixture.json").read_text(encoding="utf-8"))["phases"],
        key=lambda phase: phase["name"],
    )


@pytest.fixture(scope="module")
def read(finished: Path, mixture: list[dict], tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What megatron-core reads of the small run's export."""
    assert PYTHON.exists(), "the trainers' environment is missing; run `make trainers`"
    folder = tmp_path_factory.mktemp("megatron")
    done(finished, "export", "runs/small", "--to", "megatron", "--out", str(folder / "export"))
    counts = [str(phase["sequences"]) for phase in mixture]
    script = [str(PYTHON), str(HERE / "megatron_reads.py"), str(folder / "export"), str(folder / "read.npz"), "64"]
    outcome = subprocess.run([*script, *counts], capture_output=True, text=True, timeout=240, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return dict(np.load(folder / "read.npz"))


def test_indexed_dataset_reads_the_very_ids_of_the_token_shards(finished: Path, read: dict[str, np.ndarray]) -> None:
    shards = sorted((finished / "runs/small").glob("tokens-*/*/*.tokens"))
    assert len(shards) >= 3
    for path in shards:
        prefix = f"{path.parent.name}/{path.stem}"
        assert read[f"{prefix}|ids"].tolist() == np.fromfile(path, "<u2").tolist()
        lengths = read[f"{prefix}|lengths"]
        assert read[f"{prefix}|documents"].tolist() == list(range(len(lengths) + 1))
        ends = np.cumsum(lengths) - 1
        assert (read[f"{prefix}|ids"][ends] == 0).all()


def test_blended_dataset_draws_the_sequences_that_the_mixture_plans(
    mixture: list[dict], read: dict[str, np.ndarray]
) -> None:
    for phase in mixture:
        name = f"blend-{phase['name']}.json"
        drawn: Counter[str] = Counter()
        for prefix, count in zip(read[f"{name}|prefixes"], read[f"{name}|drawn"], strict=True):
            drawn[str(prefix).split("/")[0]] += int(count)
        planned = {cell: entry["sequences"] for cell, entry in phase["cells"].items() if entry["sequences"]}
        assert set(drawn) == set(planned)
        # Megatron rounds each prefix's share up on its own, which can add one sample a prefix.
        assert all(0 <= drawn[cell] - planned[cell] <= 1 for cell in planned)
