"""Text files: every charset, recorded; what no charset explains is rejected."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest
from support.raw_sources import PACKERS, Found, read_file, spec_for

from tonnage.errors import UsageError
from tonnage.sources.spec import spec_of

GERMAN = "Grüße aus München, schöne Straßen und Äpfel. " * 5
RUSSIAN = "Привет, мир. Как дела сегодня? Хорошо, спасибо. " * 5
JAPANESE = "日本語のテキストです。これは文字コードの判定に使います。" * 5


def text(tmp_path: Path, content: bytes, **options) -> Found:
    return read_file("text", tmp_path / "a.txt", content, **options)


@pytest.mark.parametrize(
    ("content", "encoding", "found_by", "expected"),
    [
        (GERMAN.encode(), "utf-8", "utf-8", GERMAN),
        (codecs.BOM_UTF8 + GERMAN.encode(), "utf-8", "bom", GERMAN),
        (codecs.BOM_UTF16_LE + GERMAN.encode("utf-16-le"), "utf-16-le", "bom", GERMAN),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), "utf-16-be", "bom", GERMAN),
        (codecs.BOM_UTF32_LE + GERMAN.encode("utf-32-le"), "utf-32-le", "bom", GERMAN),
        (GERMAN.encode("latin-1"), "cp1252", "detected", GERMAN),
        (RUSSIAN.encode("cp1251"), "cp1251", "detected", RUSSIAN),
        (RUSSIAN.encode("koi8-r"), "koi8-r", "detected", RUSSIAN),
        (JAPANESE.encode("shift_jis"), "shift_jis", "detected", JAPANESE),
        (JAPANESE.encode("euc-jp"), "euc_jp", "detected", JAPANESE),
        (b"a\0b", "utf-8", "utf-8", "a\0b"),
    ],
)
def test_charsets(content: bytes, encoding: str, found_by: str, expected: str, tmp_path: Path) -> None:
    (document,) = text(tmp_path, content).documents
    assert document["text"] == expected
    assert json.loads(document["metadata"]) == {"encoding": encoding, "encoding_from": found_by}
    assert (document["position"], document["license"]) == (0, "unknown")


def test_the_recipes_charset_comes_first_and_what_it_lacks_is_counted(tmp_path: Path) -> None:
    (document,) = text(tmp_path, "naïve".encode(), encoding="latin-1").documents
    assert document["text"] == "naÃ¯ve"
    found = text(tmp_path, "naïve".encode("latin-1"), encoding="utf-8")
    assert found.texts == ["na\ufffdve"] and found.counts["undecoded_characters"] == 1
    (document,) = text(tmp_path, codecs.BOM_UTF8 + b"a", encoding="UTF8").documents
    assert document["text"] == "a" and json.loads(document["metadata"])["encoding_from"] == "recipe"


@pytest.mark.parametrize("encoding", ["no-such-charset", "base64"])
def test_a_charset_that_does_not_exist_is_refused(encoding: str) -> None:
    with pytest.raises(UsageError, match=r"sources\.books\.encoding"):
        spec_of("books", spec_for("text", "x", encoding=encoding))


def test_a_binary_file_is_rejected(tmp_path: Path) -> None:
    found = text(tmp_path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    assert found.reasons == [(0, "binary")] and found.counts["not_text"] == 0


def test_packed_empty_and_too_large_files(tmp_path: Path) -> None:
    for ending, pack in PACKERS.items():
        assert read_file("text", tmp_path / f"a.txt{ending}", pack(b"hello")).texts == ["hello"]
        found = read_file("text", tmp_path / f"a.txt{ending}", pack(b"x" * 2_000_000), max_document_bytes=1000)
        assert found.reasons == [(0, "too-large")] and found.rejects[0]["raw"] == b"x" * 4096
        assert read_file("text", tmp_path / f"a.txt{ending}", pack(b"")).counts["empty_files"] == 1
    assert text(tmp_path, b"").counts == {"rows": 0, "documents": 0, "rejects": 0, "empty_files": 1}
    assert text(tmp_path, b" \n").texts == [" \n"]
    assert text(tmp_path, b"x" * 1000, max_document_bytes=1000).counts["documents"] == 1
    assert text(tmp_path, b"x" * 1001, max_document_bytes=1000).reasons == [(0, "too-large")]
