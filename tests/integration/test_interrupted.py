"""Runs that are killed, interrupted or robbed of files: the same command goes on and ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from support.small_run import content_hashes, done, recipe, set_times, stats, write_corpus, write_recipe

STOP_SECONDS = 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe())
    return tmp_path


def start(folder: Path) -> subprocess.Popen[str]:
    """`tonnage run` in a process group of its own."""
    command = [str(Path(sys.executable).with_name("tonnage")), "run", "recipe.yaml", "--workers", "2"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, start_new_session=True, **streams)


def wait_for_receipts(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while len(list((folder / "runs").rglob("receipts/**/*.json"))) < count:
        assert process.poll() is None and time.monotonic() < deadline, "the run ended before it could be disturbed"
        time.sleep(0.002)


@pytest.mark.parametrize("receipts", [1, 6, 16, 24])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(finished: Path, folder: Path, receipts: int) -> None:
    process = start(folder)
    wait_for_receipts(folder, receipts, process)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.communicate()
    done(folder, "run", "recipe.yaml")
    assert content_hashes(folder / "runs/small") == content_hashes(finished / "runs/small")
    done(folder, "verify", "runs/small")


def test_what_was_finished_before_a_kill_is_not_done_again(folder: Path) -> None:
    process = start(folder)
    wait_for_receipts(folder, 6, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("receipts/**/*.json")}
    done(folder, "run", "recipe.yaml")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_ctrl_c_ends_within_seconds_and_leaves_a_run_that_goes_on(finished: Path, folder: Path) -> None:
    process = start(folder)
    wait_for_receipts(folder, 3, process)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=STOP_SECONDS + 20)
    assert time.monotonic() - began < STOP_SECONDS
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "tonnage: stopped; give the same command again to go on"
    assert "Traceback" not in errors
    done(folder, "run", "recipe.yaml")
    assert content_hashes(folder / "runs/small") == content_hashes(finished / "runs/small")


def test_a_killed_worker_costs_one_more_try_and_no_byte(finished: Path, folder: Path) -> None:
    process = start(folder)
    wait_for_receipts(folder, 2, process)
    workers = [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]
    assert workers
    workers[0].kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert content_hashes(folder / "runs/small") == content_hashes(finished / "runs/small")


@pytest.mark.parametrize("pattern", ["documents/pages/*", "columns/quality-*/notes/*", "models/tokenizer-*/*.json"])
def test_a_file_that_is_gone_is_made_again_though_its_receipt_is_there(
    finished: Path, folder: Path, pattern: str
) -> None:
    done(folder, "run", "recipe.yaml")
    sorted((folder / "runs/small").glob(pattern))[0].unlink()
    done(folder, "run", "recipe.yaml")
    assert content_hashes(folder / "runs/small") == content_hashes(finished / "runs/small")


def test_a_source_that_shrinks_leaves_nothing_of_its_lost_files_behind(folder: Path) -> None:
    content = recipe(annotate=None, cells=["source"], mixture=None, tokenizer=None, export=None)
    content["sources"]["code"]["task_bytes"] = 3000
    write_recipe(folder, content)
    done(folder, "run", "recipe.yaml")
    assert stats(folder)["sources"]["code"]["read"] == 8
    for path in sorted((folder / "raw/code").iterdir())[2:]:
        path.unlink()
    set_times(folder / "raw")
    done(folder, "run", "recipe.yaml")
    assert stats(folder)["sources"]["code"]["read"] == 2
    done(folder, "verify", "runs/small")
    clean = folder / "clean"
    clean.mkdir()
    (folder / "raw").rename(clean / "raw")
    write_recipe(clean, content)
    done(clean, "run", "recipe.yaml")
    inner = "runs/small/documents/code"
    assert sorted(p.name for p in (folder / inner).iterdir()) == sorted(p.name for p in (clean / inner).iterdir())
