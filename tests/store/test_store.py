"""Files appear whole or not at all; only a receipt whose files are unchanged proves a task done."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tonnage.errors import WorkFailed
from tonnage.store.documents import read_row_groups, read_table, writing_parquet
from tonnage.store.files import file_fact, open_input, read_bytes, remove_partials, unchanged, write_bytes, writing
from tonnage.store.receipts import Receipt, examine, find_receipt, read_manifest, write_manifest, write_receipt

KEY = "0" * 16
TEXTS = pa.schema([pa.field("text", pa.large_string(), nullable=False)])


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "deep" / "file")
    with pytest.raises(RuntimeError), writing(url) as stream:
        stream.write(b"half")
        raise RuntimeError("broken off")
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_write_that_breaks_off_leaves_the_file_before_it(tmp_path: Path) -> None:
    url = str(tmp_path / "file")
    write_bytes(url, b"old")
    with pytest.raises(RuntimeError), writing(url) as stream:
        stream.write(b"new")
        raise RuntimeError("broken off")
    assert read_bytes(url) == b"old"


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    write_bytes(str(tmp_path / "whole"), b"x")
    (tmp_path / "cut.partial-abc").write_bytes(b"y")
    assert remove_partials(str(tmp_path)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_object_stores_get_the_file_whole(tmp_path: Path) -> None:
    write_bytes("memory://store-test/a", b"abc")
    assert read_bytes("memory://store-test/a") == b"abc"


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match="cannot be read"):
        open_input(str(tmp_path / "absent"))


def receipt_of(root: Path, name: str = "file") -> Receipt:
    write_bytes(str(root / name), b"0123456789")
    return write_receipt(
        str(root), Receipt("step", KEY, "web/00000", (file_fact(str(root), name, 3),), {"n": 1}, 0.5, "in")
    )


def test_a_receipt_proves_its_task_for_the_same_input_only(tmp_path: Path) -> None:
    receipt = receipt_of(tmp_path)
    assert find_receipt(str(tmp_path), "step", KEY, "web/00000", inputs="in") == receipt
    assert examine(str(tmp_path), "step", KEY, "web/00000", inputs="other").reason == "its input changed"
    assert find_receipt(str(tmp_path), "step", "f" * 16, "web/00000", inputs="in") is None


@pytest.mark.parametrize("damage", ["cut", "changed", "deleted", "receipt"])
def test_damage_under_a_receipt_is_found(tmp_path: Path, damage: str) -> None:
    receipt_of(tmp_path)
    path = tmp_path / "file"
    if damage == "cut":
        path.write_bytes(b"012345678")
    elif damage == "changed":
        path.write_bytes(b"0123456780")
    elif damage == "deleted":
        path.unlink()
    else:
        next((tmp_path / "receipts").rglob("*.json")).write_bytes(b"{")
    finding = examine(str(tmp_path), "step", KEY, "web/00000", inputs="in")
    assert finding.receipt is None
    assert finding.reason


def test_a_touched_file_with_the_same_content_is_unchanged(tmp_path: Path) -> None:
    receipt = receipt_of(tmp_path)
    (tmp_path / "file").write_bytes(b"0123456789")
    assert unchanged(str(tmp_path), receipt.files[0])


def test_a_manifest_keeps_what_the_key_was_made_from(tmp_path: Path) -> None:
    write_manifest(str(tmp_path), "step", KEY, {"version": 1}, [receipt_of(tmp_path)])
    manifest = read_manifest(str(tmp_path), "step", KEY)
    assert manifest is not None
    assert manifest["material"] == {"version": 1}
    assert manifest["tasks"][0]["files"][0]["rows"] == 3
    assert read_manifest(str(tmp_path), "other", KEY) is None


def batches(texts: list[str], size: int) -> list[pa.RecordBatch]:
    return pa.table({"text": pa.array(texts, pa.large_string())}, schema=TEXTS).to_batches(max_chunksize=size)


def write(url: str, texts: list[str], size: int, limit: int) -> None:
    with writing_parquet(url, TEXTS, text_column="text", row_group_bytes=limit) as writer:
        for batch in batches(texts, size):
            writer.write(batch)


def test_row_groups_are_cut_by_bytes_and_do_not_depend_on_batches(tmp_path: Path) -> None:
    texts = ["x" * (index % 50) for index in range(1000)]
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    write(first, texts, 7, 1000)
    write(second, texts, 400, 1000)
    assert read_bytes(first) == read_bytes(second)
    sizes = [sum(len(text) for text in batch.column("text").to_pylist()) for batch in read_row_groups(first)]
    assert all(1000 <= size < 1050 for size in sizes[:-1])
    assert [text for batch in read_row_groups(first) for text in batch.column("text").to_pylist()] == texts
    assert pq.read_schema(first).field("text").type == pa.large_string()


def test_no_rows_at_all_is_a_readable_file(tmp_path: Path) -> None:
    url = str(tmp_path / "a")
    write(url, [], 1, 1000)
    assert len(read_table(url)) == 0


def test_a_damaged_file_is_named_with_the_mend(tmp_path: Path) -> None:
    url = str(tmp_path / "a")
    write_bytes(url, b"PAR1 not really")
    with pytest.raises(WorkFailed, match="is damaged"):
        read_table(url)
