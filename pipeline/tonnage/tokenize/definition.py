"""A tokenizer.json, read: its added tokens and highest id, and the versions of it that engine and reference are given.

Markers are the added tokens that stand for structure: all special ones, and all others that are more than white space.
Chat and fill-in-the-middle markers are often added without being declared special, so the flag alone would not keep
control ids out of documents; runs of blanks (as GPT-NeoX adds them) are ordinary text. By default markers in documents
are plain text: the engine gets the file without them, the reference keeps them but is told to encode them as text.
Truncation, padding and post-processors are always left out: a corpus has whole documents, and the writer alone adds BOS
and EOS. Encoding itself is for engine.py and check.py.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gigatoken
from tokenizers import Tokenizer

from tonnage.errors import TonnageError, UsageError


@dataclass(frozen=True)
class AddedToken:
    content: str
    id: int
    special: bool
    single_word: bool

    @property
    def is_marker(self) -> bool:
        return self.special or bool(self.content.strip())


@dataclass(frozen=True)
class Definition:
    """`content` is the parsed file; `vocab_size` its highest id, added tokens included, plus one."""

    content: Mapping[str, Any]
    added: tuple[AddedToken, ...]
    vocab_size: int

    @property
    def markers(self) -> tuple[str, ...]:
        return tuple(token.content for token in self.added if token.is_marker)

    def id_of(self, content: str) -> int | None:
        """The id of an added token, None when there is no such token."""
        return next((token.id for token in self.added if token.content == content), None)


def read_definition(tokenizer_json: bytes) -> Definition:
    """Raises UsageError when this is no tokenizer.json, or its byte-pair merges are drawn at random (dropout)."""
    try:
        content = json.loads(tokenizer_json)
        vocabulary = content["model"]["vocab"]
        added = tuple(_added_token(token) for token in content.get("added_tokens") or [])
        ids = [*vocabulary.values(), *(token.id for token in added)]
        vocab_size = max(ids) + 1
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise UsageError(
            f"the tokenizer file is no tokenizer.json of a byte-pair model ({type(fault).__name__}: {fault}); "
            f"give one as Tokenizer.save() of the tokenizers library writes it"
        ) from fault
    if content["model"].get("dropout"):
        raise UsageError(
            "the tokenizer merges at random (model.dropout), so that ids would differ from run to run; "
            "set dropout to null in the tokenizer.json"
        )
    return Definition(content, added, vocab_size)


def _added_token(token: Mapping[str, Any]) -> AddedToken:
    return AddedToken(
        str(token["content"]), int(token["id"]), bool(token.get("special")), bool(token.get("single_word"))
    )


def load_engine(definition: Definition, *, parse_markers: bool) -> gigatoken.Tokenizer:
    """gigatoken's tokenizer: without markers unless they are to be parsed.

    Raises UsageError when gigatoken does not know this kind of tokenizer.
    """
    content = _variant(definition, lambda token: token if parse_markers or not _is_marker(token) else None)
    mend = (
        "give one with byte-level or byte-fallback BPE and a pre-tokenizer as GPT-2, GPT-4, Llama 3, Qwen or OLMo have "
        "it, or train one (tokenizer.train)"
    )
    with engine_faults(UsageError, "the tokenizer cannot be run by gigatoken", mend):
        return gigatoken.Tokenizer.from_json(content)


def load_reference(definition: Definition, *, parse_markers: bool) -> Tokenizer:
    """The tokenizers library's own: with all markers, which it encodes as text by its own means unless they are parsed.

    Raises UsageError when the library cannot load the file.
    """
    content = _variant(
        definition, lambda token: {**token, "special": True} if not parse_markers and _is_marker(token) else token
    )
    try:
        tokenizer = Tokenizer.from_str(content)
    except Exception as fault:  # the library raises bare Exception
        raise UsageError(
            f"the tokenizers library cannot load the tokenizer file ({fault}); save it anew with Tokenizer.save()"
        ) from fault
    tokenizer.encode_special_tokens = not parse_markers
    return tokenizer


@contextlib.contextmanager
def engine_faults(kind: type[TonnageError], what: str, mend: str) -> Iterator[None]:
    """Faults of gigatoken raised as `kind`, its panics too, which derive from BaseException as Ctrl-C does."""
    try:
        yield
    except BaseException as fault:
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
        first_line = (str(fault).splitlines() or [type(fault).__name__])[0]
        raise kind(f"{what} ({first_line}); {mend}") from fault


def _is_marker(token: Mapping[str, Any]) -> bool:
    return _added_token(token).is_marker


def _variant(definition: Definition, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]) -> str:
    changed = [change(token) for token in definition.content.get("added_tokens") or []]
    content = {
        **definition.content,
        "added_tokens": [token for token in changed if token is not None],
        "truncation": None,
        "padding": None,
        "post_processor": None,
    }
    return json.dumps(content, ensure_ascii=False)
