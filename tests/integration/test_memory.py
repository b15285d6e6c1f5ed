"""A worker's memory does not grow with its input: one packed file, which cannot be split, streams."""

from __future__ import annotations

import json
import re
from pathlib import Path

import zstandard
from support.small_run import done, paragraphs

LIMIT_GB = 2 * 1.073741824  # 2 GiB
MAY_DIFFER_GB = 0.15  # row groups of 32 MB of text, wherever in their making the larger file is measured


def peak_gb(folder: Path, megabytes: int) -> float:
    """Peak resident memory of the workers of a run over one file of so many MB of text, in GB."""
    folder.mkdir()
    lines = [json.dumps({"text": text}).encode() for text in paragraphs(1000)]
    size = 0
    with (folder / "pages.jsonl.zst").open("wb") as raw, zstandard.ZstdCompressor().stream_writer(raw) as out:
        while size < megabytes * 1_000_000:
            # A number in each line, so that no text is the same as another.
            size += out.write(b"".join(line[:-2] + f' {size}"}}\n'.encode() for line in lines))
    recipe = {"name": "large", "sources": {"web": {"kind": "jsonl", "path": "pages.jsonl.zst", "task_bytes": "8M"}}}
    (folder / "recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")
    outcome = done(folder, "run", "recipe.yaml", "--until", "documents")
    said = re.search(r"workers: at most ([0-9.]+) GB of memory each", outcome.stderr)
    assert said is not None, outcome.stderr
    return float(said.group(1))


def test_ten_times_the_input_takes_no_more_memory(tmp_path: Path) -> None:
    small, large = peak_gb(tmp_path / "small", 30), peak_gb(tmp_path / "large", 300)
    assert large - small < MAY_DIFFER_GB
    assert large < LIMIT_GB
