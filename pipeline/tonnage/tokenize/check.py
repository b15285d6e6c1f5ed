"""Whether ids are right: against the tokenizers library, against the texts they came from, against their own index.

Everything here looks at what was made and changes nothing. Which documents are looked at, the callers say by number
or by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tonnage.errors import WorkFailed
from tonnage.store.documents import read_table
from tonnage.store.files import join, read_bytes
from tonnage.store.layout import token_documents_path, tokens_path
from tonnage.tokenize.definition import load_reference, read_definition
from tonnage.tokenize.engine import Encoded, Encoder
from tonnage.tokenize.policy import TokenPolicy
from tonnage.tokenize.writer import TokensManifest, open_ids, open_tokens

REFERENCE_BYTES = 1 << 20  # text compared with the reference in each shard: about half a second of its time
CHUNK = 1 << 22  # ids looked at together
Texts = Callable[[str, int, Sequence[int]], Mapping[int, str]]  # source, shard, rows -> text by row


@dataclass(frozen=True)
class Comparison:
    """What was found equal."""

    documents: int
    tokens: int


def compare_with_reference(
    tokenizer_json: bytes, policy: TokenPolicy, names: Sequence[str], texts: Sequence[str], encoded: Encoded
) -> Comparison:
    """Compares `encoded` (without BOS and EOS) with the tokenizers library's ids of `texts`; `names` are document ids.

    Raises WorkFailed at the first difference, naming document, position and both ids.
    """
    reference = load_reference(read_definition(tokenizer_json), parse_markers=policy.parse_markers)
    for i, (name, text) in enumerate(zip(names, texts, strict=True)):
        expected = np.array(reference.encode(text, add_special_tokens=False).ids, np.int64)
        found = encoded.ids[encoded.offsets[i] : encoded.offsets[i + 1]]
        difference = _difference(name, found, expected)
        if difference:
            raise WorkFailed(
                f"{difference}; gigatoken {policy.gigatoken} and tokenizers {policy.tokenizers} disagree on this "
                f"tokenizer: use another one, or other versions"
            )
    return Comparison(len(texts), int(encoded.offsets[-1] - encoded.offsets[0]))


def _difference(name: str, found: np.ndarray, expected: np.ndarray) -> str | None:
    """The first place where the ids of one document differ, as half a sentence."""
    if np.array_equal(found, expected):
        return None
    shared = min(len(found), len(expected))
    differing = np.flatnonzero(found[:shared] != expected[:shared])
    position = int(differing[0]) if len(differing) else shared
    ids = [str(int(ids[position])) if position < len(ids) else "the end" for ids in (found, expected)]
    return f"document {name}, token {position}: found {ids[0]}, expected {ids[1]}"


@dataclass(frozen=True)
class _Shard:
    """A shard opened, its index as arrays: document i is ids[first[i] : first[i] + length[i]]."""

    name: str
    ids: np.ndarray
    index: pa.Table

    def column(self, name: str) -> np.ndarray:
        return self.index.column(name).to_numpy()

    def body(self, document: int, policy: TokenPolicy) -> np.ndarray:
        """The ids of one document without BOS and EOS."""
        first = self.index.column("first")[document].as_py() + (policy.bos_id is not None)
        return self.ids[first : first + self.index.column("length")[document].as_py() - policy.added]


def _border_faults(shard: _Shard, policy: TokenPolicy) -> Iterator[str]:
    """Index and ids against one another: every token in exactly one document, BOS and EOS where declared."""
    first, length = shard.column("first"), shard.column("length")
    if not len(first) or length.min() < policy.added:
        yield f"{shard.name}: the index has no documents, or some shorter than their BOS and EOS"
        return
    ends = np.cumsum(length)
    if first[0] != 0 or not np.array_equal(first[1:], ends[:-1]) or ends[-1] != len(shard.ids):
        yield f"{shard.name}: documents do not follow one another from 0 to {len(shard.ids):,}, its number of tokens"
        return
    for kind, places, declared in (("begins", first, policy.bos_id), ("ends", ends - 1, policy.eos_id)):
        wrong = np.flatnonzero(shard.ids[places] != declared) if declared is not None else np.zeros(0, np.int64)
        if len(wrong):
            name = shard.index.column("id")[int(wrong[0])].as_py()
            found = int(shard.ids[places[wrong[0]]])
            yield f"{shard.name}: document {name} {kind} with id {found}, declared is {declared}"
    highest = int(shard.ids.max())
    if highest >= policy.vocab_size:
        yield f"{shard.name}: id {highest} is outside of the vocabulary of {policy.vocab_size:,}"


def _control_faults(shard: _Shard, policy: TokenPolicy, control: np.ndarray) -> Iterator[str]:
    """Control ids stand where BOS and EOS do and nowhere else; borders are as `_border_faults` found them right."""
    first = shard.column("first")
    last = first + shard.column("length") - 1
    for start in range(0, len(shard.ids), CHUNK) if len(control) else ():
        places = start + np.flatnonzero(np.isin(shard.ids[start : start + CHUNK], control))
        document = np.searchsorted(last, places)
        is_bos = (places == first[document]) & (policy.bos_id is not None)
        is_eos = (places == last[document]) & (policy.eos_id is not None)
        inside = np.flatnonzero(~is_bos & ~is_eos)
        if len(inside):
            name = shard.index.column("id")[int(document[inside[0]])].as_py()
            found = int(shard.ids[places[inside[0]]])
            yield f"{shard.name}: document {name} has the control id {found} inside of its text"
            return


class _Sampled(NamedTuple):
    document: int
    id: str
    text: str | None


def _sample(shard: _Shard, texts: Texts, count: int) -> list[_Sampled]:
    """At most `count` documents, evenly spaced, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(shard.index) - 1, count).round().astype(np.int64))
    sampled = shard.index.take(pa.array(chosen)).to_pylist()
    rows: dict[tuple[str, int], list[int]] = {}
    for entry in sampled:
        rows.setdefault((entry["source"], entry["shard"]), []).append(entry["row"])
    found = {place: texts(*place, wanted) for place, wanted in rows.items()}
    return [
        _Sampled(document, entry["id"], found[entry["source"], entry["shard"]].get(entry["row"]))
        for document, entry in zip(chosen.tolist(), sampled, strict=True)
    ]


