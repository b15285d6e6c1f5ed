"""Two texts side by side: what they share shortened, what differs marked. Which texts these are is for the callers."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

MOST_WORDS = 5000  # words of a text that are compared; comparing takes quadratic time at worst
CONTEXT = 8  # words shown on either side of a difference
MOST_DIFFERENCES = 12  # runs of differing words that are shown


@dataclass(frozen=True)
class Piece:
    """A run of words: `differs` from the other text, or is shared with it."""

    text: str
    differs: bool


@dataclass(frozen=True)
class SideBySide:
    """Both texts as pieces, up to MOST_DIFFERENCES; `more` counts the differences behind these."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...]
    more: int
    compared: tuple[int, int]  # words of each text that were compared
    words: tuple[int, int]


def side_by_side(left: str, right: str) -> SideBySide:
    """The words of both texts, white space aside, with what one has and the other has not."""
    words = left.split(), right.split()
    compared = words[0][:MOST_WORDS], words[1][:MOST_WORDS]
    blocks = difflib.SequenceMatcher(None, *compared, autojunk=False).get_opcodes()
    differing = [index for index, block in enumerate(blocks) if block[0] != "equal"]
    end = differing[MOST_DIFFERENCES] if len(differing) > MOST_DIFFERENCES else len(blocks)
    pieces: tuple[list[Piece], list[Piece]] = ([], [])
    for index, (tag, *bounds) in enumerate(blocks[:end]):
        for side in (0, 1):
            run = compared[side][bounds[2 * side] : bounds[2 * side + 1]]
            if tag == "equal":
                shared = _shortened(run, first=index == 0, last=index == len(blocks) - 1)
                pieces[side].append(Piece(shared, False))
            elif run:
                pieces[side].append(Piece(_shortened(run, first=False, last=False), True))
    return SideBySide(
        tuple(pieces[0]),
        tuple(pieces[1]),
        max(0, len(differing) - MOST_DIFFERENCES),
        (len(compared[0]), len(compared[1])),
        (len(words[0]), len(words[1])),
    )


def _shortened(run: list[str], *, first: bool, last: bool) -> str:
    """A run with its middle left out; of a shared one at an end of the text only what is next to a difference."""
    head = [] if first and not last else run[:CONTEXT]
    tail = [] if last and not first else run[-CONTEXT:]
    left_out = len(run) - len(head) - len(tail)
    if left_out <= 3:
        return " ".join(run)
    return " ".join([*head, f"... {left_out:,} words ...", *tail])
