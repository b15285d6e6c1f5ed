"""HTML: main content as text, title and charset in the metadata, and pages that would break an extractor."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest
from support.raw_sources import Found, read_file

BODY = "<nav><a href=/>Home</a> <a href=/x>More</a></nav><main><h1>{0}</h1><p>{1}</p></main><footer>imprint</footer>"
WORDS = "Die schönen Straßen von München sind im Frühling voller Blüten und Menschen. "


def page(tmp_path: Path, content: bytes, **options) -> Found:
    return read_file("html", tmp_path / "a.html", content, **options)


def html(charset_element: str = "", text: str = WORDS * 4) -> str:
    head = f"<!doctype html><html><head>{charset_element}<title> Ein\n Titel &amp; mehr </title></head><body>"
    return head + BODY.format("Frühling", text) + "</body></html>"


def facts(found: Found) -> dict[str, str]:
    return json.loads(found.documents[0]["metadata"])


def test_the_main_content_is_the_text_and_the_title_is_kept(tmp_path: Path) -> None:
    found = page(tmp_path, html().encode())
    (text,) = found.texts
    assert "Frühling" in text and WORDS.strip() in text
    assert "imprint" not in text and "<" not in text
    assert facts(found) == {"encoding": "utf-8", "encoding_from": "utf-8", "title": "Ein Titel & mehr"}


@pytest.mark.parametrize(
    ("element", "encoded_as", "encoding", "found_by"),
    [
        ('<meta charset="iso-8859-1">', "cp1252", "cp1252", "declared"),
        ("<META content='text/html; CHARSET=windows-1252' http-equiv=Content-Type>", "cp1252", "cp1252", "declared"),
        ("<meta charset=utf-8>", "utf-8", "utf-8", "declared"),
        ("<meta charset=utf-16>", "utf-8", "utf-8", "declared"),
        ("<!-- <meta charset=koi8-r> -->", "utf-8", "utf-8", "utf-8"),
        ('<meta charset="no-such">', "utf-8", "utf-8", "utf-8"),
        ("", "cp1252", "cp1252", "detected"),
    ],
)
def test_charset_by_declaration_then_detection(element, encoded_as, encoding, found_by, tmp_path: Path) -> None:
    found = page(tmp_path, html(element).encode(encoded_as))
    assert "schönen Straßen" in found.texts[0]
    assert (facts(found)["encoding"], facts(found)["encoding_from"]) == (encoding, found_by)


def test_a_mark_comes_before_a_declaration_and_xml_declares_too(tmp_path: Path) -> None:
    found = page(tmp_path, codecs.BOM_UTF8 + html("<meta charset=koi8-r>").encode())
    assert facts(found)["encoding_from"] == "bom" and "schönen" in found.texts[0]
    found = page(tmp_path, b'<?xml version="1.0" encoding="iso-8859-15"?>' + html().encode("iso-8859-15"))
    assert facts(found)["encoding"] == "iso8859-15" and "schönen" in found.texts[0]
    found = page(tmp_path, html("<meta charset=koi8-r>").encode(), encoding="utf-8")
    assert facts(found)["encoding_from"] == "recipe" and "schönen" in found.texts[0]


def test_a_page_without_content_is_a_document_without_text(tmp_path: Path) -> None:
    for content in (b"<html></html>", b"<script>var a;</script>", b"   ", b"<p>"):
        found = page(tmp_path, content)
        assert [text.strip() for text in found.texts] == [""] and found.rejects == []
    assert page(tmp_path, b"").counts["rows"] == 0


@pytest.mark.parametrize("unclosed", [False, True])
def test_a_page_nested_beyond_measure_is_rejected_at_once(unclosed: bool, tmp_path: Path) -> None:
    content = "<div>" * 200_000 + "words" + ("" if unclosed else "</div>" * 200_000)
    found = page(tmp_path, content.encode())
    assert found.reasons == [(0, "extraction-failed")]
    assert "nested more than 1000 deep" in found.rejects[0]["detail"]
    assert len(found.rejects[0]["raw"]) == 4096


def test_many_elements_that_nothing_closes_are_not_deep(tmp_path: Path) -> None:
    rows = "".join(f"<p>paragraph number {n} <i>with words" for n in range(3000))
    found = page(tmp_path, f"<main><h1>List</h1>{rows}</main>".encode())
    assert "paragraph number 2999" in found.texts[0]


def test_whatever_an_extractor_raises_is_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args, **kwargs):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("tonnage.sources.html.extract_plain_text", broken)
    found = page(tmp_path, html().encode())
    assert found.reasons == [(0, "extraction-failed")]
    assert found.rejects[0]["detail"] == "RuntimeError: out of luck"


def test_blanks_that_extraction_leaves_are_compacted(tmp_path: Path) -> None:
    content = f"<main><pre>word{' ' * 500_000}word</pre><p>{WORDS * 3}</p></main>"
    found = page(tmp_path, content.encode())
    assert len(found.texts[0]) < 2000 and found.texts[0].count("word") == 2


def test_hostile_bytes_never_end_the_task(tmp_path: Path) -> None:
    for content in (b"<p>a\0b", b"<" * 100_000, b"&#xd800;&#0;<p>x", b"\xff\xfe<p>", b"<!--" * 1000, b"<a b='" * 999):
        found = page(tmp_path, content)
        assert found.counts["rows"] == 1
