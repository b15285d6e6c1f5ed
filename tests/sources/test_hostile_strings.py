"""T3: eight lines of strings that break readers; the same records by every path, and after a trip through Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.raw_sources import PACKERS, Found, read, read_file, spec_for

LONG_ID = "1234567890123456789012345678901234"
LINES = [
    '{"text": "a\u2028b", "id": "separator"}',
    '{"text": "a\u0085b", "id": "next-line"}',
    '{"text": "a\\u0000b", "id": "nul"}',
    '{"text": "a\\ud83db", "id": "high"}',
    '{"text": "a\\ude00b", "id": "low"}',
    '{"text": "a\\ud83d\\ude00b", "id": "pair"}',
    f'{{"text": "long id", "id": {LONG_ID}}}',
    '{"text": "not a number", "id": "nan", "score": NaN}',
]
TEXTS = ["a\u2028b", "a\u0085b", "a\0b", "a\ufffdb", "a\ufffdb", "a\U0001f600b", "long id", "not a number"]
IDS = ["separator", "next-line", "nul", "high", "low", "pair", LONG_ID, "nan"]
CONTENT = "".join(line + "\n" for line in LINES).encode()


def check(found: Found) -> None:
    assert found.rejects == []
    assert found.texts == TEXTS
    assert [document["source_id"] for document in found.documents] == IDS
    assert [document["metadata"] for document in found.documents] == [None] * 7 + ['{"score":"NaN"}']


def test_eight_records(tmp_path: Path) -> None:
    found = read_file("jsonl", tmp_path / "a.jsonl", CONTENT)
    check(found)
    assert [document["position"] for document in found.documents] == list(range(1, 9))
    assert found.counts["replaced_surrogates"] == 2
    assert found.counts["non_finite_numbers"] == 1


@pytest.mark.parametrize("ending", PACKERS)
def test_the_same_by_every_container(ending: str, tmp_path: Path) -> None:
    check(read_file("jsonl", tmp_path / f"a.jsonl{ending}", PACKERS[ending](CONTENT)))


@pytest.mark.parametrize("task_bytes", [20, 64, 100])
def test_the_same_by_ranges(task_bytes: int, tmp_path: Path) -> None:
    found = read_file("jsonl", tmp_path / "a.jsonl", CONTENT, task_bytes=task_bytes)
    check(found)
    assert [document["position"] for document in found.documents] == list(range(1, 9))


def test_the_same_from_parquet(tmp_path: Path) -> None:
    table = pa.table({"text": TEXTS, "id": IDS, "score": [None] * 7 + [float("nan")]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read(spec_for("parquet", tmp_path / "a.parquet"))
    assert (found.texts, [document["source_id"] for document in found.documents]) == (TEXTS, IDS)
    assert found.documents[7]["metadata"] == '{"score":"NaN"}'
    assert found.counts["non_finite_numbers"] == 1


def test_the_same_after_jsonl_to_parquet_to_jsonl(tmp_path: Path) -> None:
    first = read_file("jsonl", tmp_path / "a.jsonl", CONTENT)
    pq.write_table(pa.Table.from_pylist(first.documents), tmp_path / "b.parquet")
    second = read(spec_for("parquet", tmp_path / "b.parquet", id="source_id"))
    rows = [
        {"text": document["text"], "id": document["source_id"], **json.loads(kept["metadata"] or "{}")}
        for document, kept in zip(second.documents, first.documents, strict=True)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    third = read_file("jsonl", tmp_path / "c.jsonl", lines.encode())
    check(third)
    ids = [document["id"] for document in first.documents]
    assert ids == [document["id"] for document in second.documents] == [document["id"] for document in third.documents]


def test_halves_in_names_and_other_fields_are_replaced_too(tmp_path: Path) -> None:
    line = b'{"text":"a","k\\ud800":["\\udfff",{"x":"\\ud83d\\ude00"}],"k\\udbff":1}'
    found = read_file("jsonl", tmp_path / "a.jsonl", line)
    assert found.documents[0]["metadata"] == '{"k\ufffd":["\ufffd",{"x":"\U0001f600"}],"k\ufffd":1}'
    assert found.counts["replaced_surrogates"] == 3
