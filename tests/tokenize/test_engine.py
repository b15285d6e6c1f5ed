"""Encoding: ids of the tokenizers library, texts that come back, markers that stay text, bounded memory, no threads."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_tokenizers import BEGIN, CHAT, END, SENTENCES, changed, reference_ids, synthetic, trained, with_added
from tokenizers import Tokenizer, processors

from tonnage.errors import WorkFailed
from tonnage.tokenize import engine
from tonnage.tokenize.engine import Encoded, Encoder
from tonnage.tokenize.policy import resolve_policy


def _encoder(tokenizer: bytes, *, parse_markers: bool = False) -> Encoder:
    return Encoder(tokenizer, resolve_policy(tokenizer, eos=END, bos=BEGIN, parse_markers=parse_markers))


def _rows(encoded: Encoded) -> list[list[int]]:
    return [encoded.ids[a:b].tolist() for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]


def _encode(encoder: Encoder, texts: list[str]) -> list[list[int]]:
    return _rows(encoder.encode(pa.array(texts, pa.large_string())))


ENCODER = _encoder(trained())
PIECES = st.sampled_from(
    [*SENTENCES, END, CHAT, "<|", " ", "\n\n", "\r", "12345", "'s", "É", "E\u0301", "\0", "\u2028"]
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=8).map("".join))


@given(st.lists(TEXTS, max_size=4))
@settings(max_examples=300, deadline=None)
def test_texts_come_back_and_ids_are_the_reference_s(texts: list[str]) -> None:
    encoded = ENCODER.encode(pa.array(texts, pa.large_string()))
    rows = _rows(encoded)
    assert rows == [reference_ids(trained(), text) for text in texts]
    assert [ENCODER.decode(np.array(row, np.uint16)).decode() for row in rows] == texts
    assert encoded.ids.dtype == np.uint16
    assert encoded.offsets.dtype == encoded.markers.dtype == np.int64


def test_markers_are_text_and_counted() -> None:
    """T11: the middle one of three documents holds the end marker, a chat marker and the BOS string."""
    texts = ["The first document.", f"It says {END} and {CHAT}user and {BEGIN}!", "The third."]
    encoded = ENCODER.encode(pa.array(texts, pa.large_string()))
    rows = _rows(encoded)
    assert len(rows) == 3
    assert encoded.markers.tolist() == [0, 3, 0]
    assert not set(encoded.ids.tolist()) & {0, 1, 2}
    assert [ENCODER.decode(np.array(row)).decode() for row in rows] == texts


def test_markers_become_control_ids_when_asked_for() -> None:
    text = f"It says {END} and {CHAT}user and {BEGIN}!"
    encoded = _encoder(trained(), parse_markers=True).encode(pa.array([text], pa.large_string()))
    assert [i for i in encoded.ids.tolist() if i < 3] == [0, 2, 1]
    assert encoded.ids.tolist() == reference_ids(trained(), text, markers_as_text=False)
    assert encoded.markers.tolist() == [3]


def test_markers_that_are_not_declared_special_stay_text_as_well() -> None:
    """Fill-in-the-middle and thinking markers of published tokenizers are ordinary added tokens."""
    tokenizer = with_added(trained(), "<think>", "<|fim_prefix|>")
    encoded = _encoder(tokenizer).encode(pa.array(["a<think>b<|fim_prefix|>"], pa.large_string()))
    assert encoded.ids.max() < 600
    assert encoded.markers.tolist() == [2]
    parsed = _encoder(tokenizer, parse_markers=True).encode(pa.array(["a<think>b<|fim_prefix|>"], pa.large_string()))
    assert {600, 601} < set(parsed.ids.tolist())


def test_runs_of_blanks_as_added_tokens_are_ordinary_text() -> None:
    tokenizer = with_added(trained(), "  ", "    ", normalized=True)
    text = "def f():\n    return  1"
    encoded = _encoder(tokenizer).encode(pa.array([text], pa.large_string()))
    assert encoded.ids.tolist() == reference_ids(tokenizer, text)
    assert {600, 601} < set(encoded.ids.tolist())
    assert encoded.markers.tolist() == [0]


@given(TEXTS)
@settings(max_examples=50, deadline=None)
def test_normalizing_tokenizers_give_the_reference_s_ids(text: str) -> None:
    tokenizer = changed(trained(), normalizer={"type": "NFC"})
    assert _encode(_encoder(tokenizer), [text]) == [reference_ids(tokenizer, text)]


def test_post_processor_truncation_and_padding_of_the_file_are_not_run() -> None:
    """A tokenizer that adds its own BOS must not add it to ours."""
    tokenizer = Tokenizer.from_str(trained().decode())
    tokenizer.post_processor = processors.TemplateProcessing(f"{BEGIN} $A {END}", special_tokens=[(BEGIN, 1), (END, 0)])
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=50)
    assert _encode(_encoder(tokenizer.to_str().encode()), list(SENTENCES)) == _encode(ENCODER, list(SENTENCES))


def test_the_last_id_of_a_wide_vocabulary() -> None:
    """T13: ids beyond 65,535 are not wrapped around."""
    for vocab_size, dtype in ((65_536, np.uint16), (70_000, np.uint32)):
        tokenizer = synthetic(vocab_size)
        encoded = Encoder(tokenizer, resolve_policy(tokenizer, eos=END)).encode(pa.array(["ab"], pa.large_string()))
        assert encoded.ids.tolist() == [vocab_size - 1]
        assert encoded.ids.dtype == dtype


def test_an_id_outside_of_the_vocabulary_stops_the_build() -> None:
    policy = replace(resolve_policy(synthetic(70_000), eos=END), vocab_size=69_999)
    with pytest.raises(WorkFailed, match=r"token id 69999, but the vocabulary ends at 69998"):
        Encoder(synthetic(70_000), policy).encode(pa.array(["ab"], pa.large_string()))


def test_a_policy_of_another_tokenizer_is_refused() -> None:
    with pytest.raises(WorkFailed, match="xxh3"):
        Encoder(trained(601), resolve_policy(trained(), eos=END))


def test_columns_without_rows_without_text_and_cut_from_longer_ones() -> None:
    assert _encode(ENCODER, []) == []
    assert _encode(ENCODER, ["", ""]) == [[], []]
    column = pa.array(["zero", *SENTENCES, "six"], pa.large_string())
    assert _rows(ENCODER.encode(column.slice(1, 5))) == _encode(ENCODER, list(SENTENCES))


@pytest.mark.parametrize("piece_bytes", [1, 50, 120, 10_000])
def test_pieces_do_not_show(monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    texts = [*SENTENCES, "", "", *SENTENCES, "x" * 200]
    expected = _encode(ENCODER, texts)
    monkeypatch.setattr(engine, "PIECE_BYTES", piece_bytes)
    assert _encode(ENCODER, texts) == expected


def _random_words(rng: np.random.Generator, count: int) -> pa.LargeStringArray:
    letters = rng.integers(97, 123, size=(count, 10), dtype=np.uint8)
    letters[:, -1] = 32
    return pa.array([letters.tobytes().decode()], pa.large_string())


def test_memory_is_bounded_on_words_that_never_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left alone, the engine keeps 700 MB for these 64 MB of text."""
    monkeypatch.setattr(engine, "CACHE_BYTES", 32 << 20)
    rng = np.random.default_rng(1)
    encoder = _encoder(trained())
    encoder.encode(_random_words(rng, 800_000))
    before = psutil.Process().memory_info().rss
    for _ in range(7):
        encoder.encode(_random_words(rng, 800_000))
    assert psutil.Process().memory_info().rss - before < 250 << 20


