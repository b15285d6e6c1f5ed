"""Seeded samples of documents and the models trained on them.

A sample is taken by a hash of (seed, document id): it depends on the texts alone, not on rules, shards, workers or the
order of files, so a changed threshold never changes a model. Equal texts enter a sample once. How a model is trained
is quality's and tokenize's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """The lowest ranks of some shards, rising, each text once: arrays of one length.

    `shard` counts shards in the order of addresses.
    """

    rank: np.ndarray  # uint64
    shard: np.ndarray  # int32
    row: np.ndarray  # int64
    bytes: np.ndarray  # int64


NO_CANDIDATES = Candidates(*(np.zeros(0, kind) for kind in (np.uint64, np.int32, np.int64, np.int64)))


def rank_documents(task: RankTask) -> Candidates:
    """The candidates of one shard, as shard 0: whatever can be in the sample of all shards is among them."""
    candidates = NO_CANDIDATES
    rows = 0
    url = join(task.root, documents_path(task.place.source, task.place.shard))
    for batch in read_row_groups(url, ["id", "text"]):
        ids = batch.column("id").to_pylist()
        rank = np.fromiter((xxhash.xxh3_64_intdigest(i.encode(), task.seed) for i in ids), np.uint64, len(ids))
        size = pc.binary_length(batch.column("text")).to_numpy(zero_copy_only=False).astype(np.int64)
        row = np.arange(rows, rows + len(ids))
        rows += len(ids)
        found = Candidates(rank, np.zeros(len(ids), np.int32), row, size)
        candidates = merge(candidates, found, task.max_bytes, task.max_documents)
    return candidates


def of_shard(candidates: Candidates, shard: int) -> Candidates:
    return replace(candidates, shard=np.full(len(candidates.rank), shard, np.int32))


def merge(one: Candidates, other: Candidates, max_bytes: int, max_documents: int) -> Candidates:
    """What can decide the sample of both: of equal texts the one at the first address, none without text.

    Leading ranks up to the first that goes beyond `max_bytes` of text or makes `max_documents`. That one ends the
    sample, so it stays; what comes behind it could only be pushed further back by more candidates and is left out.
    The order of merges does not matter.
    """
    rank, shard, row, size = (
        np.concatenate((getattr(one, name), getattr(other, name))) for name in ("rank", "shard", "row", "bytes")
    )
    order = np.lexsort((row, shard, rank))
    order = order[size[order] > 0]
    first = np.ones(len(order), bool)
    first[1:] = rank[order][1:] != rank[order][:-1]
    order = order[first]
    order = order[: min(_fitting(size[order], max_bytes) + 1, max_documents)]
    return Candidates(rank[order], shard[order], row[order], size[order])


def _fitting(sizes: np.ndarray, max_bytes: int) -> int:
    """How many leading documents fit in `max_bytes`."""
    return int(np.searchsorted(np.cumsum(sizes), max_bytes, side="right"))


@dataclass(frozen=True)
class Sample:
    """The chosen rows of one shard, rising."""

    place: Place
    rows: tuple[int, ...]


def chosen(candidates: Candidates, places: Sequence[Place], max_bytes: int) -> tuple[Sample, ...]:
    """The sample shard by shard, out of merged candidates.

    At most `max_bytes` of text, but one document always. `places` are in the order of addresses; shards without a
    chosen document are left out.
    """
    size = max(_fitting(candidates.bytes, max_bytes), 1)
    shards, rows = candidates.shard[:size], candidates.row[:size]
    return tuple(
        Sample(places[shard], tuple(np.sort(rows[shards == shard]).tolist())) for shard in np.unique(shards).tolist()
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
    counts = {"sampled": len(pairs), "bytes": sum(len(text.encode()) for _, text in pairs)}
    return _model_receipt(task.root, TOKENIZER, task.key, [path], counts, start)


def _size(samples: Sequence[Sample]) -> int:
    return sum(len(sample.rows) for sample in samples)


def _model_receipt(
    root: str, step: str, key: str, paths: Sequence[str], counts: dict[str, int], start: float
) -> Receipt:
    facts = tuple(file_fact(root, path, 0) for path in paths)
    return write_receipt(root, Receipt(step, key, WHOLE_TASK, facts, counts, round(time.perf_counter() - start, 3), ""))
