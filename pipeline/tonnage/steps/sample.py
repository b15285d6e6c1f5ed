"""Seeded samples of documents and the models trained on them.

A sample is taken by a hash of (seed, document id): it depends on the texts alone, not on rules, shards, workers or the
order of files, so a changed threshold never changes a model. Equal texts enter a sample once. How a model is trained
is quality's and tokenize's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from tonnage.errors import WorkFailed
from tonnage.plan import QUALITY_MODEL, TOKENIZER
from tonnage.quality.train import LabelledText, train_quality
from tonnage.recipe.schema import QualityTraining, TokenizerTraining
from tonnage.reuse import WHOLE_TASK
from tonnage.store.documents import read_row_groups
from tonnage.store.files import file_fact, join, write_bytes
from tonnage.store.layout import documents_path, model_path
from tonnage.store.receipts import Receipt, write_receipt
from tonnage.tokenize.train import train_bpe

QUALITY_FILE, QUALITY_CARD, TOKENIZER_FILE = "model.bin", "card.json", "tokenizer.json"


@dataclass(frozen=True)
class Place:
    """One documents shard."""

    source: str
    shard: int


@dataclass(frozen=True)
class RankTask:
    """Ask for the candidates of one shard: at most `max_bytes` of text or `max_documents`, whichever comes first."""

    root: str
    place: Place
    seed: int
    max_bytes: int
    max_documents: int


@dataclass(frozen=True)
class Candidates:
    """The lowest ranks of one shard, rising: arrays of one length."""

    place: Place
    rank: np.ndarray  # uint64
    row: np.ndarray  # int64
    bytes: np.ndarray  # int64


def rank_documents(task: RankTask) -> Candidates:
    """The candidates of one shard for a sample: whatever can be in the sample of all shards is among them."""
    ranks: list[np.ndarray] = []
    sizes: list[np.ndarray] = []
    url = join(task.root, documents_path(task.place.source, task.place.shard))
    for batch in read_row_groups(url, ["id", "text"]):
        ids = batch.column("id").to_pylist()
        ranks.append(np.fromiter((xxhash.xxh3_64_intdigest(i.encode(), task.seed) for i in ids), np.uint64, len(ids)))
        sizes.append(pc.binary_length(batch.column("text")).to_numpy(zero_copy_only=False).astype(np.int64))
    rank = np.concatenate(ranks) if ranks else np.zeros(0, np.uint64)
    size = np.concatenate(sizes) if sizes else np.zeros(0, np.int64)
    order = np.lexsort((np.arange(len(rank)), rank))
    order = order[size[order] > 0]
    first = np.ones(len(order), bool)
    first[1:] = rank[order][1:] != rank[order][:-1]
    order = order[first]
    order = order[: _fitting(size[order], task.max_bytes, task.max_documents)]
    return Candidates(task.place, rank[order], order, size[order])


def _fitting(sizes: np.ndarray, max_bytes: int, max_documents: int) -> int:
    """How many leading documents fit; always one when there is one, so that a sample is never empty by size."""
    fitting = int(np.searchsorted(np.cumsum(sizes), max_bytes, side="right"))
    return min(max(fitting, 1), max_documents, len(sizes))


@dataclass(frozen=True)
class Sample:
    """The chosen rows of one shard, rising."""

    place: Place
    rows: tuple[int, ...]


def choose(candidates: Sequence[Candidates], max_bytes: int, max_documents: int) -> tuple[Sample, ...]:
    """The sample over all shards; of equal texts the one at the first address. `candidates` in address order."""
    rank = np.concatenate([c.rank for c in candidates]) if candidates else np.zeros(0, np.uint64)
    size = np.concatenate([c.bytes for c in candidates]) if candidates else np.zeros(0, np.int64)
    row = np.concatenate([c.row for c in candidates]) if candidates else np.zeros(0, np.int64)
    owner = np.repeat(np.arange(len(candidates)), [len(c.rank) for c in candidates])
    order = np.lexsort((row, owner, rank))
    first = np.ones(len(order), bool)
    first[1:] = rank[order][1:] != rank[order][:-1]
    order = order[first]
    order = order[: _fitting(size[order], max_bytes, max_documents)] if len(order) else order
    return tuple(
        Sample(candidate.place, tuple(np.sort(row[order[owner[order] == index]]).tolist()))
        for index, candidate in enumerate(candidates)
        if np.any(owner[order] == index)
    )


def _texts(root: str, sample: Sample) -> tuple[list[str], list[str]]:
    """(ids, texts) of the chosen rows of one shard."""
    ids: list[str] = []
    texts: list[str] = []
    rows = np.array(sample.rows, np.int64)
    seen = 0
    for batch in read_row_groups(join(root, documents_path(sample.place.source, sample.place.shard)), ["id", "text"]):
        inside = rows[(rows >= seen) & (rows < seen + batch.num_rows)] - seen
        chosen = batch.take(pa.array(inside))
        ids.extend(chosen.column("id").to_pylist())
        texts.extend(chosen.column("text").to_pylist())
        seen += batch.num_rows
    return ids, texts


@dataclass(frozen=True)
class TrainQualityTask:
    root: str
    key: str
    positive: tuple[Sample, ...]
    negative: tuple[Sample, ...]
    settings: QualityTraining
    seed: int
    step: str = QUALITY_MODEL


@dataclass(frozen=True)
class TrainTokenizerTask:
    root: str
    key: str
    samples: tuple[Sample, ...]
    settings: TokenizerTraining
    special: tuple[str, ...]
    step: str = TOKENIZER


def train(task: TrainQualityTask | TrainTokenizerTask) -> Receipt:
    """Trains one model and writes it with its receipt."""
    return _train_quality(task) if isinstance(task, TrainQualityTask) else _train_tokenizer(task)


def _train_quality(task: TrainQualityTask) -> Receipt:
    start = time.perf_counter()
    trained = train_quality(
        _labelled(task.root, task.positive), _labelled(task.root, task.negative), task.settings, task.seed
    )
    paths = [model_path(QUALITY_MODEL, task.key, name) for name in (QUALITY_FILE, QUALITY_CARD)]
    write_bytes(join(task.root, paths[0]), trained.bin)
    write_bytes(join(task.root, paths[1]), orjson.dumps(trained.card, option=orjson.OPT_INDENT_2))
    counts = {"positive": _size(task.positive), "negative": _size(task.negative)}
    return _model_receipt(task.root, QUALITY_MODEL, task.key, paths, counts, start)


def _labelled(root: str, samples: Sequence[Sample]) -> list[LabelledText]:
    result: list[LabelledText] = []
    for sample in samples:
        ids, texts = _texts(root, sample)
        result.extend(LabelledText(source=sample.place.source, id=i, text=t) for i, t in zip(ids, texts, strict=True))
    return sorted(result, key=lambda labelled: labelled.id)


def _train_tokenizer(task: TrainTokenizerTask) -> Receipt:
    start = time.perf_counter()
    pairs = sorted(pair for sample in task.samples for pair in zip(*_texts(task.root, sample), strict=True))
    if not pairs:
        raise WorkFailed("tokenizer.train: no document holds any text to train on; check the sources")
    content = train_bpe([text for _, text in pairs], task.settings.vocab_size, task.special)
    path = model_path(TOKENIZER, task.key, TOKENIZER_FILE)
    write_bytes(join(task.root, path), content)
    counts = {"documents": len(pairs), "bytes": sum(len(text.encode()) for _, text in pairs)}
    return _model_receipt(task.root, TOKENIZER, task.key, [path], counts, start)


def _size(samples: Sequence[Sample]) -> int:
    return sum(len(sample.rows) for sample in samples)


def _model_receipt(
    root: str, step: str, key: str, paths: Sequence[str], counts: dict[str, int], start: float
) -> Receipt:
    facts = tuple(file_fact(root, path, 0) for path in paths)
    return write_receipt(root, Receipt(step, key, WHOLE_TASK, facts, counts, round(time.perf_counter() - start, 3), ""))
