"""The Megatron export, byte for byte, against the layout of megatron-core's IndexedDataset written out by hand."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.small_run import done
from support.small_tokens import policy, small_tokens

from tonnage.errors import UsageError
from tonnage.export import ExportInput, common, export_megatron
from tonnage.export.megatron import write_index
from tonnage.store.schema import TOKEN_DOCUMENTS
from tonnage.tokenize.writer import write_manifest


def test_an_index_is_its_specification_byte_for_byte(tmp_path: Path) -> None:
    write_index(str(tmp_path / "a.idx"), np.array([3, 0, 5]), np.array([0, 3, 3]), "uint16")
    expected = b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + b"\x08" + struct.pack("<QQ", 3, 4)
    expected += struct.pack("<3i", 3, 0, 5) + struct.pack("<3q", 0, 6, 6) + struct.pack("<4q", 0, 1, 2, 3)
    assert (tmp_path / "a.idx").read_bytes() == expected


def test_offsets_of_four_byte_ids_pass_two_to_the_31st(tmp_path: Path) -> None:
    # Beyond 2^31 bytes: the place where Megatron's own merger overflowed (issue 1672).
    write_index(str(tmp_path / "a.idx"), np.array([2**30, 2**30]), np.array([0, 2**30]), "uint32")
    content = (tmp_path / "a.idx").read_bytes()
    assert content[17] == 4 and len(content) == 42 + 20 * 2
    assert struct.unpack_from("<2q", content, 34 + 8) == (0, 2**32)


@pytest.mark.parametrize(("vocab_size", "code", "width"), [(500, 8, 2), (65_536, 8, 2), (65_537, 4, 4)])
def test_width_follows_the_vocabulary_and_the_index_says_which(
    tmp_path: Path, vocab_size: int, code: int, width: int
) -> None:
    key = small_tokens(tmp_path / "run", {"web": [10, 20]}, vocab_size)
    export_megatron(ExportInput(str(tmp_path / "run"), key), str(tmp_path / "out"))
    assert (tmp_path / "out/web/00000.idx").read_bytes()[17] == code
    assert (tmp_path / "out/web/00000.bin").stat().st_size == 30 * width


def test_a_vocabulary_beyond_int32_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write_manifest(str(tmp_path / "run"), "k", policy(2**31 + 1), {})
    with pytest.raises(UsageError, match=r"2\^31"):
        export_megatron(ExportInput(str(tmp_path / "run"), "k"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_token_files_are_links_to_the_run_and_hold_what_its_index_says(finished: Path, tmp_path: Path) -> None:
    out = finished / "linked"
    done(finished, "export", "runs/small", "--to", "megatron", "--out", "linked")
    found = sorted(out.glob("*/*.bin"))
    assert found
    for path in found:
        inner = path.relative_to(out)
        origin = next((finished / "runs/small").glob(f"tokens-*/{inner.with_suffix('.tokens')}"))
        assert os.path.samefile(path, origin)
        index = pq.read_table(origin.with_suffix("").with_suffix(".docs.parquet"))
        assert index.schema.equals(TOKEN_DOCUMENTS)
        content = path.with_suffix(".idx").read_bytes()
        lengths = np.frombuffer(content, "<i4", len(index), 34)
        assert lengths.tolist() == index.column("length").to_pylist()
        assert lengths.sum() * 2 == path.stat().st_size


def test_a_cells_weight_is_spread_over_its_shards_by_tokens_and_zeros_stay_out(tmp_path: Path) -> None:
    root = tmp_path / "run"
    key = small_tokens(root, {"code": [30, 30, 25], "web": [40], "idle": [10]})
    phases = [
        {"name": "one", "cells": {"code": {"sequences": 17}, "web": {"sequences": 3}, "idle": {"sequences": 0}}},
        {"name": "two", "cells": {"code": {"sequences": 0}, "web": {"sequences": 9}, "idle": {"sequences": 0}}},
    ]
    (root / "mixture.json").write_text(json.dumps({"phases": phases}), encoding="utf-8")
    export_megatron(ExportInput(str(root), key, mixture="mixture.json"), str(tmp_path / "out"))
    one = json.loads((tmp_path / "out/blend-one.json").read_text(encoding="utf-8"))
    assert set(one) == {"train", "valid", "test"} and one["valid"] is one["test"] is None
    weights, paths = [float(text) for text in one["train"][::2]], one["train"][1::2]
    assert paths == ["code/00000", "code/00001", "code/00002", "web/00000"]
    sums: Counter[str] = Counter()
    for weight, path in zip(weights, paths, strict=True):
        sums[path.split("/")[0]] += weight
        assert (tmp_path / "out" / f"{path}.idx").exists() and weight > 0
    assert sums == pytest.approx({"code": 17, "web": 3})
    assert weights[0] == pytest.approx(17 * 30 / 85)
    two = json.loads((tmp_path / "out/blend-two.json").read_text(encoding="utf-8"))
    assert two["train"] == ["9.0", "web/00000"]


def test_without_a_mixture_every_token_weighs_the_same(tmp_path: Path) -> None:
    key = small_tokens(tmp_path / "run", {"code": [30], "web": [10]})
    export_megatron(ExportInput(str(tmp_path / "run"), key), str(tmp_path / "out"))
    blend = json.loads((tmp_path / "out/blend.json").read_text(encoding="utf-8"))
    assert blend["train"] == ["30.0", "code/00000", "10.0", "web/00000"]


def test_a_later_export_takes_away_what_the_earlier_one_left(tmp_path: Path) -> None:
    root, out = tmp_path / "run", tmp_path / "out"
    export_megatron(ExportInput(str(root), small_tokens(root, {"code": [30, 30], "web": [10]})), str(out))
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    report = export_megatron(ExportInput(str(root), small_tokens(root, {"web": [12]})), str(out))
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert files == {*report.files, "notes.txt"}
    assert (out / "web/00000.bin").stat().st_size == 24


def test_a_stopped_export_is_made_anew_and_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    root, out = tmp_path / "run", tmp_path / "out"
    key = small_tokens(root, {"web": [10]})
    export_megatron(ExportInput(str(root), key), str(out))
    (out / "tonnage-export.json").rename(out / ".tonnage-export-started")
    export_megatron(ExportInput(str(root), key), str(out))
    assert (out / "tonnage-export.json").exists() and not (out / ".tonnage-export-started").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="no export"):
        export_megatron(ExportInput(str(root), key), str(tmp_path / "mine"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def interrupt(monkeypatch: pytest.MonkeyPatch, function: str, after: int) -> None:
    """Lets `function` of the shared export module be called `after` times, then stops the export there."""
    calls = iter(range(after))
    whole = getattr(common, function)

    def limited(*arguments: object) -> object:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(common, function, limited)


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("function", ["remove", "write_bytes"])
def test_an_export_stopped_anywhere_can_be_made_anew_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, after: int
) -> None:
    out = tmp_path / "out"
    sources = []
    for name, cells in (("first", {"web": [10], "code": [5]}), ("second", {"prose": [10]}), ("third", {"all": [9]})):
        sources.append(ExportInput(str(tmp_path / name), small_tokens(tmp_path / name, cells)))
    export_megatron(sources[0], str(out))
    with monkeypatch.context() as patch:
        interrupt(patch, function, after)
        with contextlib.suppress(KeyboardInterrupt):
            export_megatron(sources[1], str(out))
    export_megatron(sources[2], str(out))
    left = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert left == ["all/00000.bin", "all/00000.idx", "blend.json", "tonnage-export.json"]
