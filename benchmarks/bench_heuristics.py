"""Document statistics and repetition against datatrove's two Gopher filters, on the same documents in one run.

Both sides take turns round by round on one thread each, and medians are reported. datatrove's filters see document by
document, as in its pipeline, so the second one finds the first one's words in datatrove's cache; a filter stops at its
first failing rule. Ours always computes all columns. What to print and which documents to take is for the main program.
"""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tonnage.annotate.heuristics import heuristics, warm_up

SAMPLE_BYTES = 1_000_000  # two to five seconds a round for datatrove with spaCy
ROUNDS = 3
OURS_A_ROUND = 5  # ours takes milliseconds, so that one timing alone would be mostly noise
TARGET = 100.0
PLAIN_TARGET = 20.0
OURS = "statistics + repetition"


def run(documents: list[str]) -> list[dict[str, Any]]:
    """Rows of what, ours_mb_s, theirs_mb_s, ratio and target; MB are 10^6 bytes of UTF-8.

    The first documents up to SAMPLE_BYTES are measured. A row that cannot be measured has None for the numbers and says
    in `what` which package is missing. target is None where none is set.
    """
    sample = _sample(documents)
    megabytes = sum(len(document.encode()) for document in sample) / 1e6
    return [
        _row(sample, megabytes, "datatrove Gopher filters, spaCy words", contextlib.nullcontext, "spacy", TARGET),
        _row(sample, megabytes, "datatrove Gopher filters, str.split words", _plain_words, None, PLAIN_TARGET),
    ]


def _sample(documents: Sequence[str]) -> list[str]:
    sample: list[str] = []
    room = SAMPLE_BYTES
    for document in documents:
        if room <= 0:
            break
        sample.append(document)
        room -= len(document.encode())
    return sample


def _row(
    sample: list[str],
    megabytes: float,
    theirs: str,
    words: Callable[[], contextlib.AbstractContextManager[None]],
    needs: str | None,
    target: float | None,
) -> dict[str, Any]:
    what = f"{OURS} / {theirs}"
    for package in ("datatrove", "regex", needs):
        if package is not None and importlib.util.find_spec(package) is None:
            what += f": not measured, {package} is not installed"
            return {"what": what, "ours_mb_s": None, "theirs_mb_s": None, "ratio": None, "target": target}
    with words():
        ours_seconds, theirs_seconds = _interleaved(_ours(sample), _theirs(sample))
    return {
        "what": what,
        "ours_mb_s": megabytes / ours_seconds,
        "theirs_mb_s": megabytes / theirs_seconds,
        "ratio": theirs_seconds / ours_seconds,
        "target": target,
    }


def _interleaved(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of each, after one round that does not count."""
    ours_seconds: list[float] = []
    theirs_seconds: list[float] = []
    for _ in range(ROUNDS + 1):
        ours_seconds.append(statistics.median(_seconds(ours) for _ in range(OURS_A_ROUND)))
        theirs_seconds.append(_seconds(theirs))
    return statistics.median(ours_seconds[1:]), statistics.median(theirs_seconds[1:])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _ours(sample: list[str]) -> Callable[[], object]:
    warm_up()
    text = pa.array(sample, pa.large_string())
    return lambda: heuristics(text)


def _theirs(sample: list[str]) -> Callable[[], object]:
    from datatrove.data import Document
    from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter
    from datatrove.utils.text import split_into_parts

    filters = [GopherQualityFilter(), GopherRepetitionFilter()]
    documents = [Document(text=text, id=str(number)) for number, text in enumerate(sample)]

    def both() -> list[object]:
        split_into_parts.cache_clear()
        return [each.filter(document) for document in documents for each in filters]

    return both


@contextlib.contextmanager
def _plain_words() -> Iterator[None]:
    """Lets datatrove's filters cut words at white space instead of by its language's word splitter."""
    from datatrove.pipeline.filters import gopher_quality_filter, gopher_repetition_filter

    modules = (gopher_quality_filter, gopher_repetition_filter)
    shipped = [module.split_into_words for module in modules]
    for module in modules:
        module.split_into_words = lambda text, language: text.split()
    try:
        yield
    finally:
        for module, function in zip(modules, shipped, strict=True):
            module.split_into_words = function
