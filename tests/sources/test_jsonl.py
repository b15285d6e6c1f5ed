"""JSON Lines: what is a row, what becomes of its fields, what is rejected and with which words."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
import xxhash
from support.raw_sources import Found, read, read_file, spec_for

from tonnage.errors import UsageError
from tonnage.sources import read_task
from tonnage.sources.listing import list_files, plan_tasks
from tonnage.sources.spec import spec_of


def jsonl(tmp_path: Path, content: bytes | str, **options) -> Found:
    raw = content.encode() if isinstance(content, str) else content
    return read_file("jsonl", tmp_path / "a.jsonl", raw, **options)


def test_a_row_becomes_a_document_with_its_own_columns_and_the_rest_as_json(tmp_path: Path) -> None:
    row = {"text": "Grüße", "id": 7, "url": "http://a/b", "timestamp": "2024-01-02", "z": [1, {"b": None, "a": 2.50}]}
    found = jsonl(tmp_path, json.dumps(row) + "\n")
    assert found.documents == [
        {
            "id": xxhash.xxh3_128_hexdigest("Grüße".encode()),
            "text": "Grüße",
            "source_id": "7",
            "url": "http://a/b",
            "license": "unknown",
            "timestamp": "2024-01-02",
            "code_language": None,
            "file": "a.jsonl",
            "position": 1,
            "metadata": '{"z":[1,{"a":2.5,"b":null}]}',
        }
    ]
    assert found.counts == {"rows": 1, "documents": 1, "rejects": 0}


def test_marks_line_ends_and_blank_lines_are_tolerated_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    bom = b"\xef\xbb\xbf"
    content = bom + b'{"text":"a"}\r\n\r\n   \n{"text":"b"}\n\n' + bom + b'{"text":"c"}'
    found = jsonl(tmp_path, content)
    assert [(document["position"], document["text"]) for document in found.documents] == [(1, "a"), (4, "b"), (6, "c")]
    assert found.counts["rows"] == 3


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (b'{"text": "a', "bad-json", "string"),
        (b"nonsense", "bad-json", ""),
        (b'{"text": "a"} {"text": "b"}', "bad-json", ""),
        (b'{"text": "a\x00b"}', "bad-json", "control character"),
        (b'["text"]', "not-an-object", ""),
        (b'"text"', "not-an-object", ""),
        (b"12345678901234567890123", "not-an-object", ""),
        (b'{"body": "a"}', "no-text", "text is missing"),
        (b'{"text": null}', "no-text", "text is null"),
        (b'{"text": 5}', "text-not-string", "a number"),
        (b'{"text": NaN}', "text-not-string", "a number"),
        (b'{"text": 12345678901234567890123}', "text-not-string", "a number"),
        (b'{"text": true}', "text-not-string", "a boolean"),
        (b'{"text": ["a"]}', "text-not-string", "an array"),
        (b'{"text": {"a": "b"}}', "text-not-string", "an object"),
        (b'{"text": "a", "text": "b"}', "repeated-field", "2 times"),
        (b'{"text": "\xff\xfe"}', "invalid-utf8", "at byte 10"),
        (b'{"text": "\xed\xa0\x80"}', "invalid-utf8", "at byte 10"),
        (b'{"text": "' + b"x" * 300 + b'"}', "too-large", "312 bytes"),
        (b'{"text": "a", "n": ' + b"[" * 120 + b"]" * 120 + b"}", "too-large", ""),
    ],
)
def test_bad_lines_are_rejected_with_place_reason_and_raw_bytes(
    line: bytes, reason: str, detail: str, tmp_path: Path
) -> None:
    before = b'{"text": "good"}\n'
    found = jsonl(tmp_path, before + line + b"\n" + before, max_document_bytes=250)
    assert found.texts == ["good", "good"]
    (reject,) = found.rejects
    assert (reject["position"], reject["offset"], reject["reason"]) == (2, len(before), reason)
    assert detail in reject["detail"]
    assert reject["raw"] == line
    assert found.counts[f"rejected_{reason.replace('-', '_')}"] == 1


def test_raw_bytes_of_a_reject_are_bounded(tmp_path: Path) -> None:
    found = jsonl(tmp_path, b'{"text": ' + b"7" * 100_000 + b"}\n")
    assert found.rejects[0]["raw"] == b'{"text": ' + b"7" * 4087


def test_a_line_over_the_limit_is_rejected_without_being_held(tmp_path: Path) -> None:
    long_line = b'{"text": "' + b"x" * (5 << 20) + b'"}'
    found = jsonl(tmp_path, b'{"text":"a"}\n' + long_line + b'\n{"text":"b"}\n', max_document_bytes=1 << 20)
    assert [(document["position"], document["text"]) for document in found.documents] == [(1, "a"), (3, "b")]
    (reject,) = found.rejects
    assert (reject["position"], reject["reason"], reject["offset"]) == (2, "too-large", 13)
    assert f"{len(long_line):,} bytes" in reject["detail"]
    assert reject["raw"] == long_line[:4096]


def test_deep_nesting_is_rejected_at_the_same_depth_always(tmp_path: Path) -> None:
    def nested(depth: int) -> str:
        return '{"text": "a", "n": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}\n"

    found = jsonl(tmp_path, nested(200) + nested(201) + nested(5000))
    assert len(found.documents) == 1 and found.documents[0]["metadata"] == '{"n":' + "[" * 199 + "]" * 199 + "}"
    assert found.reasons == [(2, "bad-json"), (3, "bad-json")]
    assert "nested 5000 deep" in found.rejects[1]["detail"]


def test_nothing_of_odd_values_is_lost(tmp_path: Path) -> None:
    long_number = "1" * 34
    line = (
        f'{{"text":"a","id":{long_number},"n":-{long_number},"max":18446744073709551615,"min":-9223372036854775808,'
        f'"b":1,"b":2,"inner":{{"b":1,"b":[NaN,-Infinity]}},"far":1e400,"a:b\\"":"\\":"}}\n'
    )
    found = jsonl(tmp_path, line)
    assert found.documents[0]["source_id"] == long_number
    assert found.documents[0]["metadata"] == (
        f'{{"a:b\\"":"\\":","b":1,"b":2,"far":1e400,"inner":{{"b":1,"b":["NaN","-Infinity"]}},'
        f'"max":18446744073709551615,"min":-9223372036854775808,"n":-{long_number}}}'
    )
    assert found.counts["non_finite_numbers"] == 2


def test_integers_of_thousands_of_digits_keep_them(tmp_path: Path) -> None:
    digits = "9" * 10_000
    found = jsonl(tmp_path, f'{{"text":"a","id":{digits}}}\n')
    assert found.documents[0]["source_id"] == digits


@pytest.mark.parametrize(
    ("value", "source_id", "metadata"),
    [
        ('"a-1"', "a-1", None),
        ("1.5", "1.5", None),
        ("null", None, None),
        ("true", None, '{"id":true}'),
        ("[1]", None, '{"id":[1]}'),
        ('{"a":1}', None, '{"id":{"a":1}}'),
    ],
)
def test_an_id_that_is_no_text_or_number_stays_in_the_metadata(value, source_id, metadata, tmp_path: Path) -> None:
    (document,) = jsonl(tmp_path, f'{{"text":"a","id":{value}}}\n').documents
    assert (document["source_id"], document["metadata"]) == (source_id, metadata)


def test_fields_may_be_nested_and_a_name_with_dots_comes_first(tmp_path: Path) -> None:
    options = {"text": "doc.body", "id": "doc.meta.id", "url": "doc.url"}
    found = jsonl(tmp_path, '{"doc":{"body":"a","meta":{"id":3,"k":1},"url":"u"}}\n', **options)
    (document,) = found.documents
    assert (document["text"], document["source_id"], document["url"]) == ("a", "3", "u")
    assert document["metadata"] == '{"doc":{"meta":{"k":1}}}'
    found = jsonl(tmp_path, '{"doc.body":"b","doc":{"body":"a"}}\n{"doc":"text"}\n', **options)
    assert found.texts == ["b"] and found.documents[0]["metadata"] == '{"doc":{"body":"a"}}'
    assert found.reasons == [(2, "no-text")]


def test_a_template_makes_text_of_several_fields(tmp_path: Path) -> None:
    options = {"template": "# {title}\n\n{page.body} {{x}}"}
    row = {"title": "T", "page": {"body": "B", "n": 1}, "text": "kept"}
    found = jsonl(tmp_path, json.dumps(row) + '\n{"title":"T"}\n{"title":3,"page":{"body":"B"}}\n', **options)
    assert found.texts == ["# T\n\nB {x}"]
    assert found.documents[0]["metadata"] == '{"page":{"n":1},"text":"kept"}'
    assert found.reasons == [(2, "no-text"), (3, "text-not-string")]
    assert "page.body is missing" in found.rejects[0]["detail"]


@pytest.mark.parametrize("template", ["no field", "{}", "{a!r}", "{a:>3}", "{a", "a}"])
def test_a_template_that_cannot_be_is_refused_before_any_work(template: str) -> None:
    source = SimpleNamespace(**asdict(spec_for("jsonl", "x", template=template)))
    with pytest.raises(UsageError, match=r"sources\.web\.template"):
        spec_of("web", source)


def test_licences_per_document_come_from_their_field(tmp_path: Path) -> None:
    content = '{"text":"a","lic":"MIT"}\n{"text":"b","lic":["MIT","ISC"]}\n{"text":"c"}\n{"text":"d","lic":[]}\n'
    found = jsonl(tmp_path, content, license="per-document", license_field="lic")
    assert [document["license"] for document in found.documents] == ["MIT", "MIT AND ISC", "unknown", "unknown"]
    assert [document["metadata"] for document in found.documents] == [None, None, None, '{"lic":[]}']
    found = jsonl(tmp_path, content, license="CC0-1.0", license_field="lic")
    assert {document["license"] for document in found.documents} == {"CC0-1.0"}
    assert found.documents[0]["metadata"] == '{"lic":"MIT"}'


def test_an_empty_file_has_no_row_and_one_without_records_is_told(tmp_path: Path) -> None:
    found = jsonl(tmp_path, b"")
    assert found.counts == {"rows": 0, "documents": 0, "rejects": 0, "empty_files": 1}
    found = jsonl(tmp_path, b"\n \r\n\n")
    assert found.counts["silent_files"] == 1 and found.reasons == [(0, "no-records")]


def test_a_cut_file_without_records_is_told_once(tmp_path: Path) -> None:
    found = jsonl(tmp_path, b"\n" * 1000, task_bytes=300)
    assert found.counts["silent_files"] == 1 and found.reasons == [(0, "no-records")]
    found = jsonl(tmp_path, b"\n" * 1000 + b'{"text":"a"}\n', task_bytes=300)
    assert found.counts["silent_files"] == 0
    assert [document["position"] for document in found.documents] == [1001]


def test_how_a_file_is_cut_into_tasks_changes_no_row(tmp_path: Path) -> None:
    lines = [json.dumps({"text": "x" * (n % 97), "id": n}) if n % 13 else "" for n in range(3000)]
    whole = jsonl(tmp_path, "\r\n".join(lines))
    for task_bytes in (1000, 7777, 50_000):
        cut = read(spec_for("jsonl", tmp_path / "a.jsonl", task_bytes=task_bytes))
        assert cut.documents == whole.documents


def test_a_packed_file_with_a_plain_name_is_read_once_though_it_was_planned_in_ranges(tmp_path: Path) -> None:
    rows = b"".join(b'{"text":"%d"}\n' % n for n in range(500))
    found = jsonl(tmp_path, gzip.compress(rows), task_bytes=300)
    assert found.texts == [str(n) for n in range(500)]


def test_white_space_runs_are_compacted_counted_and_the_id_is_of_the_result(tmp_path: Path) -> None:
    text = "word" + " " * 100_000 + "word\r\nend\r"
    (document,) = (found := jsonl(tmp_path, json.dumps({"text": text}))).documents
    assert document["text"] == "word" + " " * 128 + "word\nend\n"
    assert document["id"] == xxhash.xxh3_128_hexdigest(document["text"].encode())
    assert (found.counts["runs_cut"], found.counts["crlf"]) == (1, 2)


def test_batches_are_bounded_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = json.dumps({"text": "x" * 100_000}) + "\n"
    path.write_text(row * 300)
    spec = spec_for("jsonl", path)
    (task,) = plan_tasks(spec, list_files(spec).files)
    sizes = [batch.documents.num_rows * 100_000 for batch in read_task(spec, task)]
    assert sum(sizes) == 300 * 100_000 and max(sizes) <= (8 << 20) + 100_000
