"""A small corpus and its recipe, for tests that drive the command line."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import yaml

REPEATED = "the same line again and again\n" * 40


def paragraphs(count: int, seed: int = 1) -> list[str]:
    """`count` distinct English-like texts of 80 to 160 words."""
    chance = random.Random(seed)
    words = [word for word in " ".join(topics[name] for name in sorted(topics)).split() if word.isalpha()][:4000]
    return [
        " ".join(["the", "use", "of", "and", "that", *chance.choices(words, k=chance.randint(75, 155))]) + "."
        for _ in range(count)
    ]


def write_corpus(folder: Path, documents: int = 60) -> None:
    """Three sources: pages (two files, one gzip), notes with duplicates of pages, and a folder of code."""
    raw = folder / "raw"
    (raw / "code").mkdir(parents=True)
    pages = [f"{text}\n\nPage {index}." for index, text in enumerate(paragraphs(documents))]
    pages[3] = REPEATED
    pages[5] = "too short"
    half = len(pages) // 2
    lines = [
        json.dumps({"id": f"p{index}", "text": text, "url": f"https://example.org/{index}"})
        for index, text in enumerate(pages)
    ]
    (raw / "a.jsonl").write_text("\n".join(lines[:half]) + "\n", encoding="utf-8")
    (raw / "b.jsonl.gz").write_bytes(gzip.compress(("\n".join(lines[half:]) + "\n").encode(), mtime=0))
    notes = [*(f"Note {index}. {text}" for index, text in enumerate(paragraphs(documents, seed=2))), *pages[10:14]]
    (raw / "notes.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in notes), encoding="utf-8")
    for index in range(8):
        lines = [f"def function_{index}_{line}(value):\n    return value + {line}\n" for line in range(30)]
        (raw / "code" / f"module{index}.py").write_text("\n".join(lines), encoding="utf-8")
    set_times(raw)


def set_times(folder: Path) -> None:
    """One time of change for all files: a copy elsewhere is then the same input."""
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def recipe(**changes: Any) -> dict[str, Any]:
    """The recipe of `write_corpus`, with top-level keys replaced; None takes one out."""
    content: dict[str, Any] = {
        "name": "small",
        "sources": {
            "pages": {"kind": "jsonl", "path": ["raw/a.jsonl", "raw/b.jsonl.gz"], "language": "en"},
            "notes": {"kind": "jsonl", "path": "raw/notes.jsonl", "text": "body", "language": "en"},
            "code": {"kind": "code", "path": "raw/code", "license": "MIT"},
        },
        "annotate": {
            "quality": {
                "train": {"positive": ["pages"], "negative": ["notes"], "bucket": 1000, "min_count": 1},
                "buckets": 2,
            }
        },
        "dedup": {"exact": {}},
        "select": [{"use": "gopher-quality"}, {"use": "gopher-repetition"}, {"use": "code"}],
        "tokenizer": {"train": {"vocab_size": 400}},
        "cells": ["kind", "quality"],
        "mixture": {
            "budget": "40K",
            "sequence_length": 64,
            "phases": {
                "pretraining": {"share": 0.8, "weights": {"strategy": "proportional"}},
                "midtraining": {"share": 0.2, "weights": {"prose-q1": 0.75, "prose-q0": 0.25}},
            },
        },
        "export": [{"format": "megatron"}, {"format": "parquet"}],
    }
    content.update(changes)
    return {key: value for key, value in content.items() if value is not None}


def write_recipe(folder: Path, content: dict[str, Any], name: str = "recipe.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def tonnage(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in `folder`, as a user calls it."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("tonnage")), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
        check=False,
    )


def done(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As `tonnage`, and it must succeed."""
    outcome = tonnage(folder, *arguments, **environment)
    assert outcome.returncode == 0, outcome.stderr
    return outcome


def refused(folder: Path, *arguments: str, code: int = 2) -> str:
    """As `tonnage`, and it must end with `code` and one sentence on stderr, which is returned."""
    outcome = tonnage(folder, *arguments)
    assert outcome.returncode == code, (outcome.returncode, outcome.stderr)
    lines = [line for line in outcome.stderr.splitlines() if line.startswith("tonnage: ")]
    assert len(lines) == 1 and "Traceback" not in outcome.stderr, outcome.stderr
    return lines[0]


def stats(folder: Path, run: str = "runs/small") -> dict[str, Any]:
    return dict(json.loads(done(folder, "stats", run, "--json").stdout))


def content_hashes(run: Path) -> dict[str, str]:
    """Hash of every file of data in a run: all but receipts, manifests and run.json, which hold times."""
    found = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.is_file() and name.split("/")[0] not in ("receipts", "manifests", "run.json", "logs"):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
