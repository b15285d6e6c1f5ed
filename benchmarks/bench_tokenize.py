"""Encoding by the run's engine against the tokenizers library, on the same documents in one run, one thread each.

The tokenizer is trained here, on the same documents. Both sides take turns round by round, and medians are reported;
loading a tokenizer is not timed. Both sides remember words, ours gains far more by it: the first row gives each a fresh
tokenizer every round, the second lets both keep what they have seen, as a worker does over a shard of hundreds of
megabytes. The target is set for the second. Ids are compared before anything is timed. What to print and which
documents to take is for the main program.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from tokenizers import Tokenizer

from tonnage.errors import WorkFailed
from tonnage.tokenize.check import compare_with_reference
from tonnage.tokenize.engine import Encoder, warm_up
from tonnage.tokenize.policy import TokenPolicy, resolve_policy
from tonnage.tokenize.train import train_bpe

SAMPLE_BYTES = 3_000_000  # two seconds a round for the tokenizers library
ROUNDS = 3
OURS_A_ROUND = 7  # ours takes milliseconds, so that one timing alone would be mostly noise
VOCABULARY = 32_768
END = "<|endoftext|>"
TARGET = 100.0


def run(documents: list[str]) -> list[dict[str, Any]]:
    """Rows of what, ours_mb_s, theirs_mb_s, ratio and target (None where none is set); MB are 10^6 bytes of UTF-8.

    The first documents up to SAMPLE_BYTES are measured. Raises WorkFailed when ids differ.
    """
    # Read by the tokenizers library when it first looks for threads.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    sample = _sample(documents)
    tokenizer_json = _trained(sample)
    policy = resolve_policy(tokenizer_json, eos=END)
    _check_ids(tokenizer_json, policy, sample)
    megabytes = sum(len(document.encode()) for document in sample) / 1e6
    what = f"gigatoken from Arrow / tokenizers encode_batch_fast, {policy.vocab_size:,} ids"
    ours, theirs = _ours(tokenizer_json, policy, sample), _theirs(tokenizer_json, sample)
    return [
        _row(f"{what}, first sight of the text", megabytes, _interleaved(ours, theirs, 1), None),
        _row(
            f"{what}, words seen before",
            megabytes,
            _interleaved(_kept(ours, OURS_A_ROUND), _kept(theirs, 1), OURS_A_ROUND),
            TARGET,
        ),
    ]


Prepare = Callable[[], Callable[[], object]]  # loads a tokenizer, gives the function to be timed


def _sample(documents: Sequence[str]) -> list[str]:
    sample: list[str] = []
    room = SAMPLE_BYTES
    for document in documents:
        if room <= 0:
            break
        sample.append(document)
        room -= len(document.encode())
    return sample


def _trained(sample: Sequence[str]) -> bytes:
    """A vocabulary of VOCABULARY, or the largest half, quarter ... of it that the sample gives."""
    size = VOCABULARY
    while True:
        try:
            return train_bpe(sample, size, [END])
        except WorkFailed:
            size //= 2


def _check_ids(tokenizer_json: bytes, policy: TokenPolicy, sample: Sequence[str]) -> None:
    encoded = Encoder(tokenizer_json, policy).encode(pa.array(sample, pa.large_string()))
    names = [str(number) for number in range(len(sample))]
    compare_with_reference(tokenizer_json, policy, names, sample, encoded)


def _ours(tokenizer_json: bytes, policy: TokenPolicy, sample: Sequence[str]) -> Prepare:
    column = pa.array(sample, pa.large_string())
    warm_up()

    def prepare() -> Callable[[], object]:
        encoder = Encoder(tokenizer_json, policy)
        return lambda: encoder.encode(column)

    return prepare


def _theirs(tokenizer_json: bytes, sample: Sequence[str]) -> Prepare:
    texts = list(sample)

    def prepare() -> Callable[[], object]:
        tokenizer = Tokenizer.from_str(tokenizer_json.decode())
        tokenizer.encode_special_tokens = True
        return lambda: tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    return prepare


def _kept(prepare: Prepare, times: int) -> Prepare:
    """The same tokenizer every round, run once before the first, and `times` a round."""
    function = prepare()
    function()
    return lambda: lambda: [function() for _ in range(times)]


def _interleaved(ours: Prepare, theirs: Prepare, ours_times: int) -> tuple[float, float]:
    """Median seconds of each; a round of ours runs `ours_times` times."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for prepare, taken in zip((ours, theirs), seconds, strict=True):
            function = prepare()
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return statistics.median(seconds[0]) / ours_times, statistics.median(seconds[1])


def _row(what: str, megabytes: float, seconds: tuple[float, float], target: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "ours_mb_s": megabytes / seconds[0],
        "theirs_mb_s": megabytes / seconds[1],
        "ratio": seconds[1] / seconds[0],
        "target": target,
    }
