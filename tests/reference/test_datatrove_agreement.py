"""Our presets against datatrove's own filters on English documents, both under our definition of a word.

Quality and FineWeb rules are given the words of the scan, repetition the folded ones. Where decisions differ, the text
must belong to a named kind, and with that kind's cause taken out of the text both must decide alike, for one reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pytest
from datatrove.data import Document
from datatrove.pipeline.filters import (
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    fineweb_quality_filter,
    gopher_quality_filter,
    gopher_repetition_filter,
)
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.filters.gopher_repetition_filter import (
    find_all_duplicate,
    find_duplicates,
    find_top_duplicate,
    get_n_grams,
)
from datatrove.utils.text import PUNCTUATION_SET
from support.english import english_documents, varied_documents

from tonnage.annotate.heuristics import heuristics
from tonnage.kernels.repetition import DUP_NGRAMS, TOP_NGRAMS, repetition
from tonnage.kernels.words import fold_text, scan_words
from tonnage.recipe.presets import rules_of
from tonnage.recipe.schema import SelectItem
from tonnage.select import BUILT_IN, apply_rules
from tonnage.store import arrow_text

VARIED_EVERY = 20
REQUIRED_AGREEMENT = 0.99


@dataclass(frozen=True)
class Pair:
    """One of our presets beside datatrove's filter: which words the filter gets, and our rule for each reason."""

    preset: str
    module: object
    filter: Callable[[], BaseFilter]
    folded: bool
    rules: dict[str, str]


QUALITY = Pair(
    "gopher-quality",
    gopher_quality_filter,
    GopherQualityFilter,
    False,
    {
        "gopher_short_doc": "gopher-short",
        "gopher_long_doc": "gopher-long",
        "gopher_below_avg_threshold": "gopher-word-length",
        "gopher_above_avg_threshold": "gopher-word-length",
        "gopher_too_many_hashes": "gopher-hashes",
        "gopher_too_many_ellipsis": "gopher-ellipses",
        "gopher_too_many_bullets": "gopher-bullets",
        "gopher_too_many_end_ellipsis": "gopher-ellipsis-lines",
        "gopher_below_alpha_threshold": "gopher-alpha-words",
        "gopher_enough_stop_words": "gopher-stop-words",
    },
)
REPETITION = Pair(
    "gopher-repetition",
    gopher_repetition_filter,
    GopherRepetitionFilter,
    True,
    {
        "dup_para_frac": "gopher-dup-paragraphs",
        "dup_para_char_frac": "gopher-dup-paragraph-chars",
        "dup_line_frac": "gopher-dup-lines",
        "dup_line_char_frac": "gopher-dup-line-chars",
        **{f"top_{n}_gram": f"gopher-top-{n}gram" for n in TOP_NGRAMS},
        **{f"duplicated_{n}_n_grams": f"gopher-dup-{n}gram" for n in DUP_NGRAMS},
    },
)
FINEWEB = Pair(
    "fineweb",
    fineweb_quality_filter,
    FineWebQualityFilter,
    False,
    {
        "line_punct_ratio": "fineweb-terminal-lines",
        "short_line_ratio": "fineweb-short-lines",
        "char_dup_ratio": "fineweb-dup-chars",
        "list_ratio": "fineweb-newlines",
    },
)
PAIRS = pytest.mark.parametrize("pair", [QUALITY, REPETITION, FINEWEB], ids=lambda pair: pair.preset)


@dataclass(frozen=True)
class Kind:
    """A known difference of one preset: `mend` takes its cause out of a text, and leaves others as they are."""

    name: str
    preset: str
    mend: Callable[[str], str]


def without_blank_lines(text: str) -> str:
    """Without lines of nothing but white space, and without newlines at either end; empty lines stay."""
    return re.sub(r"^[^\S\n]+(?:\n|\Z)", "", text, flags=re.MULTILINE).strip("\n")


def without_disputed_symbols(text: str) -> str:
    """Without words that are nothing but punctuation and symbols for one of the two only."""

    def kept(match: re.Match[str]) -> str:
        silent = all(
            unicodedata.category(each)[0] in "PS" or unicodedata.category(each) in ("Cc", "Cf") for each in match[0]
        )
        return match[0] if silent == set(match[0]).issubset(PUNCTUATION_SET) else ""

    return re.sub(r"\S+", kept, text)


# Blank lines: datatrove counts a line of blanks, and the empty text before the first and behind the last newline, as
# lines and as duplicates of each other (its issue 273). Symbols: its list of punctuation marks lacks most symbols, so
# that a bullet or an arrow standing alone is a word there; for us it is none.
KINDS = (
    Kind("blank lines", REPETITION.preset, without_blank_lines),
    Kind("symbols that stand alone", QUALITY.preset, without_disputed_symbols),
)


