"""Progress without a terminal: one line at the start, rates while under way, one line at the end."""

from __future__ import annotations

import io

import pytest

from tonnage.engines.progress import LINE_EVERY, PlainProgress, duration, progress_on


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_step_says_its_beginning_its_rate_and_its_end() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = PlainProgress(stream, clock)
    progress.start("documents", tasks=4, bytes=40_000_000)
    clock.now += 1
    progress.advance(tasks=1, bytes=10_000_000, documents=500)
    clock.now += LINE_EVERY - 1
    progress.advance(tasks=1, bytes=10_000_000, documents=500)
    clock.now += LINE_EVERY
    progress.finish("2 rejects")
    assert stream.getvalue().splitlines() == [
        "documents: 4 tasks, 40.0 MB",
        "documents: 2 of 4 tasks, 2.0 MB/s, 100 documents/s, 10.0 s left",
        "documents: done in 20.0 s, 1.0 MB/s, 50 documents/s, 2 rejects",
    ]


def test_a_stream_that_is_no_terminal_gets_plain_lines_without_control_characters() -> None:
    stream = io.StringIO()
    with progress_on(stream) as progress:
        progress.start("rules", tasks=1)
        progress.advance(tasks=1)
        progress.finish()
        progress.say("compiled")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "rules: 1 task" and lines[1].startswith("rules: done in") and lines[2] == "compiled"
    assert stream.getvalue().replace("\n", "").isprintable()


def test_a_terminal_gets_the_same_last_lines() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with progress_on(stream) as progress:
        progress.start("tokens [x]", tasks=2, bytes=10)
        progress.advance(tasks=2, bytes=10, documents=3)
        progress.finish()
    assert "tokens [x]: done in" in stream.getvalue()


def test_an_advance_outside_of_a_step_is_an_error() -> None:
    with pytest.raises(RuntimeError):
        PlainProgress(io.StringIO()).advance(tasks=1)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (59.9, "59.9 s"), (61, "1 min 1 s"), (7500, "2 h 5 min")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
