"""Which files a source has, and the tasks they make: by name alone, never by the order of a file system."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.raw_sources import read, spec_for

from tonnage.errors import UsageError
from tonnage.sources.listing import InputFile, list_files, plan_tasks


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(kind: str, *paths: Path | str, **options) -> list[str]:
    return [file.name for file in list_files(spec_for(kind, *paths, **options)).files]


def test_globs(tmp_path: Path) -> None:
    tree(tmp_path, "a.jsonl", "b.txt", "x/a.jsonl", "x/y/c.jsonl", "x/y/[1].jsonl", ".hidden/a.jsonl", "x/.h.jsonl")
    assert names("jsonl", tmp_path / "*.jsonl") == ["a.jsonl"]
    assert names("jsonl", tmp_path / "**/*.jsonl") == ["a.jsonl", "x/a.jsonl", "x/y/[1].jsonl", "x/y/c.jsonl"]
    assert names("jsonl", tmp_path / "*/*.jsonl") == ["x/a.jsonl"]
    assert names("jsonl", tmp_path / "x/**") == ["a.jsonl", "y/[1].jsonl", "y/c.jsonl"]
    assert names("jsonl", tmp_path / "[!a].txt", tmp_path / "?.txt") == ["b.txt"]
    assert names("jsonl", tmp_path / "x/y/[a-c].jsonl") == ["c.jsonl"]
    assert names("jsonl", tmp_path / "x/y/[1].jsonl") == ["[1].jsonl"]
    assert names("jsonl", tmp_path / ".hidden/*") == ["a.jsonl"]
    assert names("jsonl", tmp_path / "x/.*.jsonl") == [".h.jsonl"]
    assert names("jsonl", tmp_path) == ["a.jsonl", "b.txt", "x/a.jsonl", "x/y/[1].jsonl", "x/y/c.jsonl"]


def test_names_are_relative_to_the_common_root_so_that_the_place_of_a_tree_does_not_matter(tmp_path: Path) -> None:
    for place in ("here", "elsewhere/deeper"):
        tree(tmp_path / place, "one/a.py", "two/b.py", "two/c.txt")
        root = tmp_path / place
        assert names("code", root) == ["one/a.py", "two/b.py", "two/c.txt"]
        assert names("code", root / "one", root / "two/*.py") == ["one/a.py", "two/b.py"]
        assert names("code", root / "two/b.py") == ["b.py"]


def test_a_file_that_two_patterns_match_is_one_file(tmp_path: Path) -> None:
    tree(tmp_path, "a.jsonl")
    assert names("jsonl", tmp_path / "*.jsonl", tmp_path / "a.*", tmp_path / "a.jsonl") == ["a.jsonl"]


def test_a_file_under_two_spellings_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "raw/a.jsonl", "raw/b.jsonl")
    monkeypatch.chdir(tmp_path)
    spellings = ["raw/a.jsonl", "./raw/a.jsonl", "raw/../raw/a.jsonl", str(tmp_path / "raw/*.jsonl")]
    for paths in (spellings, spellings[::-1]):
        files = list_files(spec_for("jsonl", *paths)).files
        assert sorted(Path(file.path).resolve().name for file in files) == ["a.jsonl", "b.jsonl"]
    assert names("jsonl", "./raw/a.jsonl", "raw/a.jsonl") == names("jsonl", "raw/a.jsonl", "./raw/a.jsonl")


def test_the_order_of_the_file_system_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, *(f"{folder}/{n}.txt" for folder in "bca" for n in (10, 9, 1)))
    expected = list_files(spec_for("text", tmp_path)).files
    real = os.scandir

    def backwards(path):
        return reversed(list(real(path)))

    monkeypatch.setattr("tonnage.sources.globs.os.scandir", backwards)
    assert list_files(spec_for("text", tmp_path)).files == expected


def test_excludes(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "test/b.py", "x/test/c.py", "x/y/d.py", "x/y/d_test.py")
    assert names("code", tmp_path, exclude=("test",)) == ["a.py", "x/y/d.py", "x/y/d_test.py"]
    assert names("code", tmp_path, exclude=("*_test.py", "x/test")) == ["a.py", "test/b.py", "x/y/d.py"]
    assert names("code", tmp_path, exclude=("x/**",)) == ["a.py", "test/b.py"]
    with pytest.raises(UsageError, match="exclude leaves none of its 5 files"):
        names("code", tmp_path, exclude=("*.py",))


def test_what_each_pattern_left_out_is_counted(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "test/b.py", "x/test/c.py")
    listing = list_files(spec_for("code", tmp_path, exclude=("test/**", "test", "misspelt/**")))
    assert listing.excluded == {"test/**": 1, "test": 1, "misspelt/**": 0}


def test_links_are_not_followed_in_trees_of_code_and_never_in_a_circle(tmp_path: Path) -> None:
    tree(tmp_path, "tree/a.py", "outside/b.py", "outside/c.py")
    (tmp_path / "tree/loop").symlink_to(tmp_path / "tree")
    (tmp_path / "tree/out").symlink_to(tmp_path / "outside")
    (tmp_path / "tree/link.py").symlink_to(tmp_path / "outside/b.py")
    (tmp_path / "tree/nowhere.py").symlink_to(tmp_path / "missing.py")
    assert names("code", tmp_path / "tree") == ["a.py"]
    assert names("text", tmp_path / "tree") == ["a.py", "link.py", "out/b.py", "out/c.py"]
    (tmp_path / "entry").symlink_to(tmp_path / "tree")
    assert names("code", tmp_path / "entry") == ["a.py"]


def test_caches_and_pipes_are_no_input(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "__pycache__/a.pyc", ".git/config")
    os.mkfifo(tmp_path / "pipe")
    assert names("code", tmp_path) == ["a.py"]


def test_home_and_the_standard_library_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    tree(tmp_path, "corpus/a.txt")
    assert names("text", "~/corpus/*.txt") == ["a.txt"]
    (file,) = list_files(spec_for("code", "{stdlib}/email/message.py")).files
    assert file.path == f"{sysconfig.get_path('stdlib')}/email/message.py"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing.jsonl", "does not exist"),
        ("missing/*.jsonl", "is no folder"),
        ("*.parquet", "matches no file"),
        ("empty", "holds no file"),
        ("pipe", "is neither a file nor a folder"),
        ("memory://nothing/*.jsonl", "is no folder"),
        ("memory://nothing.jsonl", "does not exist"),
    ],
)
def test_a_path_that_gives_nothing_is_refused_with_its_name(path: str, words: str, tmp_path: Path) -> None:
    tree(tmp_path, "a.jsonl")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    written = path if "://" in path else str(tmp_path / path)
    with pytest.raises(UsageError, match=r"sources\.raw\.path") as raised:
        names("jsonl", written)
    assert words in str(raised.value) and written in str(raised.value)


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.jsonl")
    monkeypatch.setattr("tonnage.sources.listing.os.access", lambda path, mode: False)
    with pytest.raises(UsageError, match=r"a\.jsonl cannot be read"):
        names("jsonl", tmp_path / "*.jsonl")


def test_other_file_systems_are_listed_and_read_alike() -> None:
    filesystem = fsspec.filesystem("memory")
    for name in ("/corpus/x/a.jsonl", "/corpus/x/y/b.jsonl", "/corpus/x/y/.c.jsonl", "/corpus/z.txt"):
        with filesystem.open(name, "wb") as stream:
            stream.write(b'{"text": "%s"}\n' % name.encode() * 100)
    assert names("jsonl", "memory://corpus/**/*.jsonl") == ["x/a.jsonl", "x/y/b.jsonl"]
    assert names("jsonl", "memory://corpus/*/*.jsonl") == ["x/a.jsonl"]
    assert names("jsonl", "memory://corpus/x") == ["a.jsonl", "y/b.jsonl"]
    found = read(spec_for("jsonl", "memory://corpus/**/*.jsonl", task_bytes=1000))
    assert len(found.documents) == 200 and found.documents[199]["position"] == 100


def test_a_name_that_is_no_utf8_is_read_and_shown(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.txt", "wb") as stream:
        stream.write(b"content")
    found = read(spec_for("text", tmp_path))
    assert [(document["file"], document["text"]) for document in found.documents] == [("\ufffd.txt", "content")]


def test_stamps_change_with_content_name_and_governing_licence(tmp_path: Path) -> None:
    tree(tmp_path, "a/b/c.py", "a/LICENSE")
    code = {"kind": "code", "license": "per-document"}

    def stamps() -> dict[str, str]:
        return {
            file.name: file.stamp
            for file in list_files(spec_for(code["kind"], tmp_path, license=code["license"])).files
        }

    first = stamps()
    assert stamps() == first
    os.utime(tmp_path / "a/LICENSE", (1, 1))
    assert stamps()["a/b/c.py"] != first["a/b/c.py"]
    (below,) = list_files(spec_for("code", tmp_path / "a/b")).files
    (above,) = list_files(spec_for("code", tmp_path / "a/b/c.py", tmp_path / "a/b")).files
    assert below == above
    (renamed,) = list_files(spec_for("code", tmp_path / "a", exclude=("LICENSE",))).files
    assert renamed.path == below.path and renamed.stamp != below.stamp


FILES = st.lists(
    st.tuples(st.sampled_from([".jsonl", ".jsonl.gz", ".jsonl.zst"]), st.integers(0, 5000)), min_size=1, max_size=20
)


@settings(max_examples=100, deadline=None)
@given(FILES, st.integers(1, 3000), st.sampled_from(["jsonl", "text", "parquet"]))
def test_tasks_hold_every_byte_once_in_order_and_are_bounded(
    sizes: list[tuple[str, int]], task_bytes: int, kind: str
) -> None:
    files = [
        InputFile(f"/root/{n:02d}{ending}", size, "", f"{n:02d}{ending}") for n, (ending, size) in enumerate(sizes)
    ]
    spec = spec_for(kind, "/root", task_bytes=task_bytes)
    tasks = plan_tasks(spec, files)
    assert [task.shard for task in tasks] == list(range(len(tasks)))
    pieces = [piece for task in tasks for piece in task.pieces]
    for file in files:
        own = [piece for piece in pieces if piece.path == file.path]
        assert [own[0].start, *(piece.end for piece in own)] == [*(piece.start for piece in own), file.bytes]
        if kind == "text" or not file.path.endswith(".jsonl"):
            assert len(own) == 1
    assert [piece.path for piece in pieces] == sorted(piece.path for piece in pieces)
    for task in tasks:
        assert len(task.pieces) == 1 or sum(piece.end - piece.start for piece in task.pieces) <= task_bytes
        if kind == "jsonl" and task.pieces[0].path.endswith(".jsonl"):
            assert all(piece.end - piece.start <= task_bytes for piece in task.pieces)
