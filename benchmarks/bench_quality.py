"""Quality scores against fastText's own predict: the same model, the same lines, in one run.

The model tells reference text from source code, trained here in one pass with bigrams. Both sides take turns round by
round on one thread each, medians are reported, and the scores of both must agree. What to print and which documents to
take is for the main program.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import pyarrow as pa

from tonnage.quality.model import load_model
from tonnage.quality.score import RAW, score

ROUNDS = 5
TOLERANCE = 1e-4
LABEL = "__label__prose"
# dimensions, n-gram buckets, target: fastText's defaults first, then the size that recipes train by default
MODELS = ((100, 2_000_000, 8.0), (16, 200_000, None))


def run(prose: Sequence[str], code: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of what, ours_mb_s, theirs_mb_s, ratio and target; MB are 10^6 bytes of UTF-8.

    Raises ValueError when a score differs from fastText's by more than TOLERANCE.
    """
    lines = [" ".join(text.split()) for text in [*prose, *code]]
    labels = [LABEL] * len(prose) + ["__label__code"] * len(code)
    with tempfile.TemporaryDirectory() as folder:
        training = Path(folder) / "lines.txt"
        training.write_text("".join(f"{label} {line}\n" for label, line in zip(labels, lines, strict=True)), "utf-8")
        return [_row(training, lines, *settings) for settings in MODELS]


def _row(training: Path, lines: list[str], dim: int, bucket: int, target: float | None) -> dict[str, Any]:
    settings = {"dim": dim, "bucket": bucket, "wordNgrams": 2, "epoch": 1, "minCount": 1, "thread": 1, "verbose": 0}
    theirs = fasttext.train_supervised(str(training), **settings)
    path = training.with_name("model.bin")
    theirs.save_model(str(path))
    ours = load_model(str(path), LABEL)
    text = pa.array(lines, pa.large_string())
    _check(score(ours, text, normalise=RAW), theirs, lines)
    ours_seconds, theirs_seconds = [], []
    for _ in range(ROUNDS):
        ours_seconds.append(_seconds(lambda: score(ours, text, normalise=RAW)))
        theirs_seconds.append(_seconds(lambda: theirs.predict(lines, k=2)))
    megabytes = sum(len(line.encode()) for line in lines) / 1e6
    mine, other = statistics.median(ours_seconds), statistics.median(theirs_seconds)
    return {
        "what": f"quality scores / fastText predict, {dim} dimensions, {bucket:,} buckets",
        "ours_mb_s": megabytes / mine,
        "theirs_mb_s": megabytes / other,
        "ratio": other / mine,
        "target": target,
    }


def _check(scores: np.ndarray, model: Any, lines: list[str]) -> None:
    labels, probabilities = model.predict(lines, k=2)
    reference = [
        dict(zip(names, values, strict=True))[LABEL] for names, values in zip(labels, probabilities, strict=True)
    ]
    worst = float(np.abs(scores - np.array(reference)).max())
    if worst > TOLERANCE:
        raise ValueError(f"scores differ from fastText's by {worst:g}, more than {TOLERANCE:g}")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
