"""The checks find what is wrong, and name document, place and ids; what is right passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.small_tokenizers import BEGIN, CHAT, END, SENTENCES, changed, trained, with_added

from tonnage.errors import WorkFailed
from tonnage.store.layout import token_documents_path, tokens_path
from tonnage.tokenize.check import check_shard, compare_with_reference, decode_check
from tonnage.tokenize.engine import Encoder
from tonnage.tokenize.policy import TokenPolicy, resolve_policy
from tonnage.tokenize.writer import TokenChunk, read_manifest, write_manifest, write_token_shard

KEY, CELL = "0123456789abcdef", "web"
TEXTS = [*SENTENCES, f"A page about {END} and {CHAT}.", "", "E\u0301tude", "harbour " * 50]
NAMES = [f"{i:032x}" for i in range(len(TEXTS))]


def test_equal_ids_are_reported_as_equal() -> None:
    policy = resolve_policy(trained(), eos=END)
    encoded = Encoder(trained(), policy).encode(pa.array(TEXTS, pa.large_string()))
    comparison = compare_with_reference(trained(), policy, NAMES, TEXTS, encoded)
    assert (comparison.documents, comparison.tokens) == (len(TEXTS), len(encoded.ids))


def test_a_difference_is_named_with_document_position_and_both_ids() -> None:
    policy = resolve_policy(trained(), eos=END)
    encoded = Encoder(trained(), policy).encode(pa.array(TEXTS, pa.large_string()))
    at = int(encoded.offsets[3]) + 2
    ids = encoded.ids.copy()
    ids[at] = 7
    message = rf"document {NAMES[3]}, token 2: found 7, expected {encoded.ids[at]};"
    with pytest.raises(WorkFailed, match=message):
        compare_with_reference(trained(), policy, NAMES, TEXTS, encoded._replace(ids=ids))


def test_a_document_that_ends_too_early_is_a_difference() -> None:
    policy = resolve_policy(trained(), eos=END)
    encoded = Encoder(trained(), policy).encode(pa.array(["harbour master"], pa.large_string()))
    short = encoded._replace(offsets=np.array([0, len(encoded.ids) - 1]))
    last = len(encoded.ids) - 1
    with pytest.raises(WorkFailed, match=rf"document a, token {last}: found the end, expected {encoded.ids[last]}"):
        compare_with_reference(trained(), policy, ["a"], ["harbour master"], short)


@pytest.mark.parametrize("parse_markers", [False, True])
def test_the_reference_knows_both_ways_with_markers(parse_markers: bool) -> None:
    tokenizer = with_added(trained(), "<think>", "  ")
    text = [f"a  b <think> {END}"]
    policies = [resolve_policy(tokenizer, eos=END, parse_markers=flag) for flag in (parse_markers, not parse_markers)]
    encoded = Encoder(tokenizer, policies[0]).encode(pa.array(text, pa.large_string()))
    assert compare_with_reference(tokenizer, policies[0], ["a"], text, encoded).documents == 1
    with pytest.raises(WorkFailed, match="document a, token"):
        compare_with_reference(tokenizer, policies[1], ["a"], text, encoded)


def _texts(source: str, shard: int, rows: Sequence[int]) -> dict[int, str]:
    assert (source, shard) == ("web", 3)
    return {row: TEXTS[row] for row in rows}


def _packed(root: Path, tokenizer: bytes, **settings: object) -> TokenPolicy:
    """A shard of TEXTS with tokenizer and manifest."""
    policy = resolve_policy(tokenizer, **{"eos": END, "bos": BEGIN, **settings})
    encoded = Encoder(tokenizer, policy).encode(pa.array(TEXTS, pa.large_string()))
    chunk = TokenChunk(encoded.ids, encoded.offsets, NAMES, "web", 3, np.arange(len(TEXTS)))
    shard = write_token_shard(str(root), KEY, CELL, 0, policy, [chunk])
    write_manifest(str(root), KEY, policy, {CELL: [shard]})
    (root / "tokenizer.json").write_bytes(tokenizer)
    return policy


def _check_both(root: Path, policy: TokenPolicy, texts: Callable[..., dict[int, str]] = _texts) -> list[str]:
    """Faults found by the check after writing and by the later one, which must agree whether there are any."""
    later = check_shard(str(root), read_manifest(str(root), KEY), CELL, 0, str(root / "tokenizer.json"), texts, 20)
    try:
        decode_check(str(root), KEY, CELL, 0, "tokenizer.json", policy, texts, 20)
    except WorkFailed as fault:
        assert later
        return [str(fault), *later]
    assert not later
    return []


@pytest.mark.parametrize(
    "settings", [{}, {"bos": None}, {"eos": None}, {"bos": END}, {"eos": None, "bos": None}, {"parse_markers": True}]
)
def test_a_sound_shard_passes(tmp_path: Path, settings: dict[str, object]) -> None:
    assert _check_both(tmp_path, _packed(tmp_path, trained(), **settings)) == []


@pytest.mark.parametrize("count", [1, 2, 5])
def test_as_many_documents_are_compared_as_asked_for(tmp_path: Path, count: int) -> None:
    policy = _packed(tmp_path, trained())
    found = decode_check(str(tmp_path), KEY, CELL, 0, "tokenizer.json", policy, _texts, count)
    assert found.documents == count


def test_a_tokenizer_that_normalizes_passes(tmp_path: Path) -> None:
    """Decoded text differs from the document, its ids do not."""
    tokenizer = changed(trained(), normalizer={"type": "NFC"})
    assert _check_both(tmp_path, _packed(tmp_path, tokenizer)) == []


def _change_ids(root: Path, at: int, value: int) -> None:
    path = root / tokens_path(KEY, CELL, 0)
    ids = np.fromfile(path, "<u2")
    ids[at] = value
    ids.tofile(path)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 5, f"document {NAMES[0]} begins with id 5, declared is 1"),
        (-1, 5, f"document {NAMES[-1]} ends with id 5, declared is 0"),
        (2, 600, "id 600 is outside of the vocabulary of 600"),
        (2, 0, f"document {NAMES[0]} has the control id 0 inside of its text"),
        (2, 2, f"document {NAMES[0]} has the control id 2 inside of its text"),
        (2, 100, f"document {NAMES[0]}, token 1: found 100"),
    ],
)
def test_a_changed_id_is_found(tmp_path: Path, at: int, value: int, message: str) -> None:
    policy = _packed(tmp_path, trained())
    _change_ids(tmp_path, at, value)
    assert all(message in fault for fault in _check_both(tmp_path, policy))


def test_a_control_id_is_found_where_bos_would_be_if_there_were_any(tmp_path: Path) -> None:
    policy = _packed(tmp_path, trained(), bos=None)
    _change_ids(tmp_path, 0, 1)
    assert "has the control id 1" in _check_both(tmp_path, policy)[0]


def test_a_marker_that_is_ordinary_text_too_is_no_control_id(tmp_path: Path) -> None:
    content = json.loads(trained())
    content["added_tokens"].append({**content["added_tokens"][0], "content": "a", "id": content["model"]["vocab"]["a"]})
    assert _check_both(tmp_path, _packed(tmp_path, json.dumps(content).encode())) == []


def test_a_swapped_text_is_found(tmp_path: Path) -> None:
    policy = _packed(tmp_path, trained())
    swapped = {0: TEXTS[1], 1: TEXTS[0]}
    faults = _check_both(tmp_path, policy, lambda source, shard, rows: _texts(source, shard, rows) | swapped)
    assert f"document {NAMES[0]}, token 0" in faults[0]
    assert [NAMES[1] in fault for fault in faults[1:]] == [False, True]


def test_a_document_without_a_text_is_found(tmp_path: Path) -> None:
    policy = _packed(tmp_path, trained())
    faults = _check_both(tmp_path, policy, lambda source, shard, rows: {row: TEXTS[row] for row in rows if row != 4})
    assert f"document {NAMES[4]} has no text" in faults[0]


def test_an_index_that_leaves_tokens_out_is_found(tmp_path: Path) -> None:
    policy = _packed(tmp_path, trained())
    path = tmp_path / token_documents_path(KEY, CELL, 0)
    table = pq.read_table(path)
    shortened = pa.array([length - (i == 1) for i, length in enumerate(table.column("length").to_pylist())])
    pq.write_table(table.set_column(5, table.schema.field(5), shortened), path)
    assert all("do not follow one another" in fault for fault in _check_both(tmp_path, policy))
    pq.write_table(table.slice(1), path)
    faults = check_shard(str(tmp_path), read_manifest(str(tmp_path), KEY), CELL, 0, str(tmp_path / "t"), _texts, 20)
    assert faults


def test_counts_of_the_manifest_are_held_against_the_index(tmp_path: Path) -> None:
    policy = _packed(tmp_path, trained())
    manifest = read_manifest(str(tmp_path), KEY)
    claimed = replace(manifest.cells[CELL][0], documents=100)
    write_manifest(str(tmp_path), KEY, policy, {CELL: [claimed]})
    arguments = (CELL, 0, str(tmp_path / "tokenizer.json"), _texts, 20)
    assert check_shard(str(tmp_path), read_manifest(str(tmp_path), KEY), *arguments) == [
        "web shard 0: the index has 9 documents, the manifest 100"
    ]


def test_missing_and_cut_files_are_faults_and_no_crash(tmp_path: Path) -> None:
    _packed(tmp_path, trained())
    manifest = read_manifest(str(tmp_path), KEY)
    arguments = (str(tmp_path), manifest, CELL, 0, str(tmp_path / "tokenizer.json"), _texts, 20)
    path = tmp_path / tokens_path(KEY, CELL, 0)
    path.write_bytes(path.read_bytes()[:-2])
    assert "which are not" in check_shard(*arguments)[0]
    path.unlink()
    assert "is missing" in check_shard(*arguments)[0]
