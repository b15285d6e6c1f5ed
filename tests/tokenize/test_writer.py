"""Token shards: documents with BOS and EOS as declared, borders from the index, facts from the manifest."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_tokenizers import BEGIN, END, synthetic, trained

from tonnage.errors import WorkFailed
from tonnage.kernels.splice import offsets_of
from tonnage.store.documents import read_table
from tonnage.store.layout import token_documents_path, tokens_path
from tonnage.tokenize.policy import TokenPolicy, resolve_policy
from tonnage.tokenize.writer import (
    TokenChunk,
    TokenShard,
    open_encoded,
    open_tokens,
    read_manifest,
    tokens_manifest_path,
    write_manifest,
    write_token_shard,
    write_token_shards,
)

KEY, CELL = "0123456789abcdef", "web/q1"
BODIES = [[5, 6, 7], [], [9], list(range(10, 200)), [0]]  # the fourth is long; the last is the EOS id itself


def _policy(eos: str | None = END, bos: str | None = None) -> TokenPolicy:
    return resolve_policy(trained(), eos=eos, bos=bos)


def _chunk(bodies: Sequence[Sequence[int]], policy: TokenPolicy, first_row: int = 0) -> TokenChunk:
    ids = np.array([i for body in bodies for i in body], policy.numpy_dtype)
    rows = np.arange(first_row, first_row + len(bodies))
    names = [f"{row:032x}" for row in rows.tolist()]
    return TokenChunk(ids, offsets_of(np.array([len(body) for body in bodies], np.int64)), names, "web", 3, rows)


def _documents(root: Path, shards: Sequence[TokenShard], policy: TokenPolicy) -> list[list[list[int]]]:
    """Ids of each document of each shard, cut by the index."""
    write_manifest(str(root), KEY, policy, {CELL: shards})
    manifest = read_manifest(str(root), KEY)
    result = []
    for shard in shards:
        ids = open_tokens(str(root), manifest, CELL, shard.shard)
        index = read_table(str(root / token_documents_path(KEY, CELL, shard.shard))).to_pylist()
        assert sum(entry["length"] for entry in index) == len(ids) == shard.tokens
        assert len(index) == shard.documents
        result.append([ids[entry["first"] : entry["first"] + entry["length"]].tolist() for entry in index])
    return result


@pytest.mark.parametrize(("bos", "eos"), [(None, END), (BEGIN, END), (BEGIN, None), (END, END), (None, None)], ids=str)
def test_first_and_last_ids_are_as_declared(tmp_path: Path, bos: str | None, eos: str | None) -> None:
    """T12: lengths include BOS and EOS, and a body that holds the EOS id does not end its document."""
    policy = _policy(eos, bos)
    shard = write_token_shard(str(tmp_path), KEY, CELL, 0, policy, [_chunk(BODIES, policy)])
    before = [] if bos is None else [policy.bos_id]
    behind = [] if eos is None else [policy.eos_id]
    assert _documents(tmp_path, [shard], policy) == [[[*before, *body, *behind] for body in BODIES]]


def test_the_index_gives_the_address_of_every_document(tmp_path: Path) -> None:
    policy = _policy()
    chunks = [_chunk(BODIES[:2], policy), _chunk(BODIES[2:], policy, first_row=40)]
    write_token_shard(str(tmp_path), KEY, CELL, 0, policy, chunks)
    index = read_table(str(tmp_path / token_documents_path(KEY, CELL, 0))).to_pylist()
    assert [entry["row"] for entry in index] == [0, 1, 40, 41, 42]
    assert [entry["first"] for entry in index] == [0, 4, 5, 7, 198]
    assert [entry["id"] for entry in index] == [f"{row:032x}" for row in (0, 1, 40, 41, 42)]
    assert {(entry["source"], entry["shard"]) for entry in index} == {("web", 3)}


def test_bytes_do_not_depend_on_chunks(tmp_path: Path) -> None:
    policy = _policy(bos=BEGIN)
    whole = [_chunk(BODIES, policy)]
    pieces = [_chunk([body], policy, first_row=row) for row, body in enumerate(BODIES)]
    for name, chunks in (("whole", whole), ("pieces", pieces)):
        write_token_shard(str(tmp_path / name), KEY, CELL, 0, policy, chunks)
    for path in (tokens_path(KEY, CELL, 0), token_documents_path(KEY, CELL, 0)):
        assert (tmp_path / "whole" / path).read_bytes() == (tmp_path / "pieces" / path).read_bytes()


def _cut_by_hand(sizes: Sequence[int], shard_tokens: int) -> list[list[int]]:
    shards: list[list[int]] = []
    for size in sizes:
        if shards and sum(shards[-1]) + size <= shard_tokens:
            shards[-1].append(size)
        else:
            shards.append([size])
    return shards


@given(
    st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=5), min_size=1, max_size=5),
    st.integers(1, 20),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_shards_are_cut_at_whole_documents(tmp_path_factory, lengths, shard_tokens, shard_first) -> None:
    root = tmp_path_factory.mktemp("run")
    policy = _policy()
    numbers = itertools.count(10)
    bodies = [[[next(numbers) % 500 for _ in range(length)] for length in chunk] for chunk in lengths]
    chunks = [_chunk(chunk, policy) for chunk in bodies]
    shards = write_token_shards(
        str(root), KEY, CELL, policy, chunks, shard_first=shard_first, shard_tokens=shard_tokens
    )
    documents = _documents(root, shards, policy)
    assert [document[:-1] for shard in documents for document in shard] == [body for chunk in bodies for body in chunk]
    expected = _cut_by_hand([length + 1 for chunk in lengths for length in chunk], shard_tokens)
    assert [[len(document) for document in shard] for shard in documents] == expected
    assert [shard.shard for shard in shards] == list(range(shard_first, shard_first + len(shards)))


@pytest.mark.parametrize(("vocab_size", "dtype"), [(65_536, "uint16"), (70_000, "uint32")])
def test_width_is_in_the_manifest_and_ids_come_back(tmp_path: Path, vocab_size: int, dtype: str) -> None:
    """T13."""
    policy = resolve_policy(synthetic(vocab_size), eos=END)
    shard = write_token_shard(str(tmp_path), KEY, CELL, 0, policy, [_chunk([[vocab_size - 1, 1]], policy)])
    assert _documents(tmp_path, [shard], policy) == [[[vocab_size - 1, 1, 256]]]
    content = json.loads((tmp_path / tokens_manifest_path(KEY)).read_bytes())
    assert (content["dtype"], content["byte_order"], content["vocab_size"]) == (dtype, "little", vocab_size)
    raw = (tmp_path / tokens_path(KEY, CELL, 0)).read_bytes()
    assert raw == np.array([vocab_size - 1, 1, 256], "<u2" if dtype == "uint16" else "<u4").tobytes()


def test_a_reader_with_another_width_is_refused(tmp_path: Path) -> None:
    """T13: forced to 16 bits, 70,000 ids would come out as garbage without an error."""
    policy = resolve_policy(synthetic(70_000), eos=END)
    shard = write_token_shard(str(tmp_path), KEY, CELL, 0, policy, [_chunk([[69_999]], policy)])
    write_manifest(str(tmp_path), KEY, policy, {CELL: [shard]})
    manifest = read_manifest(str(tmp_path), KEY)
    assert len(open_tokens(str(tmp_path), manifest, CELL, 0, dtype="uint32")) == 2
    with pytest.raises(WorkFailed, match=r"uint32 ids.*cannot be read as uint16"):
        open_tokens(str(tmp_path), manifest, CELL, 0, dtype="uint16")
    narrowed = replace(manifest, policy=replace(policy, dtype="uint16"))
    with pytest.raises(WorkFailed, match="8 bytes, which are not 2 ids of 2 bytes"):
        open_tokens(str(tmp_path), narrowed, CELL, 0)


def test_a_manifest_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    policy = resolve_policy(synthetic(70_000), eos=END)
    write_manifest(str(tmp_path), KEY, policy, {})
    path = tmp_path / tokens_manifest_path(KEY)
    content = json.loads(path.read_bytes())
    for fact in ({"dtype": "uint16"}, {"byte_order": "big"}, {"version": 99}):
        path.write_text(json.dumps({**content, **fact}))
        with pytest.raises(WorkFailed, match="asks for"):
            read_manifest(str(tmp_path), KEY)


def test_missing_and_damaged_manifests_are_named(tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match="is missing"):
        read_manifest(str(tmp_path), KEY)
    write_manifest(str(tmp_path), KEY, _policy(), {})
    path = tmp_path / tokens_manifest_path(KEY)
    for damaged in (b"{", b"[]", b"{}"):
        path.write_bytes(damaged)
        with pytest.raises(WorkFailed, match="damaged"):
            read_manifest(str(tmp_path), KEY)


def test_what_the_manifest_says_comes_back(tmp_path: Path) -> None:
    policy = _policy(bos=BEGIN)
    cells = {"web": [{"shard": 0, "documents": 3, "tokens": 9}, {"shard": 1, "documents": 1, "tokens": 2}], "code": []}
    write_manifest(str(tmp_path), KEY, policy, cells)
    manifest = read_manifest(str(tmp_path), KEY)
    assert manifest.policy == policy
    assert dict(manifest.cells) == {"web": (TokenShard(0, 3, 9), TokenShard(1, 1, 2)), "code": ()}
    with pytest.raises(WorkFailed, match="no shard 2 of cell 'web'"):
        open_tokens(str(tmp_path), manifest, "web", 2)


def test_shards_cut_off_or_gone_are_refused(tmp_path: Path) -> None:
    policy = _policy()
    shard = write_token_shard(str(tmp_path), KEY, CELL, 0, policy, [_chunk(BODIES, policy)])
    write_manifest(str(tmp_path), KEY, policy, {CELL: [shard]})
    path = tmp_path / tokens_path(KEY, CELL, 0)
    for kept in (-10, -1):
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(WorkFailed, match="which are not 200 ids of 2 bytes"):
            open_tokens(str(tmp_path), read_manifest(str(tmp_path), KEY), CELL, 0)
    path.unlink()
    with pytest.raises(WorkFailed, match="is missing"):
        open_tokens(str(tmp_path), read_manifest(str(tmp_path), KEY), CELL, 0)


def _out_of_range(policy: TokenPolicy) -> Iterator[TokenChunk]:
    yield _chunk(BODIES, policy)
    yield _chunk([[policy.vocab_size]], policy)


def test_ids_outside_of_the_vocabulary_stop_the_shard(tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match=r"web/q1 shard 0 holds the token id 600, but the vocabulary ends at 599"):
        write_token_shard(str(tmp_path), KEY, CELL, 0, _policy(), _out_of_range(_policy()))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_ids_of_another_width_stop_the_shard(tmp_path: Path) -> None:
    wide = replace(_policy(), dtype="uint32")
    with pytest.raises(WorkFailed, match="ids are uint32"):
        write_token_shard(str(tmp_path), KEY, CELL, 0, _policy(), [_chunk(BODIES, wide)])


@pytest.mark.parametrize("bodies", [[], [[], []]])
def test_an_empty_shard_is_never_made(tmp_path: Path, bodies: list[list[int]]) -> None:
    with pytest.raises(WorkFailed, match="no token"):
        write_token_shard(str(tmp_path), KEY, CELL, 0, _policy(eos=None), [_chunk(bodies, _policy())])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_chosen_documents_are_gathered_from_the_encoded_file(tmp_path: Path) -> None:
    policy = _policy()
    path = tmp_path / "00000.tokens"
    np.array([i for body in BODIES for i in body], "<u2").tofile(path)
    lengths = np.array([len(body) for body in BODIES])
    first = offsets_of(lengths)[:-1]
    kept = np.array([0, 3, 4])
    arguments = {"source": "web", "shard": 3, "rows": kept}
    names = np.array(["a", "b", "c"], object)
    encoded = open_encoded(str(path), policy)
    chunk = TokenChunk.gather(encoded, first[kept], lengths[kept], names, **arguments)
    shard = write_token_shard(str(tmp_path), KEY, CELL, 0, policy, [chunk])
    assert _documents(tmp_path, [shard], policy) == [[[*BODIES[row], 0] for row in kept]]
    with pytest.raises(WorkFailed, match="web shard 3 are cut off"):
        TokenChunk.gather(encoded[:-1], first[kept], lengths[kept], names, **arguments)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(WorkFailed, match="not ids of 2 bytes"):
        open_encoded(str(path), policy)


def test_an_encoded_file_without_ids_is_empty(tmp_path: Path) -> None:
    (tmp_path / "00000.tokens").touch()
    assert len(open_encoded(str(tmp_path / "00000.tokens"), _policy())) == 0


def test_remote_shards_are_read_too(tmp_path: Path) -> None:
    policy = _policy()
    root = f"memory://{tmp_path.name}"
    shard = write_token_shard(root, KEY, CELL, 0, policy, [_chunk(BODIES, policy)])
    write_manifest(root, KEY, policy, {CELL: [shard]})
    ids = open_tokens(root, read_manifest(root, KEY), CELL, 0)
    assert ids.tolist() == [i for body in BODIES for i in [*body, 0]]