def _text_faults(shard: _Shard, policy: TokenPolicy, encoder: Encoder, sample: Sequence[_Sampled]) -> Iterator[str]:
    """Sampled documents decoded and compared with their texts.

    A tokenizer that normalizes does not give back every text; then the text is encoded once more, which must give the
    ids of the shard.
    """
    for document, name, text in sample:
        if text is None:
            yield f"{shard.name}: document {name} has no text at the address that its index names"
            continue
        body = shard.body(document, policy)
        with contextlib.suppress(WorkFailed):  # ids that nobody can decode differ from those of the text as well
            if encoder.decode(body) == text.encode():
                continue
        again = encoder.encode(pa.array([text], pa.large_string())).ids
        difference = _difference(name, body, again)
        if difference:
            yield f"{shard.name}: {difference} from its text"


def _compare_sample(
    shard: _Shard, policy: TokenPolicy, tokenizer_json: bytes, sample: Sequence[_Sampled]
) -> Comparison:
    """Sampled documents, as many as fit into REFERENCE_BYTES, as packed against the reference."""
    names: list[str] = []
    chosen: list[str] = []
    bodies: list[np.ndarray] = []
    room = REFERENCE_BYTES
    for document, name, text in sample:
        if text is not None and len(text.encode()) <= room:
            room -= len(text.encode())
            names.append(name)
            chosen.append(text)
            bodies.append(shard.body(document, policy))
    offsets = np.cumsum([0, *map(len, bodies)])
    ids = np.concatenate([np.zeros(0, policy.numpy_dtype), *bodies])
    encoded = Encoded(ids, offsets, np.zeros(len(bodies), np.int64))
    return compare_with_reference(tokenizer_json, policy, names, chosen, encoded)


def decode_check(
    root: str, key: str, cell: str, shard: int, tokenizer: str, policy: TokenPolicy, texts: Texts, count: int
) -> Comparison:
    """Checks a shard just written, before there is a manifest: borders, `count` texts decoded, reference compared.

    `tokenizer` is the path of the tokenizer.json within `root`. Raises WorkFailed at the first fault.
    """
    url = join(root, tokens_path(key, cell, shard))
    index = read_table(join(root, token_documents_path(key, cell, shard)))
    opened = _Shard(f"{cell} shard {shard}", open_ids(url, policy, None), index)
    content = read_bytes(join(root, tokenizer))
    encoder = Encoder(content, policy)
    faults = list(_border_faults(opened, policy)) or list(_control_faults(opened, policy, encoder.control_ids()))
    sample = [] if faults else _sample(opened, texts, count)
    faults += _text_faults(opened, policy, encoder, sample)
    if faults:
        raise WorkFailed(f"{faults[0]}; the shard is not to be trusted, please report it")
    return _compare_sample(opened, policy, content, sample)


def check_shard(
    root: str, manifest: TokensManifest, cell: str, shard: int, tokenizer: str, texts: Texts, count: int
) -> list[str]:
    """The faults of one finished shard, a sentence each: size, counts, borders, and `count` texts decoded.

    `tokenizer` is the URL of the tokenizer.json.
    """
    policy = manifest.policy
    try:
        ids = open_tokens(root, manifest, cell, shard)
        index = read_table(join(root, token_documents_path(manifest.key, cell, shard)))
        encoder = Encoder(read_bytes(tokenizer), policy)
    except WorkFailed as fault:
        return [str(fault)]
    opened = _Shard(f"{cell} shard {shard}", ids, index)
    claimed = manifest.shard(cell, shard).documents
    if claimed != len(index):
        return [f"{opened.name}: the index has {len(index):,} documents, the manifest {claimed:,}"]
    faults = list(_border_faults(opened, policy)) or list(_control_faults(opened, policy, encoder.control_ids()))
    return faults or list(_text_faults(opened, policy, encoder, _sample(opened, texts, count)))
