"""Lines by LF only, once each, whatever the chunks and however a file is cut into ranges."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.sources.lines import Block, LongLine, blocks, range_blocks

TEXTS = st.lists(st.sampled_from([b"", b"a", b"\r", b"\xe2\x80\xa8", b"\x0b\x0c\x85", b"long" * 20]), max_size=30)


def numbered(found: Iterable[Block | LongLine]) -> list[tuple[int, int, bytes]]:
    """(number, offset, line or its beginning) of every line that was given."""
    result = []
    for block in found:
        if isinstance(block, LongLine):
            result.append((block.line, block.offset, block.head))
            continue
        offset = block.offset
        parts = block.data.split(b"\n")
        for index, line in enumerate(parts):
            if line or index < len(parts) - 1:
                result.append((block.line + index, offset, line))
            offset += len(line) + 1
    return result


def expected(data: bytes) -> list[tuple[int, int, bytes]]:
    result, offset = [], 0
    parts = data.split(b"\n")
    for index, line in enumerate(parts):
        if line or index < len(parts) - 1:
            result.append((index + 1, offset, line))
        offset += len(line) + 1
    return result


def chunked(data: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(data) + 1), min(len(data), chance.randrange(12))))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.booleans(), st.integers(0, 10_000))
def test_any_chunks_give_every_line_once(lines: list[bytes], ended: bool, seed: int) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    assert numbered(blocks(chunked(data, seed), limit=1 << 20)) == expected(data)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.booleans(), st.lists(st.integers(0, 400), max_size=6), st.sampled_from([3, 40, 1 << 20]))
def test_any_ranges_give_every_line_once(
    tmp_path_factory, lines: list[bytes], ended: bool, cuts: list[int], limit: int
) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    path = tmp_path_factory.mktemp("ranges") / "a.jsonl"
    path.write_bytes(data)
    borders = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    found = []
    for start, end in itertools.pairwise(borders):
        found += numbered(range_blocks(str(path), len(data), start, end, limit))
    assert found == expected(data)


def test_ranges_may_be_read_in_any_order(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(1, 2001))
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    borders = [*list(range(0, len(data), 1000)), len(data)]
    ranges = list(itertools.pairwise(borders))
    random.Random(5).shuffle(ranges)
    found = [line for start, end in ranges for line in numbered(range_blocks(str(path), len(data), start, end, 999))]
    assert sorted(found) == expected(data)


def test_numbers_follow_a_file_that_was_written_anew(tmp_path: Path) -> None:
    """What is remembered of a file's lines must not outlive the file."""
    path = tmp_path / "a.jsonl"
    for line in (b"a\n", b"abc\n"):
        data = line * (12 // len(line))
        path.write_bytes(data)
        (found,) = numbered(range_blocks(str(path), 12, 8, 8 + len(line), 99))
        assert found == (8 // len(line) + 1, 8, line[:-1])


def test_a_long_line_is_told_with_its_length_and_its_first_bytes() -> None:
    data = b"short\n" + b"x" * 100_000 + b"\nshort again\n" + b"y" * 5000
    chunks = [data[i : i + 700] for i in range(0, len(data), 700)]
    found = list(blocks(chunks, limit=1000))
    long_lines = [each for each in found if isinstance(each, LongLine)]
    assert [(each.line, each.offset, each.length) for each in long_lines] == [(2, 6, 100_000), (4, 100_019, 5000)]
    assert all(len(each.head) <= 4096 and set(each.head) <= set(b"xy") for each in long_lines)
    assert [line for _, _, line in numbered(each for each in found if isinstance(each, Block))] == [
        b"short",
        b"short again",
    ]
