"""Parquet: any column types, any string type as text, row groups by ranges, damage found before a row."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.raw_sources import Found, read, spec_for

from tonnage.errors import WorkFailed
from tonnage.sources import read_task
from tonnage.sources.listing import list_files, plan_tasks


def parquet(tmp_path: Path, table: pa.Table, options: dict[str, Any] | None = None, **writing: Any) -> Found:
    pq.write_table(table, tmp_path / "a.parquet", **writing)
    return read(spec_for("parquet", tmp_path / "a.parquet", **(options or {})))


def only_metadata(found: Found) -> Any:
    (document,) = found.documents
    return json.loads(document["metadata"])


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]
)
def test_text_of_any_string_type_with_nulls_rejected(kind: pa.DataType, tmp_path: Path) -> None:
    texts = pa.array(["Grüße", None, "", "日本"], pa.string()).cast(kind)
    found = parquet(tmp_path, pa.table({"text": texts, "id": [1, 2, 3, 4]}))
    assert [(document["position"], document["text"]) for document in found.documents] == [
        (0, "Grüße"),
        (2, ""),
        (3, "日本"),
    ]
    assert found.reasons == [(1, "no-text")] and json.loads(found.rejects[0]["raw"]) == {"id": 2, "text": None}


def test_bytes_that_are_no_utf8_are_rejected_as_they_are(tmp_path: Path) -> None:
    found = parquet(tmp_path, pa.table({"text": pa.array([b"good", b"\xff\xfe bad"], pa.binary())}))
    assert found.texts == ["good"]
    assert found.reasons == [(1, "invalid-utf8")] and found.rejects[0]["raw"] == b"\xff\xfe bad"


def test_unchecked_strings_of_a_careless_writer_are_rejected_alone(tmp_path: Path) -> None:
    careless = pa.array([b"good", b"\xff\xfe bad"], pa.binary()).view(pa.string())
    found = parquet(tmp_path, pa.table({"text": careless}))
    assert found.texts == ["good"] and found.reasons == [(1, "invalid-utf8")]


def test_nested_text_and_a_column_named_metadata(tmp_path: Path) -> None:
    rows = [{"doc": {"body": "a", "n": 1}, "metadata": "a string"}, {"doc": None, "metadata": "b"}]
    found = parquet(tmp_path, pa.Table.from_pylist(rows), {"text": "doc.body"})
    assert found.texts == ["a"] and found.reasons == [(1, "no-text")]
    assert only_metadata(found) == {"doc": {"n": 1}, "metadata": "a string"}


VALUES = [
    (pa.array([datetime.datetime(2024, 1, 2, 3, 4, 5, 600000)], pa.timestamp("us")), "2024-01-02T03:04:05.6"),
    (pa.array([1704164645], pa.timestamp("s", tz="Europe/Berlin")), "2024-01-02T03:04:05Z"),
    (pa.array([1704164645000000001], pa.timestamp("ns", tz="UTC")), "2024-01-02T03:04:05.000000001Z"),
    (pa.array([datetime.date(1969, 12, 31)], pa.date32()), "1969-12-31"),
    (pa.array([datetime.time(1, 2, 3, 400)], pa.time64("us")), "01:02:03.0004"),
    (pa.array([3723], pa.time32("s")), "01:02:03"),
    (pa.array([-1500], pa.duration("ms")), "-PT1.5S"),
    (pa.array([Decimal("12345678901234567890.10")], pa.decimal128(38, 2)), "12345678901234567890.10"),
    (pa.array([2**64 - 1], pa.uint64()), 2**64 - 1),
    (pa.array([float("inf")], pa.float64()), "Infinity"),
    (pa.array([0.1], pa.float32()), 0.10000000149011612),
    (pa.array([1.5], pa.float16()), 1.5),
    (pa.array([b"text"], pa.binary()), "text"),
    (pa.array([b"\xff\x00"], pa.binary()), "base64:/wA="),
    (pa.array(["a"]).dictionary_encode(), "a"),
    (pa.array([[("k", 1), ("l", None)]], pa.map_(pa.string(), pa.int32())), {"k": 1, "l": None}),
    (pa.array([[(1, "a")]], pa.map_(pa.int32(), pa.string())), [[1, "a"]]),
    (pa.array([[[1], None, []]], pa.list_(pa.list_(pa.int8()))), [[1], None, []]),
    (pa.array([[1, 2]], pa.list_(pa.int32(), 2)), [1, 2]),
    (pa.array([{"when": datetime.date(2024, 1, 2), "x": [float("nan")]}]), {"when": "2024-01-02", "x": ["NaN"]}),
    (pa.array([None], pa.struct([("a", pa.int32())])), None),
    (pa.nulls(1), None),
]


@pytest.mark.parametrize(("column", "expected"), VALUES, ids=[str(column.type) for column, _ in VALUES])
def test_values_of_other_columns(column: pa.Array, expected: Any, tmp_path: Path) -> None:
    found = parquet(tmp_path, pa.table({"text": ["a"], "value": column}))
    assert only_metadata(found) == {"value": expected}


def test_lists_of_sliced_and_null_rows(tmp_path: Path) -> None:
    lists = [[1, 2], None, [], [3]]
    found = parquet(tmp_path, pa.table({"text": ["a"] * 4, "value": lists}))
    assert [json.loads(document["metadata"])["value"] for document in found.documents] == lists


def test_columns_of_one_name_keep_all_values(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["text", "n", "n"])
    found = parquet(tmp_path, table)
    assert found.documents[0]["metadata"] == '{"n":1,"n":2}'


def test_a_timestamp_column_becomes_the_documents_date(tmp_path: Path) -> None:
    found = parquet(tmp_path, pa.table({"text": ["a"], "timestamp": pa.array([0], pa.timestamp("s"))}))
    assert found.documents[0]["timestamp"] == "1970-01-01T00:00:00"


@pytest.mark.parametrize("task_bytes", [1 << 30, 20_000, 3000])
def test_row_groups_are_read_once_each_however_a_file_is_cut(task_bytes: int, tmp_path: Path) -> None:
    table = pa.table({"text": [f"row {n} {n * 2654435761 % 2**32:x}" for n in range(5000)]})
    found = parquet(tmp_path, table, {"task_bytes": task_bytes}, row_group_size=300)
    assert found.texts == table.column("text").to_pylist()
    assert [document["position"] for document in found.documents] == list(range(5000))


def test_batches_of_wide_rows_are_small(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * 3_000_000] * 12}), path, compression="zstd")
    spec = spec_for("parquet", path)
    (task,) = plan_tasks(spec, list_files(spec).files)
    rows = [batch.documents.num_rows for batch in read_task(spec, task)]
    assert sum(rows) == 12 and max(rows) <= 4


def test_a_text_over_the_limit_is_rejected(tmp_path: Path) -> None:
    found = parquet(tmp_path, pa.table({"text": ["日" * 100, "a" * 300, "a" * 299]}), {"max_document_bytes": 299})
    assert found.texts == ["a" * 299]
    assert found.reasons == [(0, "too-large"), (1, "too-large")]


def test_files_without_rows(tmp_path: Path) -> None:
    found = parquet(tmp_path, pa.table({"text": pa.array([], pa.string())}))
    assert found.counts["silent_files"] == 1 and found.reasons == [(0, "no-records")]
    (tmp_path / "a.parquet").write_bytes(b"")
    assert read(spec_for("parquet", tmp_path / "a.parquet")).counts["rows"] == 0


def written(path: Path, rows: int = 4000) -> list[str]:
    texts = [np.random.default_rng(n).bytes(40).hex() for n in range(rows)]
    table = pa.table({"text": texts, "id": list(range(rows))})
    pq.write_table(table, path, row_group_size=500, compression="zstd", use_dictionary=False, write_page_checksum=False)
    return texts


@pytest.mark.parametrize("task_bytes", [1 << 30, 60_000])
def test_a_damaged_row_group_makes_the_file_damaged_in_every_task(task_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = written(path)
    content = bytearray(path.read_bytes())
    place = pq.ParquetFile(path).metadata.row_group(5).column(0).data_page_offset
    content[place : place + 2000] = b"\xaa" * 2000
    path.write_bytes(content)
    skipped = read(spec_for("parquet", path, task_bytes=task_bytes))
    assert skipped.documents == [] and skipped.reasons == [(-1, "damaged-container")]
    assert "after 2,500 whole records" in skipped.rejects[0]["detail"] and skipped.counts["damaged_files"] == 1
    kept = read(spec_for("parquet", path, task_bytes=task_bytes, on_damaged="keep-prefix"))
    assert kept.texts == texts[:2500] and kept.counts["damaged_files"] == 1
    with pytest.raises(WorkFailed, match=r"a\.parquet is damaged"):
        read(spec_for("parquet", path, task_bytes=task_bytes, on_damaged="fail"))


@pytest.mark.parametrize("policy", ["skip-file", "keep-prefix"])
def test_files_that_are_no_parquet_are_damaged(policy: str, tmp_path: Path) -> None:
    written(tmp_path / "good.parquet", 1000)
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-200])
    (tmp_path / "text.parquet").write_bytes(b'{"text": "a"}\n' * 100)
    found = read(spec_for("parquet", tmp_path / "*.parquet", on_damaged=policy))
    assert found.counts["documents"] == 1000
    assert sorted(reject["file"] for reject in found.rejects) == ["cut.parquet", "text.parquet"]
