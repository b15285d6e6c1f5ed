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

from tonnage.inspect.differences import Piece, SideBySide
from tonnage.inspect.show import Shown, ShownPair
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


def print_pairs(console: Console, pairs: Iterable[ShownPair]) -> None:
    """Each pair under its facts: what falls on the left, what stays on the right, differing words marked."""
    count = 0
    for pair in pairs:
        count += 1
        console.print(Text("  ".join(f"{name} {cell_text(value)}" for name, value in pair.facts), style="bold"))
        grid = RichTable(box=None, pad_edge=False, expand=True, show_header=True, padding=(0, 1))
        for name, address in (("falls", pair.falls), ("stays", pair.stays)):
            grid.add_column(Text(f"{name}: {visible(address)}"), ratio=1, overflow="fold")
        grid.add_row(_marked(pair.texts.left, "[-", "-]", "red"), _marked(pair.texts.right, "{+", "+}", "green"))
        console.print(grid)
        for note in _what_is_not_shown(pair.texts):
            console.print(Text(note))
        console.print()
    if not count:
        console.print("There are no fuzzy duplicates.")


def _what_is_not_shown(texts: SideBySide) -> Iterable[str]:
    if texts.more:
        yield f"and {texts.more:,} more differences"
    for side, compared, words in zip(("left", "right"), texts.compared, texts.words, strict=True):
        if compared < words:
            yield f"of the text on the {side} the first {compared:,} of {words:,} words were compared"


def _marked(pieces: Iterable[Piece], opening: str, closing: str, colour: str) -> Text:
    """The marks are those of wdiff, so that they are seen without colours too."""
    result = Text()
    for piece in pieces:
        text = visible(piece.text)
        if piece.differs:
            result.append(f"{opening}{text}{closing} ", style=f"bold {colour}")
        else:
            result.append(f"{text} ")
    return result
