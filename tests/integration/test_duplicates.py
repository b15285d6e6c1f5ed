"""Fuzzy duplicates by command: the same survivors for any number of workers and hash seed, explained and verified."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from support.small_run import content_hashes, done, paragraphs, stats, write_recipe

GROUPS, VARIANTS, SINGLES = 60, 5, 100


def write_variants(folder: Path) -> None:
    """60 groups of 5 variants, each with one of its words changed, and 100 singles, in 8 files."""
    chance = random.Random(4)
    texts = []
    for text in paragraphs(GROUPS, seed=5):
        for variant in range(VARIANTS):
            parts = text.split()
            parts[chance.randrange(20, len(parts) - 20)] = f"variant{variant}"
            texts.append(" ".join(parts))
    texts += paragraphs(SINGLES, seed=6)
    chance.shuffle(texts)
    for number in range(8):
        lines = [json.dumps({"id": f"d{number}.{row}", "text": text}) for row, text in enumerate(texts[number::8])]
        (folder / f"part{number}.jsonl").write_text("\n".join(lines), encoding="utf-8")


def recipe(**fuzzy: Any) -> dict[str, Any]:
    return {
        "name": "near",
        "sources": {"pages": {"kind": "jsonl", "path": "part*.jsonl", "task_bytes": 20_000}},
        "dedup": {"exact": {}, "fuzzy": fuzzy},
        "acknowledge": ["fuzzy-duplicate:pages", "fuzzy-group:pages"],
    }


def test_workers_and_hash_seeds_change_nothing(tmp_path: Path) -> None:
    write_variants(tmp_path)
    write_recipe(tmp_path, recipe())
    found = []
    for workers, seed in (("1", "0"), ("4", "1"), ("16", "2")):
        out = f"runs/{workers}"
        done(tmp_path, "run", "recipe.yaml", "--out", out, "--workers", workers, PYTHONHASHSEED=seed)
        found.append(content_hashes(tmp_path / out))
        total = stats(tmp_path, out)["total"]
        assert (total["kept"], total["dropped"]) == (160, {"fuzzy-duplicate": 240})
    assert found[0] == found[1] == found[2]
