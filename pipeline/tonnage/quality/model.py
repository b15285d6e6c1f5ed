"""A fastText .bin as a collapsed linear model of one label: read, checked, projected on the output layer once.

Layout and arithmetic follow facebookresearch/fastText 0.9.2 (src/fasttext.cc loadModel, src/dictionary.cc load,
src/densematrix.cc load, src/loss.cc). Softmax and hierarchical softmax are supported, with word n-grams and subwords;
quantized models and the independent sigmoids of ova and ns are refused. The look-ups are kernels/linear's.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from tonnage.errors import UsageError
from tonnage.kernels.linear import LinearTable, build_table
from tonnage.store.files import open_input

MAGIC, VERSION = 793712314, 12
SUPERVISED = 3
HIERARCHICAL, SOFTMAX = 1, 3
LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
PREFIX = "__label__"
POSITIVE_LABEL, NEGATIVE_LABEL = f"{PREFIX}positive", f"{PREFIX}negative"
CHUNK_BYTES = 64 << 20  # of the input matrix, projected at once


@dataclass(frozen=True)
class LinearModel:
    """The probability of one label: `kind` is 'difference' (two labels, one column), 'softmax' (column `label` of all)
    or 'path' (inner nodes of a Huffman tree; `signs` +1 where the label lies to the right).
    """

    table: LinearTable
    kind: str
    label: int
    signs: np.ndarray  # float64[c], of a path


@dataclass(frozen=True)
class Header:
    """What stands before the matrices. `label_counts` are in the order of labels, most frequent first."""

    dim: int
    word_ngrams: int
    loss: int
    bucket: int
    min_chars: int
    max_chars: int
    words: tuple[bytes, ...]
    is_label: np.ndarray  # bool[words]
    label_counts: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(
            word.decode("utf-8", "replace") for word, label in zip(self.words, self.is_label, strict=True) if label
        )


@functools.lru_cache(maxsize=1)
def load_model(url: str, label: str | None = None) -> LinearModel:
    """The collapsed model of the .bin at `url` for `label` (with or without its prefix; the trained positive if None).

    Kept for the next call with the same arguments: every shard of a run is scored with the same model.
    Raises UsageError for anything that is no supported model, or a label that it does not have.
    """
    with open_input(url) as stream:
        header = read_header(stream, url)
        wanted = label_index(header, label, url)
        rows, start = _matrix_size(stream, url, header, len(header.words) - len(header.labels) + header.bucket)
        stream.seek(start + 4 * rows * header.dim)
        output = _read_output(stream, url, header)
        projection, kind, signs = _projection(header, output, wanted)
        stream.seek(start)
        projected = _project(stream, url, rows, header.dim, projection)
    if not np.isfinite(projected).all():
        raise UsageError(f"the quality model {url} holds numbers that are not finite; train it again")
    return LinearModel(_table(header, projected, url), kind, wanted, signs)


def check_model(url: str, label: str | None) -> None:
    """Raises UsageError unless the .bin at `url` is one that `load_model` takes; reads no matrix."""
    with open_input(url) as stream:
        header = read_header(stream, url)
        label_index(header, label, url)
        _matrix_size(stream, url, header, len(header.words) - len(header.labels) + header.bucket)


def read_header(stream: BinaryIO, url: str) -> Header:
    """Settings and dictionary; leaves the stream before the input matrix. Raises UsageError."""
    magic, version = _numbers(stream, "ii", url)
    if magic != MAGIC:
        raise UsageError(f"{url} is no fastText model (it does not begin with its signature); give a .bin file")
    if version != VERSION:
        raise UsageError(f"{url} is a fastText model of version {version}, only {VERSION} is read; save it anew")
    dim, _, _, _, _, word_ngrams, loss, kind, bucket, min_chars, max_chars, _, _ = _numbers(stream, "12id", url)
    if kind != SUPERVISED:
        raise UsageError(f"{url} holds word vectors, not a classifier; give a model trained with `supervised`")
    if loss not in (HIERARCHICAL, SOFTMAX):
        raise UsageError(
            f"{url} was trained with loss {LOSSES.get(loss, loss)}, whose labels have independent probabilities; "
            f"train it with softmax or hs"
        )
    size, _, _, _, pruned = _numbers(stream, "iiiqq", url)
    words: list[bytes] = []
    is_label = np.zeros(max(size, 0), bool)
    counts: list[int] = []
    read = _Words(stream, url)
    for index in range(size):
        word, count, label = read.entry()
        words.append(word)
        is_label[index] = label
        if label:
            counts.append(count)
    read.give_back()
    if pruned > 0:
        raise UsageError(f"{url} was pruned while it was quantized; give the .bin it was made from")
    if len(counts) < 2:
        raise UsageError(f"{url} has {len(counts)} label(s); a score needs two or more")
    return Header(dim, word_ngrams, loss, bucket, min_chars, max_chars, tuple(words), is_label, tuple(counts))


def label_index(header: Header, label: str | None, url: str) -> int:
    """The index of `label` among the labels. Raises UsageError naming those that there are."""
    labels = header.labels
    asked = POSITIVE_LABEL if label is None else label
    for name in (asked, f"{PREFIX}{asked}"):
        if name in labels:
            return labels.index(name)
    listed = ", ".join(name.removeprefix(PREFIX) for name in labels[:20]) + (" ..." if len(labels) > 20 else "")
    found = "annotate.quality.label is not given" if label is None else f"annotate.quality.label is {label}"
    raise UsageError(f"{found}, and the model {url} has the labels {listed}; name one of these")


class _Words:
    """The dictionary's entries, read in blocks: a zero-terminated word, its count (int64), its type (int8)."""

    def __init__(self, stream: BinaryIO, url: str) -> None:
        self._stream, self._url = stream, url
        self._block, self._place = b"", 0

    def entry(self) -> tuple[bytes, int, bool]:
        while (end := self._block.find(b"\0", self._place)) < 0 or len(self._block) < end + 10:
            more = self._stream.read(1 << 20)
            if not more:
                raise _cut(self._url)
            self._block, self._place = self._block[self._place :] + more, 0
        word = self._block[self._place : end]
        count, kind = struct.unpack_from("<qb", self._block, end + 1)
        self._place = end + 10
        return word, count, kind == 1

    def give_back(self) -> None:
        """Puts the stream behind the last entry."""
        self._stream.seek(self._place - len(self._block), 1)


