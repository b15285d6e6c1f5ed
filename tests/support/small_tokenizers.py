"""Small real tokenizers, made by the tests that need them: trained ones, and synthetic vocabularies of a given size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from tokenizers import Tokenizer, pre_tokenizers

from tonnage.tokenize.train import train_bpe

END, BEGIN, CHAT = "<|endoftext|>", "<|begin|>", "<|im_start|>"
SENTENCES = (
    "The harbour master counted forty-two barges before the tide turned.\n",
    "def weigh(cargo: list[int]) -> int:\n    return sum(cargo)  # tonnes\n",
    "Ein Schiff wird kommen; die Fähre trägt 1.250 Kisten Äpfel.\r\n",
    "船は朝に出て、夕方に帰る。海は静かだ。\n",
    "  * item one\n\n  * item two\t(with a tab)\n",
)


@cache
def trained(vocab_size: int = 600, special: Sequence[str] = (END, BEGIN, CHAT)) -> bytes:
    """A byte-level BPE of a few hundred tokens."""
    texts = [f"{sentence}{number * 7919} {sentence[::-1]}" for number in range(400) for sentence in SENTENCES]
    return train_bpe(texts, vocab_size, special)


def changed(tokenizer_json: bytes, **settings: Any) -> bytes:
    """The tokenizer.json with top-level `settings` replaced."""
    return json.dumps({**json.loads(tokenizer_json), **settings}).encode()


def with_added(tokenizer_json: bytes, *contents: str, **flags: bool) -> bytes:
    """The tokenizer.json with more added tokens behind its vocabulary, not special unless `flags` say so."""
    content = json.loads(tokenizer_json)
    first = 1 + max([*content["model"]["vocab"].values(), *(token["id"] for token in content["added_tokens"])])
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    content["added_tokens"] += [{"id": first + i, "content": text, **usual, **flags} for i, text in enumerate(contents)]
    return json.dumps(content).encode()


@cache
def synthetic(vocab_size: int) -> bytes:
    """A byte-level BPE of exactly `vocab_size` ids; the text "ab" is the last, END is 256, the rest is unused."""
    vocabulary = {character: i for i, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary[END] = 256
    vocabulary |= {f"<unused {i}>": i for i in range(257, vocab_size - 1)}
    vocabulary["ab"] = vocab_size - 1
    content = json.loads(trained())
    content["model"] |= {"vocab": vocabulary, "merges": [["a", "b"]]}
    content["added_tokens"] = [{**content["added_tokens"][0], "id": 256}]
    return json.dumps(content).encode()


def reference_ids(tokenizer_json: bytes, text: str, *, markers_as_text: bool = True) -> list[int]:
    """What the tokenizers library gives, BOS and EOS left out."""
    tokenizer = Tokenizer.from_str(tokenizer_json.decode())
    tokenizer.encode_special_tokens = markers_as_text
    return list(tokenizer.encode(text, add_special_tokens=False).ids)
