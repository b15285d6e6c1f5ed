"""`tonnage run --engine ray` on a cluster of two nodes: the bytes of a local run, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.small_run import content_hashes, done, recipe, refused, tonnage, write_corpus, write_recipe

pytest.importorskip("ray")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe())
    return tmp_path


def test_a_run_on_two_nodes_has_the_bytes_of_a_local_one(finished: Path, folder: Path, ray_cluster: Any) -> None:
    outcome = done(folder, "run", "recipe.yaml", "--engine", "ray", RAY_ADDRESS=ray_cluster.address)
    assert content_hashes(folder / "runs/small") == content_hashes(finished / "runs/small")
    progress = [line.partition(":")[0] for line in outcome.stderr.splitlines()]
    assert "workers" in progress and outcome.stdout.startswith("From raw rows")
    assert "ray" not in outcome.stderr.lower() and "warning" not in outcome.stderr.lower(), outcome.stderr
    # Nothing is due, so no cluster is needed.
    assert done(folder, "run", "recipe.yaml", "--engine", "ray", RAY_ADDRESS="127.0.0.1:9").stderr == ""


def test_ctrl_c_ends_within_seconds_and_leaves_a_run_that_goes_on(
    finished: Path, folder: Path, ray_cluster: Any
) -> None:
    command = [str(Path(sys.executable).with_name("tonnage")), "run", "recipe.yaml", "--engine", "ray"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "RAY_ADDRESS": ray_cluster.address},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while len(list((folder / "runs").rglob("receipts/**/*.json"))) < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert errors.splitlines()[-1] == "tonnage: stopped; give the same command again to go on"
    done(folder, "run", "recipe.yaml")
    assert content_hashes(folder / "runs/small") == content_hashes(finished / "runs/small")


def test_an_engine_or_cluster_that_is_not_there_is_refused(folder: Path) -> None:
    says = refused(folder, "run", "recipe.yaml", "--engine", "slurm")
    assert says == "tonnage: --engine slurm is no engine; engines are local, ray"
    outcome = tonnage(folder, "run", "recipe.yaml", "--engine", "ray", RAY_ADDRESS="127.0.0.1:9")
    assert outcome.returncode == 2 and "no Ray cluster answers at 127.0.0.1:9" in outcome.stderr


def test_without_ray_installed_the_mend_is_said(folder: Path) -> None:
    (folder / "hidden").mkdir()
    (folder / "hidden/ray.py").write_text("raise ModuleNotFoundError('No module named ray', name='ray')\n")
    outcome = tonnage(folder, "run", "recipe.yaml", "--engine", "ray", PYTHONPATH=str(folder / "hidden"))
    assert outcome.returncode == 2 and 'pip install "tonnage[ray]"' in outcome.stderr
