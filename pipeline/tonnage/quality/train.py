"""Training the quality classifier: fastText on folded text, one thread, with a held-out part that it never sees.

The same texts, settings and seed give the same bytes of model. Which documents are positive and negative is the
recipe's to say and steps/sample's to draw.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import fasttext
import numpy as np
import pyarrow as pa
import xxhash

from tonnage.errors import WorkFailed
from tonnage.kernels.words import fold_text
from tonnage.quality.model import NEGATIVE_LABEL, POSITIVE_LABEL, load_model
from tonnage.quality.score import probabilities
from tonnage.recipe.schema import QualityTraining
from tonnage.store.arrow_text import buffers

MIN_DOCUMENTS = 4  # a class: some to learn from and some to hold out
RELIABILITY_BINS = 10


@dataclass(frozen=True)
class LabelledText:
    """One training document; its class is the list that it stands in."""

    source: str
    id: str
    text: str


@dataclass(frozen=True)
class TrainedModel:
    """`bin` is the fastText model file, `card` what is known of it, as JSON values."""

    bin: bytes
    card: dict[str, Any]


@dataclass(frozen=True)
class _Line:
    source: str
    line: bytes
    positive: bool


def train_quality(
    positive: Sequence[LabelledText], negative: Sequence[LabelledText], settings: QualityTraining, seed: int
) -> TrainedModel:
    """The classifier of `positive` against `negative`, and its card: sizes, held-out ROC-AUC, reliability, spread.

    A text in both classes is left out of both. Raises WorkFailed naming the class when one has too little to learn
    from, and when fastText itself fails.
    """
    both = {text.id for text in positive} & {text.id for text in negative}
    classes = {
        "positive": _folded(positive, both, positive=True),
        "negative": _folded(negative, both, positive=False),
    }
    learned: list[tuple[int, _Line]] = []
    held_out: list[_Line] = []
    for name, lines in classes.items():
        if len(lines) < MIN_DOCUMENTS:
            raise WorkFailed(
                f"annotate.quality.train: the {name} class has {len(lines)} usable documents (empty texts and "
                f"{len(both)} found in both classes left out), at least {MIN_DOCUMENTS} are needed; add sources"
            )
        ranked = sorted((xxhash.xxh3_64_intdigest(line.line, seed), line) for line in _distinct(lines))
        if len(ranked) < 2:
            raise WorkFailed(
                f"annotate.quality.train: all {len(lines)} documents of the {name} class are the same once folded; "
                f"give it other sources"
            )
        cut = min(max(1, round(settings.holdout * len(ranked))), len(ranked) - 1)
        held_out += [line for _, line in ranked[:cut]]
        learned += ranked[cut:]
    # Both classes in one order that no list decides, so that no class is learned last.
    content = _fasttext([line for _, line in sorted(learned, key=lambda entry: entry[0])], settings, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bin")
        with open(path, "wb") as stream:
            stream.write(content)
        scores = _scores(path, [line.line for line in held_out])
    card = {
        "documents": {name: len(lines) for name, lines in classes.items()},
        "in_both_classes": len(both),
        "learned_from": len(learned),
        "held_out": _measured(held_out, scores),
    }
    return TrainedModel(content, card)


def _folded(texts: Sequence[LabelledText], left_out: set[str], *, positive: bool) -> list[_Line]:
    chosen = [text for text in texts if text.id not in left_out]
    if not chosen:
        return []
    data, offsets = fold_text(*buffers(pa.array([text.text for text in chosen], pa.large_string())))
    content = data.tobytes()
    lines = (content[start:end] for start, end in itertools.pairwise(offsets))
    return [_Line(text.source, line, positive) for text, line in zip(chosen, lines, strict=True) if line]


def _distinct(lines: Iterable[_Line]) -> list[_Line]:
    """One of each folded text, so that no held-out text is one that was learned from."""
    return list({line.line: line for line in lines}.values())


def _fasttext(lines: Sequence[_Line], settings: QualityTraining, seed: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        lines_path, model_path = os.path.join(folder, "lines.txt"), os.path.join(folder, "model.bin")
        with open(lines_path, "wb") as stream:
            for line in lines:
                label = POSITIVE_LABEL if line.positive else NEGATIVE_LABEL
                stream.write(label.encode() + b" " + line.line + b"\n")
        try:
            model = fasttext.train_supervised(
                lines_path,
                dim=settings.dim,
                wordNgrams=settings.word_ngrams,
                epoch=settings.epochs,
                lr=settings.learning_rate,
                bucket=settings.bucket,
                minCount=settings.min_count,
                minn=0,
                maxn=0,
                loss="softmax",
                thread=1,
                seed=seed & 0x7FFFFFFF,
                verbose=0,
            )
        except (RuntimeError, ValueError) as fault:
            raise WorkFailed(
                f"annotate.quality.train: fastText gave up on {len(lines):,} documents ({fault}); lower min_count or "
                f"learning_rate, or give more text"
            ) from fault
        if not model.get_words():
            raise WorkFailed(
                f"annotate.quality.train: no word stands {settings.min_count:,} times in the {len(lines):,} documents; "
                f"lower min_count"
            )
        model.save_model(model_path)
        with open(model_path, "rb") as stream:
            return stream.read()


def _scores(path: str, lines: Sequence[bytes]) -> np.ndarray:
    offsets = np.cumsum([0, *(len(line) for line in lines)]).astype(np.int64)
    return probabilities(load_model(path), np.frombuffer(b"".join(lines), np.uint8), offsets)


def _measured(lines: Sequence[_Line], scores: np.ndarray) -> dict[str, Any]:
    """What the model is worth on documents that it has not seen."""
    from sklearn.metrics import roc_auc_score  # here, for it takes as long to import as all of Tonnage

    truth = np.array([line.positive for line in lines])
    bins = np.minimum((scores * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    sources = Counter(line.source for line in lines)
    owner = np.array([line.source for line in lines])
    return {
        "documents": {"positive": int(truth.sum()), "negative": int((~truth).sum())},
        "roc_auc": round(float(roc_auc_score(truth, scores)), 6),
        "reliability": [
            {
                "from": index / RELIABILITY_BINS,
                "documents": int((bins == index).sum()),
                "mean_score": round(float(scores[bins == index].mean()), 6),
                "positive_share": round(float(truth[bins == index].mean()), 6),
            }
            for index in range(RELIABILITY_BINS)
            if (bins == index).any()
        ],
        "scores_by_source": {
            source: {
                "documents": sources[source],
                **{
                    f"p{share}": round(float(np.percentile(scores[owner == source], share)), 6)
                    for share in (10, 50, 90)
                },
            }
            for source in sorted(sources)
        },
    }
