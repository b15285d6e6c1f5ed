"""Tables and documents on a terminal or in a pipe: numbers right-aligned, control characters of documents made visible.

What is shown is decided by the callers; this module only prints.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tonnage.inspect.show import Shown
from tonnage.inspect.stats import Table

PIPE_WIDTH = 160


def console_for(stream: IO[str]) -> Console:
    """A console that neither wraps nor colours when its output goes into a pipe."""
    is_terminal = stream.isatty()
    return Console(file=stream, width=None if is_terminal else PIPE_WIDTH, highlight=False, soft_wrap=False)


def print_table(console: Console, table: Table) -> None:
    grid = RichTable(title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, name in enumerate(table.columns):
        numeric = any(isinstance(row[index], (int, float)) or _is_share(row[index]) for row in table.rows)
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell_text(value)) for value in row))
    console.print(grid)
    for note in table.notes:
        console.print(Text(note))


def _is_share(value: Any) -> bool:
    return isinstance(value, str) and value.endswith(" %")


def cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return visible(str(value))


def visible(text: str) -> str:
    """`text` with control and format characters (but line feed and tab) written as escapes.

    Terminal escape sequences and bidirectional overrides in documents must not act on the reader's screen.
    """
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in "\n\t" or character.isprintable():
        return character
    if unicodedata.category(character) in ("Zs",):
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def print_lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(Text(visible(line)), soft_wrap=True)


def print_documents(console: Console, documents: Iterable[Shown]) -> None:
    """Each document under its headline: its facts, then the beginning of its text, indented."""
    count = 0
    for document in documents:
        count += 1
        console.print(Text(visible(document.headline), style="bold"), soft_wrap=True)
        for name, value in document.facts:
            console.print(Text(f"  {name}: {cell_text(value)}"), soft_wrap=True)
        for line in document.text.split("\n"):
            console.print(Text(f"    {visible(line)}"), soft_wrap=True)
        if document.more_characters:
            console.print(Text(f"    ... {document.more_characters:,} more characters"))
        console.print()
    if not count:
        console.print("There is no such document.")
