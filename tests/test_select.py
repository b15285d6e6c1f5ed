"""Rules decide in order; a rule whose `when` does not hold, or whose condition is null, does not apply and is
counted.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from tonnage.annotate.heuristics import HEURISTICS_SCHEMA, heuristics
from tonnage.errors import UsageError
from tonnage.recipe.presets import presets, rules_of
from tonnage.recipe.schema import SelectItem
from tonnage.select import BUILT_IN, Rule, apply_rules, check_rules, columns_needed, columns_of_rule

FRAME = pl.DataFrame({"words": [0, 3, 80, 90], "ratio": [None, 0.5, 0.1, None], "language": ["en", "en", "de", None]})


def verdicts(*rules: Rule, source: str = "web") -> tuple[list[int], dict[str, int]]:
    found = apply_rules(rules, FRAME, source)
    return found.reason.tolist(), dict(found.not_applicable)


def test_the_first_rule_that_holds_names_the_reason() -> None:
    assert verdicts(Rule("few", "words < 10"), Rule("none", "words = 0"))[0] == [0, 0, -1, -1]


def test_a_null_condition_does_not_apply_and_is_counted_among_those_that_reached_the_rule() -> None:
    assert verdicts(Rule("few", "words = 0"), Rule("high", "ratio > 0.3")) == ([0, 1, -1, -1], {"few": 0, "high": 1})


def test_when_limits_a_rule_and_null_there_means_no() -> None:
    assert verdicts(Rule("english", "words < 100", when="language = 'en'")) == ([0, 0, -1, -1], {"english": 2})


def test_sources_limit_a_rule() -> None:
    assert verdicts(Rule("few", "words < 10", sources=("books",))) == ([-1] * 4, {"few": 4})
    assert verdicts(Rule("few", "words < 10", sources=("books",)), source="books")[0] == [0, 0, -1, -1]


def test_a_condition_without_columns_holds_for_all() -> None:
    assert verdicts(Rule("all", "1 = 1"))[0] == [0] * 4


def test_columns_of_rules() -> None:
    rule = Rule("english", "words < 100", when="language = 'en'")
    assert columns_needed([rule]) == ("language", "words")
    assert columns_of_rule(rule) == ("words",)


@pytest.mark.parametrize(
    ("drop", "says"),
    [
        ("wrds < 3", "names column 'wrds'"),
        ("words + 1", "not a condition"),
        ("words <", "is no valid SQL condition"),
        ("words < 'x' AND language > 3", "rule mine"),
        ("words > avg(words)", "several documents at once"),
        ("language in ('en', 'de') AND first(words) = 1", "several documents at once"),
        ("CASE WHEN words > 1 THEN max(words) ELSE 0 END > 3", "several documents at once"),
        ("sum(words) OVER (PARTITION BY language) > 1", "several documents at once"),
        ("row_number() OVER (ORDER BY words) > 1", "several documents at once"),
        ("count(*) > 1", "several documents at once"),
    ],
)
def test_rules_that_cannot_be_computed_are_refused_before_any_work(drop: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_rules([Rule("mine", drop)], FRAME.schema)


@pytest.mark.parametrize(
    "drop",
    [
        "language IN ('en', 'de') AND NOT words BETWEEN 1 AND 2",
        "round(words / 3.0, 1) > 1 OR sqrt(words) > 2",
        "upper(substr(language, 1, 1)) = 'E' OR language LIKE '%n'",
        "CASE WHEN words > 1 THEN true ELSE false END",
        "coalesce(words, 0) > 1 AND language IS NOT NULL",
    ],
)
def test_conditions_on_one_document_are_accepted(drop: str) -> None:
    check_rules([Rule("mine", drop)], FRAME.schema)


NOTHING_TO_MEASURE = ["", "   ", ".", "!!!", "😀", "\n" * 10_000, "x" * 1_000_000, "1234567890"]


def test_every_preset_has_one_outcome_for_texts_with_nothing_to_measure() -> None:
    columns = pl.DataFrame(pl.from_arrow(heuristics(pa.array(NOTHING_TO_MEASURE, pa.large_string()))))
    kinds = {"is_vendored": False, "is_generated": False, "is_minified": False, "kind": "prose", "language": "en"}
    columns = columns.with_columns(pl.lit(v).alias(k) for k, v in kinds.items()).with_columns(
        pl.lit(None, pl.String()).alias("code_language")
    )
    rules = (*BUILT_IN, *rules_of([SelectItem(use=name) for name in presets()]))
    check_rules(rules, columns.schema)
    reasons = apply_rules(rules, columns, "web").reason.tolist()
    assert len(reasons) == 8
    assert [rules[reason].name if reason >= 0 else None for reason in reasons][:2] == ["empty", "empty"]
    assert reasons[5] == 0


# Plain prose, no sentence twice; Japanese writes no space between words, so each letter is a word of its own.
JAPANESE = (
    "この章では、パッケージを作成する方法について説明します。パッケージを作成するには、まずソースコードを取得する必要があります。"
    "次に、パッケージの名前を決めることができます。名前には小文字を使うことができますが、空白を使うことはできません。"
    "パッケージの説明を書くには、エディタを使うことができます。説明には、パッケージの目的について書く必要があります。"
    "最後に、パッケージを公開することができます。公開する前に、パッケージの内容を確認する必要があります。"
)


def test_word_ngram_rules_say_nothing_of_scripts_without_spaces() -> None:
    columns = pl.DataFrame(pl.from_arrow(heuristics(pa.array([JAPANESE], pa.large_string()))))
    columns = columns.with_columns(pl.lit("prose").alias("kind"))
    rules = rules_of([SelectItem(use="gopher-repetition")])
    found = apply_rules(rules, columns, "web")
    assert found.reason.tolist() == [-1]
    assert {name for name, count in found.not_applicable.items() if count} >= {
        rule.name for rule in rules if rule.name.endswith("gram")
    }
    unlimited = [Rule(rule.name, rule.drop) for rule in rules if rule.name == "gopher-dup-5gram"]
    assert apply_rules(unlimited, columns, "web").reason.tolist() == [0]


def test_heuristics_hold_no_nan_and_no_infinity() -> None:
    batch = heuristics(pa.array(NOTHING_TO_MEASURE, pa.large_string()))
    assert batch.schema == HEURISTICS_SCHEMA
    for column in batch.columns:
        if pa.types.is_floating(column.type):
            values = [value for value in column.to_pylist() if value is not None]
            assert all(value == value and abs(value) != float("inf") for value in values)
