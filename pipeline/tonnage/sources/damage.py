"""What happens to a damaged file: left out, kept up to the damage, or the end of the run. Never silence.

Containers say what is damaged; this module turns that into rejects, by the source's `on_damaged`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tonnage.errors import WorkFailed
from tonnage.sources.batches import DAMAGED_FILES, Record, Reject
from tonnage.sources.containers import PLAIN, Damaged, unpacked
from tonnage.sources.listing import Piece
from tonnage.sources.spec import SourceSpec

FAIL, SKIP, KEEP = "fail", "skip-file", "keep-prefix"
BROKEN_OFF = -1  # the position of a file that broke off
REASON = "damaged-container"


def verify(path: str, size: int, container: str) -> tuple[int, Damaged] | None:
    """(bytes that unpack, the damage) of a damaged file, None for a sound one: one pass that keeps nothing."""
    content = 0
    if container == PLAIN:
        return None
    try:
        for chunk in unpacked(path, size, container):
            content += len(chunk)
    except Damaged as damage:
        return content, damage
    return None


def damaged(
    spec: SourceSpec, piece: Piece, damage: Damaged, notes: Counter[str], *, records: int, content: int | None = None
) -> Reject:
    """The reject that stands for a damaged file. Raises WorkFailed when the source asks for that.

    `records` were whole before the damage, `content` is the number of bytes that could be unpacked.
    """
    kept = "none of them kept" if spec.on_damaged == SKIP else "these are kept"
    detail = f"{damage.why} at byte {damage.offset:,} of the file, after {records:,} whole records"
    if spec.on_damaged == FAIL:
        raise WorkFailed(
            f"{piece.path} is damaged: {detail}; mend or exclude it, or set sources.{spec.name}.on_damaged to "
            f"skip-file or keep-prefix"
        )
    notes[DAMAGED_FILES] += 1
    return Reject(piece.name, BROKEN_OFF, REASON, f"{detail} ({kept})" if records else detail, content)


def guarded(
    spec: SourceSpec,
    piece: Piece,
    notes: Counter[str],
    container: str,
    size: int,
    records: Callable[[], Iterator[Record]],
    count: Callable[[], int],
) -> Iterator[Record]:
    """`records()` under the source's policy: a damaged file gives one reject in place of, or after, its records.

    `count()` is the number of whole records before the damage; it is asked for only when a file is left out.
    """
    if spec.on_damaged == SKIP:
        found = verify(piece.path, size, container)
        if found is not None:
            content, damage = found
            yield damaged(spec, piece, damage, notes, records=count(), content=content)
            return
    seen = 0
    try:
        for record in records():
            seen += 1
            yield record
    except Damaged as damage:
        if spec.on_damaged == SKIP:
            raise WorkFailed(
                f"{piece.path} changed while it was read; let nothing write to the input during a run, and give the "
                f"same command again"
            ) from damage
        yield damaged(spec, piece, damage, notes, records=seen)
