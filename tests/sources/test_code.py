"""Trees of source code: language, charset, licence, and what is no text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from support.raw_sources import Found, read, read_file, spec_for

from tonnage.sources.languages import EXTENSION_LANGUAGES, guess, of_shebang

OBJECTIVE_C = """#import <Foundation/Foundation.h>

@interface Greeter : NSObject
@property (nonatomic, copy) NSString *name;
- (void)greet;
@end

@implementation Greeter
- (void)greet {
    NSLog(@"Hello, %@", self.name);
}
@end

int main(int argc, const char *argv[]) {
    @autoreleasepool {
        Greeter *greeter = [[Greeter alloc] init];
        greeter.name = @"world";
        [greeter greet];
    }
    return 0;
}
"""
MATLAB = """function [m, s] = statistics(x)
% STATISTICS mean and standard deviation of a vector
    n = length(x);
    m = sum(x) / n;
    s = sqrt(sum((x - m).^2) / n);
    if n < 2
        disp('too short');
    end
    for k = 1:n
        fprintf('%d: %f\\n', k, x(k));
    end
end
"""


def code(tmp_path: Path, name: str, content: bytes | str, **options) -> Found:
    raw = content.encode() if isinstance(content, str) else content
    return read_file("code", tmp_path / name, raw, **options)


def language(found: Found) -> tuple[str | None, str]:
    (document,) = found.documents
    return document["code_language"], json.loads(document["metadata"])["language_from"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.py", "python"),
        ("src/Main.JAVA", "java"),
        ("a.rs", "rust"),
        ("Makefile", "makefile"),
        ("Makefile.am", "makefile"),
        ("docker/Dockerfile", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("README", "text"),
        ("README.md", "markdown"),
        ("icon.svg", "svg"),
        ("data.json", "json"),
        ("x.tar", None),
        ("a.cc", "c++"),
        ("a.el.gz", "emacs lisp"),
        ("noname", None),
    ],
)
def test_names_that_say_the_language(name: str, expected: str | None) -> None:
    assert guess(name).language == expected


def test_there_are_many_extensions_and_none_is_unclear_and_clear_at_once() -> None:
    assert len(EXTENSION_LANGUAGES) > 300
    for extension in ("h", "m", "pl", "inc"):
        assert extension not in EXTENSION_LANGUAGES and guess(f"a.{extension}").language is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#!/bin/sh\n", "shell"),
        ("#!/usr/bin/env python3.11\n", "python"),
        ("#! /usr/bin/env -S LANG=C perl -w\n", "perl"),
        ("#!/usr/local/bin/node", "javascript"),
        ("#!/opt/unknown/thing\n", None),
        ("#!\n", None),
        ("# no", None),
    ],
)
def test_shebangs(line: str, expected: str | None) -> None:
    assert of_shebang(line) == expected


def test_content_decides_where_the_name_does_not(tmp_path: Path) -> None:
    assert language(code(tmp_path, "a/x.m", OBJECTIVE_C)) == ("objective-c", "magika")
    assert language(code(tmp_path, "b/x.m", MATLAB)) == ("matlab", "magika")
    assert language(code(tmp_path, "c/tool", "#!/usr/bin/env ruby\nputs 1\n")) == ("ruby", "shebang")
    assert language(code(tmp_path, "d/x.ts", "<?xml version='1.0'?><TS></TS>")) == ("xml", "name")
    assert language(code(tmp_path, "e/x.ts", "export const a: number = 1;\n")) == ("typescript", "name")
    assert language(code(tmp_path, "f/x.h", "x\n")) == ("c", "name")


def test_language_and_charset_are_recorded(tmp_path: Path) -> None:
    found = code(tmp_path, "a.py", "# coding: latin-1\nname = 'Grüße'\n".encode("latin-1"))
    (document,) = found.documents
    assert "Grüße" in document["text"] and document["code_language"] == "python"
    assert json.loads(document["metadata"]) == {
        "encoding": "iso8859-1",
        "encoding_from": "declared",
        "language_from": "name",
    }
    found = code(tmp_path, "b.c", "/* Übergrößenträger für Straßen */ int a;\n".encode("cp1252"))
    assert "Übergrößenträger" in found.texts[0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0\0", "not-text-binary"),
        (b"some text\0more text", "not-text-binary"),
        (bytes(range(1, 256)) * 4, "not-text-charset"),
        (gzip.compress(b"an archive", mtime=0), "not-text-binary"),
    ],
)
def test_files_without_text_are_rejected_but_are_no_fault(content: bytes, reason: str, tmp_path: Path) -> None:
    found = code(tmp_path, "thing.bin", content)
    assert found.reasons == [(0, reason)]
    assert found.counts["not_text"] == 1 and found.counts["damaged_files"] == 0
    assert found.rejects[0]["raw"] == content[:4096]


def test_packed_sources_are_read_and_archives_are_not(tmp_path: Path) -> None:
    assert code(tmp_path, "a/x.el.gz", gzip.compress(b"(message)")).texts == ["(message)"]
    cut = gzip.compress(b"(message)" * 100)[:-5]
    assert code(tmp_path, "b/x.el.gz", cut).reasons == [(-1, "damaged-container")]
    assert code(tmp_path, "c/fixture.gz", cut).reasons == [(0, "not-text-binary")]


def test_utf16_with_a_mark_is_text(tmp_path: Path) -> None:
    found = code(tmp_path, "a.rc.txt", "\ufeffSTRINGTABLE".encode("utf-16-le"))
    assert found.texts == ["STRINGTABLE"]


def test_a_tree_is_read_in_order_of_names_and_empty_files_are_no_rows(tmp_path: Path) -> None:
    for name in ("b/z.py", "b/__init__.py", "a.py", "b/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name.endswith("__init__.py") else f"# {name}\n")
    found = read(spec_for("code", tmp_path, license="MIT"))
    assert [document["file"] for document in found.documents] == ["a.py", "b/a.py", "b/z.py"]
    assert {document["license"] for document in found.documents} == {"MIT"}
    assert found.counts["empty_files"] == 1 and found.counts["rows"] == 3


def test_what_a_task_holds_changes_no_document(tmp_path: Path) -> None:
    for n in range(30):
        path = tmp_path / f"{n % 4}" / f"{n}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x = {n}\n" * n)
    (tmp_path / "1/LICENSE").write_text(
        "Permission is hereby granted, free of charge, to any person obtaining a copy of "
        "this software ... The above copyright notice and this permission notice shall be included in all copies or "
        "substantial portions of the Software."
    )
    whole = read(spec_for("code", tmp_path, license="per-document"))
    cut = read(spec_for("code", tmp_path, license="per-document", task_bytes=100))
    assert cut.documents == whole.documents
    assert {document["license"] for document in whole.documents} == {"unknown", "MIT"}


def test_the_standard_library_reads_as_python_under_its_licence() -> None:
    found = read(spec_for("code", "{stdlib}/email", license="per-document"))
    assert len(found.documents) > 10 and found.rejects == []
    assert {document["code_language"] for document in found.documents if document["file"].endswith(".py")} == {"python"}
    assert "message.py" in [document["file"] for document in found.documents]
