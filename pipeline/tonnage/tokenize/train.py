"""A byte-level BPE tokenizer trained on given texts, by the tokenizers library.

The same texts give the same bytes of tokenizer.json, in whatever order their words are counted: ties between merges
are broken by token ids, and ids of bytes are fixed. Text is not normalized and all 256 bytes are in the vocabulary, so
that every text comes back from its ids. Which texts to train on is for the callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tonnage.errors import UsageError, WorkFailed

BYTES = 256
# The split of GPT-4 (cl100k_base of tiktoken; Llama 3 has the same): contractions, words with at most one leading
# mark, digits in threes, marks with trailing line ends, line ends, blanks. gigatoken has a fast path for it.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
# Training takes time square in the length of a word: 300 kB of bases in one line cost 40 s. No useful token is lost
# when longer runs are cut for training alone.
LONGEST_RUN = 512
_LONG_RUN = re.compile(rf"\S{{{LONGEST_RUN}}}(?=\S)|\s{{{LONGEST_RUN}}}(?=\s)")


def train_bpe(texts: Iterable[str], vocab_size: int, special: Sequence[str]) -> bytes:
    """A tokenizer.json with exactly `vocab_size` tokens; `special` get the first ids, in the order given.

    Raises UsageError when `vocab_size` does not hold all bytes and special tokens, or a special token is empty or given
    twice; WorkFailed when the texts are too few to make that many tokens.
    """
    _check_request(vocab_size, special)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_bounded(texts), trainer)
    reached = tokenizer.get_vocab_size()
    if reached < vocab_size:
        raise WorkFailed(
            f"tokenizer.train: the sample gives only {reached:,} of the {vocab_size:,} tokens asked for; "
            f"raise tokenizer.train.sample, add text, or set vocab_size to at most {reached}"
        )
    return tokenizer.to_str().encode()


def _check_request(vocab_size: int, special: Sequence[str]) -> None:
    if len(set(special)) != len(special) or "" in special:
        raise UsageError(f"tokenizer.train.special must be different, non-empty strings, found {list(special)}")
    if vocab_size < BYTES + len(special):
        raise UsageError(
            f"tokenizer.train.vocab_size is {vocab_size}, less than {BYTES} bytes and {len(special)} special tokens; "
            f"set it to {BYTES + len(special)} or more"
        )


def _bounded(texts: Iterable[str]) -> Iterator[str]:
    """`texts`, with runs of more than LONGEST_RUN characters (of blanks, or without one) in several pieces."""
    for text in texts:
        start = 0
        for run in _LONG_RUN.finditer(text):
            yield text[start : run.end()]
            start = run.end()
        if start < len(text):
            yield text[start:]
