"""Training: the same tokenizer from the same texts, of exactly the size asked for, or a clear refusal."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest
from support.small_tokenizers import END, SENTENCES, trained
from tokenizers import Tokenizer

from tonnage.errors import UsageError, WorkFailed
from tonnage.tokenize.train import train_bpe

PROGRAM = """
import hashlib, sys
from support.small_tokenizers import trained
print(hashlib.sha256(trained(900)).hexdigest())
"""


@pytest.mark.parametrize(("hash_seed", "threads"), [("1", "1"), ("2", "4")])
def test_same_bytes_in_every_process(hash_seed: str, threads: str) -> None:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "RAYON_NUM_THREADS": threads,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashlib.sha256(trained(900)).hexdigest()


def test_order_of_texts_means_nothing() -> None:
    texts = [f"{sentence}{i}" for i in range(200) for sentence in SENTENCES]
    assert train_bpe(texts, 500, [END]) == train_bpe(texts[::-1], 500, [END])


@pytest.mark.parametrize("vocab_size", [259, 300, 700])
def test_vocabulary_is_as_large_as_asked(vocab_size: int) -> None:
    tokenizer = Tokenizer.from_str(trained(vocab_size).decode())
    assert tokenizer.get_vocab_size() == vocab_size
    assert sorted(tokenizer.get_vocab().values()) == list(range(vocab_size))


def test_special_tokens_have_the_first_ids_in_the_order_given() -> None:
    added = json.loads(trained(400, ("<b>", "<a>", "<c>")))["added_tokens"]
    assert [(token["content"], token["id"], token["special"]) for token in added] == [
        ("<b>", 0, True),
        ("<a>", 1, True),
        ("<c>", 2, True),
    ]


def test_a_sample_too_small_is_named_with_what_it_gives() -> None:
    with pytest.raises(WorkFailed, match=r"only 2\d\d of the 5,000 tokens.*vocab_size to at most 2\d\d"):
        train_bpe(["ab ab ab"], 5000, [END])


@pytest.mark.parametrize(
    ("vocab_size", "special", "message"),
    [
        (256, [END], "set it to 257 or more"),
        (500, [END, END], "must be different"),
        (500, [""], "must be different"),
    ],
)
def test_requests_that_cannot_be(vocab_size: int, special: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        train_bpe(["text"], vocab_size, special)


def test_one_endless_word_is_learned_from_too() -> None:
    """Uncut, a run this long would take hours; what repeats within it becomes tokens all the same."""
    tokenizer = Tokenizer.from_str(train_bpe(["acgtga" * 500_000], 262, []).decode())
    assert len(tokenizer.encode("acgtga" * 100).ids) <= 200
