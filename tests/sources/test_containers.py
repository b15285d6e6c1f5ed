"""Containers to their true end: many members, padding, trailing bytes, and names that promise something else."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from support.raw_sources import PACKERS

from tonnage.sources.containers import STEP_BYTES as STEP
from tonnage.sources.containers import Damaged, container_of, inner_name, named_container, unpacked

KINDS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}


def content(path: Path) -> bytes:
    size = path.stat().st_size
    return b"".join(unpacked(str(path), size, container_of(str(path), size)))


@pytest.mark.parametrize("ending", PACKERS)
def test_all_members_are_read(ending: str, tmp_path: Path) -> None:
    parts = [random.Random(i).randbytes(100 * i) for i in range(40)]
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"".join(map(PACKERS[ending], parts)))
    assert content(path) == b"".join(parts)


@pytest.mark.parametrize("ending", PACKERS)
def test_zeros_behind_the_last_member_are_padding(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    for zeros in (4, 512, 3 * STEP):
        path.write_bytes(PACKERS[ending](b"content") + bytes(zeros))
        assert content(path) == b"content"


@pytest.mark.parametrize("ending", PACKERS)
def test_other_bytes_behind_the_last_member_are_damage(ending: str, tmp_path: Path) -> None:
    packed = PACKERS[ending](b"content")
    path = tmp_path / f"a{ending}"
    path.write_bytes(packed + b"something else")
    with pytest.raises(Damaged) as raised:
        content(path)
    assert raised.value.offset == len(packed)
    assert "after 1 whole members" in raised.value.why


@pytest.mark.parametrize("ending", PACKERS)
def test_every_cut_within_a_member_is_found(ending: str, tmp_path: Path) -> None:
    first, second = PACKERS[ending](b"first " * 50), PACKERS[ending](b"second " * 50)
    path = tmp_path / f"a{ending}"
    for length in range(len(first) + 1, len(first) + len(second)):
        path.write_bytes((first + second)[:length])
        with pytest.raises(Damaged) as raised:
            content(path)
        assert raised.value.offset <= length
    path.write_bytes(first)
    assert content(path) == b"first " * 50


@pytest.mark.parametrize("ending", [".gz", ".zst", ".bz2", ".xz"])
@settings(max_examples=25, deadline=None)
@given(place=st.floats(0, 1), flip=st.integers(1, 255))
def test_a_changed_byte_never_gives_other_content(tmp_path_factory, ending: str, place: float, flip: int) -> None:
    """Checksums see to that; some header bytes, such as a time, may change without harm."""
    whole = random.Random(9).randbytes(2000).hex().encode()
    packer = zstandard.ZstdCompressor(write_checksum=True).compress if ending == ".zst" else PACKERS[ending]
    packed = bytearray(packer(whole))
    packed[int(place * (len(packed) - 1))] ^= flip
    path = tmp_path_factory.mktemp("flip") / f"a{ending}"
    path.write_bytes(packed)
    try:
        found = content(path)
    except Damaged:
        return
    assert found == whole


def test_zstd_frames_that_hold_no_content_are_skipped(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    frame = zstandard.compress(b"content")
    path = tmp_path / "a.zst"
    path.write_bytes(skippable + frame + skippable + frame)
    assert content(path) == b"contentcontent"
    path.write_bytes(skippable + frame + skippable[:-1])
    with pytest.raises(Damaged, match="breaks off"):
        content(path)


def test_content_decides_and_a_name_that_lies_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(b"x"))
    assert container_of(str(path), path.stat().st_size) == "gzip"
    path = tmp_path / "a.bz2"
    path.write_bytes(zstandard.compress(b"x"))
    assert content(path) == b"x"
    for ending, kind in KINDS.items():
        path = tmp_path / f"b{ending}"
        path.write_bytes(b'{"text": "plain"}\n')
        with pytest.raises(Damaged, match=f"its name says {kind}"):
            container_of(str(path), path.stat().st_size)


def test_a_text_that_begins_like_bzip2_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"BZh9 is a header")
    assert content(path) == b"BZh9 is a header"


def test_memory_stays_bounded_whatever_a_file_unpacks_to(tmp_path: Path) -> None:
    for ending in (".gz", ".xz", ".bz2"):
        path = tmp_path / f"zeros{ending}"
        path.write_bytes(PACKERS[ending](bytes(40 << 20)))
        size = path.stat().st_size
        chunks = [len(chunk) for chunk in unpacked(str(path), size, KINDS[ending])]
        assert sum(chunks) == 40 << 20
        assert max(chunks) <= 2 << 20


@pytest.mark.parametrize(
    ("name", "kind", "inner"),
    [("a.jsonl.GZ", "gzip", "a.jsonl"), ("a.zstd", "zstd", "a"), ("a.el.xz", "xz", "a.el"), ("gz", "plain", "gz")],
)
def test_names(name: str, kind: str, inner: str) -> None:
    assert (named_container(name), inner_name(name)) == (kind, inner)
