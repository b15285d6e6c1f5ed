"""Where a run says how far it is: a live bar with rates and time left on a terminal, plain lines anywhere else.

Steps follow one another; only one is under way at a time. What is counted is the caller's.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

LINE_EVERY = 10.0  # seconds between the plain lines of one step


class Progress(Protocol):
    """What a run calls. `advance` adds to what the step has done so far."""

    def start(self, step: str, *, tasks: int, bytes: int = 0) -> None: ...
    def advance(self, *, tasks: int = 0, bytes: int = 0, text_bytes: int = 0, documents: int = 0) -> None: ...
    def finish(self, note: str = "") -> None: ...
    def say(self, line: str) -> None: ...


@dataclass(frozen=True)
class State:
    """How far one step is: `bytes` are those of its input, packed or marked up as it is, `all_bytes` 0 where they
    mean nothing; `text_bytes` those of the text found in it; `begun` in seconds of the clock.
    """

    step: str
    begun: float
    all_tasks: int
    all_bytes: int
    tasks: int = 0
    bytes: int = 0
    text_bytes: int = 0
    documents: int = 0

    def rates(self, now: float) -> str:
        """MB/s and documents/s so far, as far as there is something to divide."""
        seconds = max(now - self.begun, 1e-3)
        parts = []
        if self.bytes:
            parts.append(f"{self.bytes / seconds / 1e6:,.1f} MB/s")
        if self.text_bytes:
            parts.append(f"{self.text_bytes / seconds / 1e6:,.1f} MB/s of text")
        if self.documents:
            parts.append(f"{self.documents / seconds:,.0f} documents/s")
        return ", ".join(parts)

    def seconds_left(self, now: float) -> float | None:
        """By bytes where there are any, else by tasks; None before anything is done."""
        done, whole = (self.bytes, self.all_bytes) if self.all_bytes else (self.tasks, self.all_tasks)
        return None if not done else (now - self.begun) / done * max(whole - done, 0)


def duration(seconds: float) -> str:
    """'4.2 s', '3 min 10 s' or '2 h 5 min'."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class PlainProgress:
    """One line when a step begins, one every LINE_EVERY seconds while it is under way, one when it ends."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._state: State | None = None
        self._said = 0.0

    def start(self, step: str, *, tasks: int, bytes: int = 0) -> None:
        self._said = self._clock()
        self._state = State(step, self._said, tasks, bytes)
        size = f", {bytes / 1e6:,.1f} MB" if bytes else ""
        self.say(f"{step}: {_tasks(tasks)}{size}")

    def advance(self, *, tasks: int = 0, bytes: int = 0, text_bytes: int = 0, documents: int = 0) -> None:
        self._state = _advanced(self._state, tasks, bytes, text_bytes, documents)
        now = self._clock()
        if now - self._said < LINE_EVERY:
            return
        self._said = now
        state = self._state
        left = state.seconds_left(now)
        parts = [f"{state.tasks:,} of {_tasks(state.all_tasks)}", state.rates(now)]
        parts.append("" if left is None else f"{duration(left)} left")
        self.say(f"{state.step}: {', '.join(part for part in parts if part)}")

    def finish(self, note: str = "") -> None:
        if self._state is not None:
            self.say(_last_line(self._state, self._clock(), note))
        self._state = None

    def say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class LiveProgress:
    """A bar for the step under way, and a line above it for each that has ended."""

    def __init__(self, console: Console, bars: RichProgress) -> None:
        self._console = console
        self._bars = bars
        self._bar: int | None = None
        self._state: State | None = None

    def start(self, step: str, *, tasks: int, bytes: int = 0) -> None:
        self._state = State(step, time.monotonic(), tasks, bytes)
        self._bar = self._bars.add_task(step, total=tasks, facts="")

    def advance(self, *, tasks: int = 0, bytes: int = 0, text_bytes: int = 0, documents: int = 0) -> None:
        self._state = _advanced(self._state, tasks, bytes, text_bytes, documents)
        now = time.monotonic()
        left = self._state.seconds_left(now)
        facts = [self._state.rates(now), "" if left is None else f"{duration(left)} left"]
        if self._bar is not None:
            text = ", ".join(fact for fact in facts if fact)
            self._bars.update(self._bar, completed=self._state.tasks, facts=text)  # type: ignore[arg-type]

    def finish(self, note: str = "") -> None:
        if self._state is not None and self._bar is not None:
            self._bars.remove_task(self._bar)  # type: ignore[arg-type]
            self.say(_last_line(self._state, time.monotonic(), note))
        self._state = self._bar = None

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def progress_on(stream: IO[str]) -> Iterator[Progress]:
    """The progress that suits `stream`: live on a terminal, plain lines into a file or pipe."""
    if not stream.isatty():
        yield PlainProgress(stream)
        return
    console = Console(file=stream)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
        TimeElapsedColumn(),
    )
    with RichProgress(*columns, console=console, transient=True) as bars:
        yield LiveProgress(console, bars)


def _advanced(state: State | None, tasks: int, size: int, text: int, documents: int) -> State:
    if state is None:
        raise RuntimeError("advance was called while no step is under way")
    return replace(
        state,
        tasks=state.tasks + tasks,
        bytes=state.bytes + size,
        text_bytes=state.text_bytes + text,
        documents=state.documents + documents,
    )


def _last_line(state: State, now: float, note: str) -> str:
    facts = [f"done in {duration(now - state.begun)}", state.rates(now), note]
    return f"{state.step}: {', '.join(fact for fact in facts if fact)}"


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count:,} tasks"
