"""T2: fields whose types drift over 3,000 rows. No value is lost, and the order of rows changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support.raw_sources import read, read_file, spec_for

from tonnage.store.schema import DOCUMENTS


def row(n: int) -> dict[str, Any]:
    meta: Any = {"url": None, "tags": []} if n < 2000 else {"url": f"http://host/{n}", "tags": []}
    if n == 2600:
        meta = "a string"
    if n == 2700:
        meta = {}
    return {"id": n, "text": f"text {n}", "meta": meta, "score": "n/a" if n >= 2500 else n}


ROWS = [row(n) for n in range(3000)]


def test_both_orders_give_the_same_rows_and_every_value(tmp_path: Path) -> None:
    lines = [json.dumps(each).encode() + b"\n" for each in ROWS]
    forward = read_file("jsonl", tmp_path / "a.jsonl", b"".join(lines))
    backward = read_file("jsonl", tmp_path / "b.jsonl", b"".join(reversed(lines)))
    assert forward.rejects == backward.rejects == []
    facts = [
        [{key: document[key] for key in ("id", "text", "source_id", "metadata")} for document in found.documents]
        for found in (forward, backward)
    ]
    assert facts[0] == facts[1][::-1]
    for document, original in zip(forward.documents, ROWS, strict=True):
        assert document["source_id"] == str(original["id"])
        assert json.loads(document["metadata"]) == {"meta": original["meta"], "score": original["score"]}


def test_the_documents_open_as_parquet_and_make_the_round_trip(tmp_path: Path) -> None:
    content = b"".join(json.dumps(each).encode() + b"\n" for each in ROWS)
    first = read_file("jsonl", tmp_path / "a.jsonl", content)
    pq.write_table(pa.Table.from_pylist(first.documents, DOCUMENTS), tmp_path / "b.parquet")
    second = read(spec_for("parquet", tmp_path / "b.parquet", id="source_id"))
    rows = [
        {"id": document["source_id"], "text": document["text"], **json.loads(kept["metadata"])}
        for document, kept in zip(second.documents, first.documents, strict=True)
    ]
    third = read_file("jsonl", tmp_path / "c.jsonl", b"".join(json.dumps(each).encode() + b"\n" for each in rows))
    for key in ("id", "text", "source_id", "metadata"):
        assert [document[key] for document in third.documents] == [document[key] for document in first.documents]


def test_parquet_gives_the_same_metadata_as_jsonl_for_rows_that_it_can_hold(tmp_path: Path) -> None:
    rows = [
        {
            "id": n,
            "text": f"text {n}",
            "meta": {"url": None if n % 2 else f"http://host/{n}", "tags": [f"t{n}"] * (n % 3), "deep": [{"n": n / 7}]},
            "ok": n % 2 == 0,
            "none": None,
        }
        for n in range(100)
    ]
    by_lines = read_file("jsonl", tmp_path / "a.jsonl", "".join(json.dumps(each) + "\n" for each in rows).encode())
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    by_columns = read(spec_for("parquet", tmp_path / "a.parquet"))
    for key in ("id", "text", "source_id", "metadata"):
        assert [document[key] for document in by_columns.documents] == [
            document[key] for document in by_lines.documents
        ]