def columns_of(texts: Sequence[str]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def words_of(texts: Sequence[str], folded: bool) -> list[list[str]]:
    data, offsets = arrow_text.buffers(columns_of(texts))
    if folded:
        return [
            text.split(" ") if text else [] for text in arrow_text.from_buffers(*fold_text(data, offsets)).to_pylist()
        ]
    words = scan_words(data, offsets)
    raw = data.tobytes()
    all_words = [raw[start:end].decode() for start, end in zip(words.start.tolist(), words.end.tolist(), strict=True)]
    return [all_words[start:stop] for start, stop in zip(words.first[:-1], words.first[1:], strict=True)]


def ours(pair: Pair, texts: Sequence[str]) -> list[str | None]:
    """Per text the rule that drops it, or None."""
    rules = (*BUILT_IN, *rules_of([SelectItem(use=pair.preset)]))
    columns = pl.DataFrame(pl.from_arrow(heuristics(columns_of(texts))))
    columns = columns.with_columns(pl.lit("prose").alias("kind"), pl.lit("en").alias("language"))
    names = [rule.name for rule in rules]
    return [None if reason < 0 else names[reason] for reason in apply_rules(rules, columns, "any").reason]


def theirs(pair: Pair, texts: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Per text the rule of ours that answers to datatrove's reason to drop it, or None."""
    words = dict(zip(texts, words_of(texts, pair.folded), strict=True))
    monkeypatch.setattr(pair.module, "split_into_words", lambda text, language: words[text])
    rule = pair.filter()
    verdicts = [rule.filter(Document(text=text, id="")) for text in texts]
    return [None if verdict is True else pair.rules[verdict[1]] for verdict in verdicts]


def differing(pair: Pair, texts: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the two decide differently, or for different reasons."""
    decisions = zip(texts, ours(pair, texts), theirs(pair, texts, monkeypatch), strict=True)
    return [text for text, our_rule, their_rule in decisions if our_rule != their_rule]


def unexplained(pair: Pair, texts: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Those of `texts` that belong to no kind, or on which the two differ with the kind's cause taken out as well."""
    rest = list(texts)
    for kind in KINDS:
        if kind.preset == pair.preset:
            mended = {text: kind.mend(text) for text in rest if kind.mend(text) != text}
            still = set(differing(pair, list(dict.fromkeys(mended.values())), monkeypatch))
            rest = [text for text in rest if mended.get(text) is None or mended[text] in still]
    return rest


def with_borders(documents: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same words with last letters that occur nowhere else: datatrove joins words without spaces to compare."""
    last: dict[str, str] = {}
    return [[word[:-1] + last.setdefault(word[-1], chr(0x100000 + len(last))) for word in words] for words in documents]


@pytest.fixture(scope="module")
def real() -> list[str]:
    return english_documents()


@pytest.fixture(scope="module")
def varied(real: list[str]) -> list[str]:
    return list(dict.fromkeys(varied_documents(real[::VARIED_EVERY])))


def test_there_are_enough_documents(real: list[str], varied: list[str]) -> None:
    assert len(real) >= 600
    assert len(varied) >= 600


@PAIRS
def test_real_documents_are_decided_alike(pair: Pair, real: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    different = differing(pair, real, monkeypatch)
    assert 1 - len(different) / len(real) >= REQUIRED_AGREEMENT
    assert unexplained(pair, different, monkeypatch) == []


@PAIRS
def test_varied_documents_differ_for_known_reasons_only(
    pair: Pair, varied: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    different = differing(pair, varied, monkeypatch)
    assert unexplained(pair, different, monkeypatch) == []


@PAIRS
def test_the_documents_put_most_rules_to_the_test(pair: Pair, real: list[str], varied: list[str]) -> None:
    decisions = set(ours(pair, [*real, *varied]))
    assert None in decisions
    assert len(decisions & set(pair.rules.values())) >= 0.7 * len(set(pair.rules.values()))


def test_ngram_sums_are_those_of_datatrove(real: list[str], varied: list[str]) -> None:
    texts = [*real[::4], *varied[::4]]
    data, offsets = arrow_text.buffers(columns_of(texts))
    sums = repetition(data, offsets, scan_words(data, offsets))
    folded = words_of(texts, folded=True)
    top = [[find_top_duplicate(get_n_grams(words, n) or [""]) for n in TOP_NGRAMS] for words in folded]
    assert sums.top_chars.tolist() == top
    assert sums.dup_chars.tolist() == [
        [find_all_duplicate(words, n) for n in DUP_NGRAMS] for words in with_borders(folded)
    ]


def test_line_and_paragraph_sums_are_those_of_datatrove_where_no_line_is_blank(
    real: list[str], varied: list[str]
) -> None:
    texts = [without_blank_lines(text) for text in [*real, *varied]]
    data, offsets = arrow_text.buffers(columns_of(texts))
    sums = repetition(data, offsets, scan_words(data, offsets))
    lines = [re.split(r"\n+", text) for text in texts]
    paragraphs = [re.split(r"\n{2,}", text.strip()) for text in texts]
    assert sums.lines.tolist() == list(map(len, lines))
    assert sums.paragraphs.tolist() == list(map(len, paragraphs))
    line_sums = zip(sums.dup_lines.tolist(), sums.dup_line_chars.tolist(), strict=True)
    assert list(line_sums) == list(map(find_duplicates, lines))
    paragraph_sums = zip(sums.dup_paragraphs.tolist(), sums.dup_paragraph_chars.tolist(), strict=True)
    assert list(paragraph_sums) == list(map(find_duplicates, paragraphs))