def _cut(url: str) -> UsageError:
    return UsageError(f"{url} ends in the middle of the model; copy it again")


def _read(stream: BinaryIO, size: int, url: str) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise _cut(url)
    return content


def _numbers(stream: BinaryIO, form: str, url: str) -> tuple[int, ...]:
    form = f"<{form}"
    return struct.unpack(form, _read(stream, struct.calcsize(form), url))


def _matrix_size(stream: BinaryIO, url: str, header: Header, expected: int) -> tuple[int, int]:
    """(rows, place of the first number) of the input matrix that follows."""
    if _read(stream, 1, url) != b"\0":
        raise UsageError(f"{url} is quantized, its probabilities are only approximate; give the .bin it was made from")
    rows, columns = _numbers(stream, "qq", url)
    if (rows, columns) != (expected, header.dim):
        raise UsageError(f"{url} has a matrix of {rows} x {columns}, expected {expected} x {header.dim}; copy it again")
    return rows, stream.tell()


def _read_output(stream: BinaryIO, url: str, header: Header) -> np.ndarray:
    """float32[labels, dim]; of hierarchical softmax, the inner nodes in the place of labels."""
    if _read(stream, 1, url) != b"\0":
        raise UsageError(f"{url} has a quantized output layer; give the .bin it was made from")
    rows, columns = _numbers(stream, "qq", url)
    return np.frombuffer(_read(stream, 4 * rows * columns, url), "<f4").reshape(rows, columns)


def _projection(header: Header, output: np.ndarray, label: int) -> tuple[np.ndarray, str, np.ndarray]:
    """(float32[dim, c] that rows are multiplied with, kind, signs) for one label."""
    nothing = np.zeros(0)
    if header.loss == HIERARCHICAL:
        nodes, signs = huffman_path(header.label_counts, label)
        return output[nodes].T, "path", np.array(signs)
    if len(header.label_counts) == 2:
        return (output[label] - output[1 - label])[:, None], "difference", nothing
    return output.T, "softmax", nothing


def huffman_path(counts: Sequence[int], label: int) -> tuple[list[int], list[float]]:
    """(rows of the output matrix, signs) on the way from `label` up to the root of fastText's Huffman tree.

    As HierarchicalSoftmaxLoss::buildTree (src/loss.cc): counts fall, so the two smallest are taken from the end of the
    labels or from the front of the nodes made so far; on equal counts a node is taken.
    """
    size = len(counts)
    weights = [*counts, *([10**15] * (size - 1))]
    parent, right = [-1] * (2 * size - 1), [False] * (2 * size - 1)
    leaf, node = size - 1, size
    for new in range(size, 2 * size - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and weights[leaf] < weights[node]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        weights[new] = weights[pair[0]] + weights[pair[1]]
        parent[pair[0]] = parent[pair[1]] = new
        right[pair[1]] = True
    nodes, signs = [], []
    place = label
    while parent[place] != -1:
        nodes.append(parent[place] - size)
        signs.append(1.0 if right[place] else -1.0)
        place = parent[place]
    return nodes, signs


def _project(stream: BinaryIO, url: str, rows: int, dim: int, projection: np.ndarray) -> np.ndarray:
    """float32[rows, c]: the matrix at the stream's place times `projection`, a bounded part at a time."""
    result = np.empty((rows, projection.shape[1]), np.float32)
    step = max(1, CHUNK_BYTES // (4 * dim))
    for start in range(0, rows, step):
        taken = min(step, rows - start)
        chunk = np.frombuffer(_read(stream, 4 * taken * dim, url), "<f4").reshape(taken, dim)
        # BLAS kernels raise this flag on finite input too; what is not finite is looked for by the caller.
        with np.errstate(invalid="ignore", over="ignore"):
            result[start : start + taken] = chunk @ projection
    return result


def tiny_models() -> list[LinearModel]:
    """A model of one column and one of several, of two labels and no word: enough to compile the kernels with."""
    header = Header(1, 2, SOFTMAX, 1, 0, 0, (b"a", b"b"), np.ones(2, bool), (1, 1))
    projected = [np.zeros((1, columns), np.float32) for columns in (1, 2)]
    return [LinearModel(_table(header, rows, ""), "softmax", 0, np.zeros(0)) for rows in projected]


def _table(header: Header, projected: np.ndarray, url: str) -> LinearTable:
    words = len(header.words) - len(header.labels)
    by_entry = np.zeros((len(header.words), projected.shape[1]), np.float32)
    by_entry[~header.is_label] = projected[:words]
    offsets = np.cumsum([0, *(len(word) for word in header.words)]).astype(np.int64)
    data = np.frombuffer(b"".join(header.words) or b"\0", np.uint8)
    try:
        return build_table(
            data,
            offsets,
            header.is_label,
            by_entry,
            projected[words:],
            bucket=header.bucket,
            word_ngrams=header.word_ngrams if header.bucket else 1,
            min_chars=header.min_chars,
            max_chars=header.max_chars if header.bucket else 0,
        )
    except ValueError as fault:
        raise UsageError(f"{url} cannot be used ({fault}); please report it with the model") from fault