def test_loading_the_engine_anew_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CACHE_BYTES", -(1 << 60))
    monkeypatch.setattr(engine, "PIECE_BYTES", 10)
    assert _encode(_encoder(trained()), list(SENTENCES)) == _encode(ENCODER, list(SENTENCES))


def test_time_is_linear_in_the_length_of_a_document() -> None:
    def seconds(text: str) -> float:
        start = time.perf_counter()
        ENCODER.encode(pa.array([text], pa.large_string()))
        return time.perf_counter() - start

    block = "".join(SENTENCES) * 3000  # about 1 MB
    short = min(seconds(block) for _ in range(3))
    assert min(seconds(block * 16) for _ in range(2)) < 16 * 4 * short


PROGRAM = """
import sys, psutil, pyarrow as pa
from pathlib import Path
from tonnage.tokenize.engine import Encoder, warm_up
from tonnage.tokenize.policy import resolve_policy
tokenizer = Path(sys.argv[1]).read_bytes()
encoder = Encoder(tokenizer, resolve_policy(tokenizer, eos="<|endoftext|>"))
warm_up()
before = psutil.Process().num_threads()
encoder.encode(pa.array(["The harbour master counted barges.\\n" * 50] * 2000, pa.large_string()))
print(psutil.Process().num_threads() - before)
"""


def test_encoding_starts_no_threads(tmp_path: Path) -> None:
    """In a process of its own, where no training has started any."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(trained())
    command = [sys.executable, "-c", PROGRAM, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"
