"""What ids mean in a run: BOS, EOS, marker strings, width, vocabulary, and the software that made them.

Resolved once against the tokenizer itself and then carried into the manifest and into the keys of the steps. BOS and
EOS are put around documents by the writer as declared here and by nobody else: a post-processor of the tokenizer.json
that adds some of its own is never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import gigatoken
import numpy as np
import xxhash

from tonnage.errors import UsageError
from tonnage.tokenize.definition import Definition, load_engine, load_reference, read_definition

NARROW_VOCABULARY = 1 << 16  # the largest vocabulary whose ids all fit into 16 bits
NAMED_TOKENS = 20


@dataclass(frozen=True)
class TokenPolicy:
    """`dtype` is 'uint16' or 'uint32', little-endian on disk; `vocab_size` the highest id plus one.

    `eos_id` and `bos_id` are None where documents end or begin with none; `tokenizer_xxh3` is the hex xxh3_64 of the
    tokenizer.json; `gigatoken` and `tokenizers` are library versions.
    """

    vocab_size: int
    dtype: str
    eos_id: int | None
    bos_id: int | None
    parse_markers: bool
    tokenizer_xxh3: str
    gigatoken: str
    tokenizers: str

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def added(self) -> int:
        """Tokens put around each document."""
        return (self.bos_id is not None) + (self.eos_id is not None)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> TokenPolicy:
        return TokenPolicy(**{name: content[name] for name in TokenPolicy.__dataclass_fields__})

    def key_material(self) -> dict[str, Any]:
        """All that ids depend on besides the text; ids made under another material are not to be mixed with these."""
        return {"token policy": self.to_dict()}


def width_of(vocab_size: int) -> str:
    """The dtype that holds every id below `vocab_size`."""
    return "uint16" if vocab_size <= NARROW_VOCABULARY else "uint32"


def resolve_policy(
    tokenizer_json: bytes, *, eos: str | None, bos: str | None = None, parse_markers: bool = False
) -> TokenPolicy:
    """The policy of a tokenizer, with `eos` and `bos` (contents of added tokens, may be the same) looked up in it.

    Raises UsageError when the engine cannot run the tokenizer, a token does not exist or is what ordinary text gives,
    ids in the file are not the ones that the tokenizers library gives, or markers are to be parsed that engine and
    reference find in different places.
    """
    definition = read_definition(tokenizer_json)
    engine = load_engine(definition, parse_markers=parse_markers)
    _check_ids(definition)
    single = [token.content for token in definition.added if token.single_word]
    if parse_markers and single:
        raise UsageError(
            f"tokenizer.parse_markers: {single[0]!r} is an added token that counts as a whole word only (single_word), "
            f"which the engine finds inside of words too; set single_word to false in the file or leave markers as text"
        )
    for key, content in (("eos", eos), ("bos", bos)):
        if content is not None and not parse_markers:
            _check_not_ordinary(definition, engine, key, content)
    return TokenPolicy(
        vocab_size=definition.vocab_size,
        dtype=width_of(definition.vocab_size),
        eos_id=None if eos is None else _id_of(definition, "eos", eos),
        bos_id=None if bos is None else _id_of(definition, "bos", bos),
        parse_markers=parse_markers,
        tokenizer_xxh3=xxhash.xxh3_64_hexdigest(tokenizer_json),
        gigatoken=version("gigatoken"),
        tokenizers=version("tokenizers"),
    )


def _id_of(definition: Definition, key: str, content: str) -> int:
    found = definition.id_of(content)
    if found is None:
        raise UsageError(f"tokenizer.{key}: {content!r} is no added token of the tokenizer; {_named(definition)}")
    return found


def _check_not_ordinary(definition: Definition, engine: gigatoken.Tokenizer, key: str, content: str) -> None:
    """A line end declared as EOS, for example, would stand inside of documents too."""
    if engine.encode(content).tolist() == [_id_of(definition, key, content)]:
        raise UsageError(
            f"tokenizer.{key}: {content!r} is a token of ordinary text as well, so that it could not mark documents; "
            f"name another added token"
        )


def _named(definition: Definition) -> str:
    names = [repr(token.content) for token in definition.added]
    if not names:
        return "it has none at all, so add one to the file"
    more = f" and {len(names) - NAMED_TOKENS:,} more" if len(names) > NAMED_TOKENS else ""
    return f"it has {', '.join(names[:NAMED_TOKENS])}{more}; name one of these"


def _check_ids(definition: Definition) -> None:
    """The tokenizers library numbers added tokens anew where ids have gaps: then nobody knows which id is meant."""
    reference = load_reference(definition, parse_markers=True)
    for token in definition.added:
        given = reference.token_to_id(token.content)
        if given != token.id:
            raise UsageError(
                f"the tokenizer file gives {token.content!r} the id {token.id}, the tokenizers library {given}; "
                f"number the added tokens without gaps behind the vocabulary"
            )
