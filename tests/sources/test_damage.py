"""T1: damaged containers beside a good twin, under each policy. Nothing is lost or kept in silence."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from support.raw_sources import PACKERS, Found, read, spec_for

from tonnage.errors import WorkFailed

RECORDS = 1000


def lines() -> bytes:
    chance = random.Random(3)
    rows = [{"id": i, "text": f"record {i} " + f"{chance.getrandbits(800):0200x}"} for i in range(RECORDS)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    whole = lines()
    for ending, pack in PACKERS.items():
        (tmp_path / f"good.jsonl{ending}").write_bytes(pack(whole))
        (tmp_path / f"cut.jsonl{ending}").write_bytes(pack(whole)[:-200])
    (tmp_path / "garbage.jsonl.gz").write_bytes(random.Random(4).randbytes(5000))
    return tmp_path


def damaged(found: Found) -> dict[str, str]:
    assert all(reject["position"] == -1 and reject["reason"] == "damaged-container" for reject in found.rejects)
    return {reject["file"]: reject["detail"] for reject in found.rejects}


NAMES = {"cut.jsonl.gz", "cut.jsonl.zst", "cut.jsonl.bz2", "cut.jsonl.xz", "garbage.jsonl.gz"}


def whole_records(detail: str) -> int:
    found = re.search(r"after ([\d,]+) whole records", detail)
    assert found is not None
    return int(found.group(1).replace(",", ""))


def test_by_default_a_damaged_file_is_left_out_and_named_with_records_and_offset(folder: Path) -> None:
    found = read(spec_for("jsonl", folder))
    details = damaged(found)
    assert set(details) == NAMES
    assert {document["file"] for document in found.documents} == {f"good.jsonl{ending}" for ending in PACKERS}
    assert found.counts["documents"] == RECORDS * len(PACKERS)
    assert found.counts["damaged_files"] == len(NAMES)
    for name in NAMES - {"garbage.jsonl.gz"}:
        assert f"breaks off at byte {(folder / name).stat().st_size:,} of the file" in details[name]
    assert "at byte 0" in details["garbage.jsonl.gz"] and whole_records(details["garbage.jsonl.gz"]) == 0
    assert 900 < whole_records(details["cut.jsonl.gz"]) < RECORDS


def test_keep_prefix_keeps_the_whole_records_before_the_damage(folder: Path) -> None:
    found = read(spec_for("jsonl", folder, on_damaged="keep-prefix"))
    details = damaged(found)
    assert set(details) == NAMES and found.counts["damaged_files"] == len(NAMES)
    originals = [json.loads(line)["text"] for line in lines().splitlines()]
    for name in NAMES:
        texts = [document["text"] for document in found.documents if document["file"] == name]
        assert texts == originals[: len(texts)]
        assert len(texts) == whole_records(details[name]) < RECORDS


def test_both_policies_count_the_same_whole_records(folder: Path) -> None:
    skipped = damaged(read(spec_for("jsonl", folder)))
    kept = damaged(read(spec_for("jsonl", folder, on_damaged="keep-prefix")))
    assert {k: whole_records(v) for k, v in skipped.items()} == {k: whole_records(v) for k, v in kept.items()}


def test_fail_ends_the_work_with_the_files_name(folder: Path) -> None:
    with pytest.raises(WorkFailed, match=r"cut\.jsonl\.bz2 is damaged: .*breaks off"):
        read(spec_for("jsonl", folder, on_damaged="fail"))


def test_a_broken_end_that_happens_to_be_json_is_no_record(tmp_path: Path) -> None:
    """A last line without its LF may be cut anywhere when its container broke off, even where it still parses."""
    content = b'{"text": "one"}\n{"text": "two"}'
    (tmp_path / "a.jsonl.gz").write_bytes(PACKERS[".gz"](content)[:-4])
    assert read(spec_for("jsonl", tmp_path, on_damaged="keep-prefix")).texts == ["one"]
    (tmp_path / "a.jsonl.gz").write_bytes(PACKERS[".gz"](content))
    assert read(spec_for("jsonl", tmp_path, on_damaged="keep-prefix")).texts == ["one", "two"]


@pytest.mark.parametrize("kind", ["text", "html"])
def test_a_damaged_file_of_one_document_is_one_reject(kind: str, tmp_path: Path) -> None:
    content = random.Random(1).randbytes(3000).hex().encode()
    (tmp_path / "a.txt.gz").write_bytes(PACKERS[".gz"](content)[:-20])
    (tmp_path / "b.txt.gz").write_bytes(PACKERS[".gz"](content))
    for policy in ("skip-file", "keep-prefix"):
        found = read(spec_for(kind, tmp_path, on_damaged=policy))
        assert [document["file"] for document in found.documents] == ["b.txt.gz"]
        assert damaged(found).keys() == {"a.txt.gz"}
    with pytest.raises(WorkFailed, match=r"a\.txt\.gz is damaged"):
        read(spec_for(kind, tmp_path, on_damaged="fail"))
