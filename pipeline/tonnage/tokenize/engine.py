"""Text columns to token ids by gigatoken, straight from Arrow memory, on the calling thread alone.

No thread pool is ever started here: workers are processes. Ids come without BOS and EOS, which the writer adds, and
marker strings are plain text unless the policy says otherwise; how many there were is counted. Whether ids equal those
of the tokenizers library is check.py's to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
import pyarrow as pa
import xxhash

from tonnage.errors import WorkFailed
from tonnage.kernels.markers import build_trie, count_matches
from tonnage.kernels.splice import gather, wrap
from tonnage.store.arrow_text import buffers
from tonnage.tokenize.definition import engine_faults, load_engine, read_definition
from tonnage.tokenize.policy import TokenPolicy

PIECE_BYTES = 8 << 20  # text given to the engine at once; its output is at most four bytes of id a byte of text
# gigatoken keeps every word it has seen: 7 bytes a byte of text (and twice that while its table grows) on text whose
# words never repeat. It is loaded anew when the process has grown by CACHE_BYTES, or, where the size of a process
# cannot be read, after CACHE_TEXT_BYTES of text, which hold no more than that.
CACHE_BYTES = 384 << 20
CACHE_TEXT_BYTES = 64 << 20


class Encoded(NamedTuple):
    """Document i has ids[offsets[i] : offsets[i + 1]]; ids in the policy's dtype, offsets and markers int64."""

    ids: np.ndarray
    offsets: np.ndarray
    markers: np.ndarray


class Encoder:
    """Encodes text columns under one policy. Not to be shared between threads.

    Raises WorkFailed when `policy` was resolved for another tokenizer.
    """

    def __init__(self, tokenizer_json: bytes, policy: TokenPolicy) -> None:
        found = xxhash.xxh3_64_hexdigest(tokenizer_json)
        if found != policy.tokenizer_xxh3:
            raise WorkFailed(
                f"the tokenizer has xxh3 {found}, the token policy is that of {policy.tokenizer_xxh3}; "
                f"put the run's tokenizer back or start a new run"
            )
        self._policy = policy
        self._definition = read_definition(tokenizer_json)
        self._trie = build_trie([marker.encode() for marker in self._definition.markers])
        self._load()

    def _load(self) -> None:
        self._engine = load_engine(self._definition, parse_markers=self._policy.parse_markers)
        self._size_then = _process_bytes()
        self._text_since = 0

    def encode(self, text: pa.LargeStringArray) -> Encoded:
        """The ids of every document of a large_string column without nulls; an empty text has none.

        Raises WorkFailed when an id is outside of the vocabulary, or the engine fails.
        """
        data, offsets = buffers(text)
        pieces = [self._encode_piece(data, piece) for piece in _pieces(offsets)]
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(piece_offsets) for _, piece_offsets in pieces)])
        ids = [piece_ids for piece_ids, _ in pieces]
        return Encoded(
            ids[0] if len(ids) == 1 else np.concatenate([np.zeros(0, self._policy.numpy_dtype), *ids]),
            np.cumsum(lengths),
            count_matches(data, offsets, self._trie),
        )

    def _encode_piece(self, data: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        what = f"gigatoken failed on {len(offsets) - 1:,} documents"
        with engine_faults(WorkFailed, what, "please report it with these documents"):
            rows = self._engine.encode_batch(_awkward(data, offsets), parallel=False)
        row_offsets = np.asarray(rows.layout.offsets.data)
        ids = np.asarray(rows.layout.content.data)[row_offsets[0] : row_offsets[-1]]
        check_range(ids, self._policy, "the engine's output")
        narrowed = ids.astype(self._policy.numpy_dtype)
        del rows, ids
        self._bound_cache(int(offsets[-1] - offsets[0]))
        return narrowed, row_offsets

    def _bound_cache(self, text_bytes: int) -> None:
        self._text_since += text_bytes
        size = _process_bytes()
        if size is None or self._size_then is None:
            due = self._text_since > CACHE_TEXT_BYTES
        else:
            due = size - self._size_then > CACHE_BYTES
        if due:
            del self._engine
            self._load()

    def decode(self, ids: np.ndarray) -> bytes:
        """The bytes behind `ids`, which hold no BOS and EOS. Raises WorkFailed when the engine does not know an id."""
        with engine_faults(WorkFailed, "ids cannot be decoded", "delete the run's encoded columns and run again"):
            return bytes(self._engine.decode(np.ascontiguousarray(ids, np.uint32)))

    def control_ids(self) -> np.ndarray:
        """int64[], sorted: ids of markers, which no text can give; none when markers are parsed.

        A marker that is one ordinary token as well, such as a line end, is not among them.
        """
        markers = [token for token in self._definition.added if token.is_marker and not self._policy.parse_markers]
        plain = self.encode(pa.array([token.content for token in markers], pa.large_string()))
        ids = [
            token.id
            for token, start, end in zip(markers, plain.offsets[:-1], plain.offsets[1:], strict=True)
            if plain.ids[start:end].tolist() != [token.id]
        ]
        return np.array(sorted(ids), np.int64)


def _process_bytes() -> int | None:
    """Memory that this process has in use, None where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[1]) << 12
    except OSError:
        return None


def _pieces(offsets: np.ndarray) -> Iterator[np.ndarray]:
    """Offsets of runs of documents of at most PIECE_BYTES together; a longer document stands alone."""
    start = 0
    while start < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[start] + PIECE_BYTES, side="right")) - 1
        end = max(end, start + 1)
        yield offsets[start : end + 1]
        start = end


def _awkward(data: np.ndarray, offsets: np.ndarray) -> Any:
    """An awkward array of strings over Arrow's own memory."""
    characters = ak.contents.NumpyArray(data, parameters={"__array__": "char"})
    return ak.Array(
        ak.contents.ListOffsetArray(ak.index.Index64(offsets), characters, parameters={"__array__": "string"})
    )


def check_range(ids: np.ndarray, policy: TokenPolicy, where: str) -> None:
    """Raises WorkFailed when an id in `ids` is outside of the vocabulary."""
    if len(ids) and (highest := int(ids.max())) >= policy.vocab_size:
        raise WorkFailed(
            f"{where} holds the token id {highest}, but the vocabulary ends at {policy.vocab_size - 1}; "
            f"nothing made from it can be trusted: delete the run's encoded columns and tokens and run again"
        )


def warm_up() -> None:
    """Compiles the kernels that encoding and packing use, or loads them from numba's cache."""
    data, offsets = buffers(pa.array(["<"], pa.large_string()))
    count_matches(data, offsets, build_trie([b"<"]))
    for dtype in (np.uint16, np.uint32):
        ids = np.zeros(1, dtype)
        ids.flags.writeable = False
        pieces, piece_offsets = gather(ids, np.zeros(1, np.int64), np.ones(1, np.int64))
        wrap(pieces, piece_offsets, 0, 0)
