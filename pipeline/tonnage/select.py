"""Selection: rules over columns decide what is kept, for what reason a document falls, and into which cell it goes.

The order of decisions is fixed: a document without any word falls as `empty`; then the rules in the recipe's order, the
first that holds names the reason; then exact duplicates among those that passed; then fuzzy duplicates among the rest;
then cells. A rule answers drop, keep
or not applicable (its `when` does not hold, or its condition is NULL). Where columns come from, and how shards are
walked, is for the callers.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tonnage.errors import UsageError

SELECT_VERSION = 1
EMPTY = "empty"
EXACT_DUPLICATE = "exact-duplicate"
FUZZY_DUPLICATE = "fuzzy-duplicate"
FUZZY_GROUP = "fuzzy-group"  # an alarm: one document for which too many fall
NOTHING_KEPT = "nothing-kept"  # an alarm, acknowledged as rules are
# Reasons and alarms that are no rules of a recipe.
TAKEN_NAMES = (EMPTY, EXACT_DUPLICATE, FUZZY_DUPLICATE, FUZZY_GROUP, NOTHING_KEPT)


@dataclass(frozen=True)
class Rule:
    """`drop` and `when` are boolean SQL expressions over columns; `sources` limits the rule to some sources."""

    name: str
    drop: str
    when: str | None = None
    sources: tuple[str, ...] | None = None


BUILT_IN = (Rule(name=EMPTY, drop="words = 0"),)


@dataclass(frozen=True)
class Verdicts:
    """Per document: `reason` is the index into `rules` of the first rule that dropped it, -1 when it passed all.

    `not_applicable` counts, for each rule, the documents that reached the rule and to which it did not apply.
    """

    reason: np.ndarray  # int16[n]
    not_applicable: Mapping[str, int]


def columns_needed(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Names of all columns that the rules read, sorted."""
    names: set[str] = set()
    for rule in rules:
        for expression in _expressions(rule):
            names.update(expression.meta.root_names())
    return tuple(sorted(names))


def columns_of_rule(rule: Rule) -> tuple[str, ...]:
    """Names of the columns that `drop` reads: the evidence to show beside a dropped document."""
    return tuple(sorted(set(_parse(rule, rule.drop).meta.root_names())))


def check_rules(rules: Sequence[Rule], available: Mapping[str, pl.DataType]) -> None:
    """Raises UsageError when a rule cannot be parsed, names an unknown column, is no condition, or looks at more than
    one document: shards are decided one at a time, so what an average says would hang on where they are cut.
    """
    empty = pl.DataFrame(schema=dict(available))
    for rule in rules:
        for name in sorted({name for e in _expressions(rule) for name in e.meta.root_names()}):
            if name not in available:
                near = difflib.get_close_matches(name, available, n=3)
                hint = f"did you mean {' or '.join(near)}? " if near else ""
                raise UsageError(
                    f"select: rule {rule.name} names column {name!r}, which no step makes; {hint}`tonnage schema "
                    f"--columns` lists them"
                )
        for expression in _expressions(rule):
            try:
                kind = empty.select(expression.alias("verdict")).schema["verdict"]
            except pl.exceptions.PolarsError as fault:
                reason = str(fault).splitlines()[0]
                raise UsageError(
                    f"select: rule {rule.name} cannot be computed ({reason}); mend its condition"
                ) from fault
            if kind != pl.Boolean:
                raise UsageError(f"select: rule {rule.name} is a {kind}, not a condition; compare it with something")
            if not _by_row(expression, available):
                raise UsageError(
                    f"select: rule {rule.name} looks at several documents at once (avg, count, rank, over and the "
                    f"like), but a rule decides on one document alone; compare with a fixed number"
                )


def _by_row(expression: pl.Expr, available: Mapping[str, pl.DataType]) -> bool:
    """Whether every part of `expression` is a literal or a function of one row."""
    meta = expression.meta
    return meta.is_literal() or (
        _alone(expression) and all(_by_row(part, available) for part in meta.pop(schema=available))
    )


def _alone(expression: pl.Expr) -> bool:
    """Whether the outermost function of `expression` takes rows one by one."""
    meta = expression.meta
    try:
        return meta.is_row_separable() and (meta.is_length_preserving() or meta.is_scalar())
    except pl.exceptions.ColumnNotFoundError:
        return True  # polars resolves these by the types of their columns: IN, ROUND and other scalar functions


def apply_rules(rules: Sequence[Rule], columns: pl.DataFrame, source: str) -> Verdicts:
    """The verdict on every row of `columns`, which holds all that `columns_needed` names, one row a document."""
    reason = np.full(columns.height, -1, np.int16)
    not_applicable: dict[str, int] = {}
    for index, rule in enumerate(rules):
        waiting = reason == -1
        verdict = _verdict(rule, columns, source)
        reason[waiting & (verdict == 1)] = index
        not_applicable[rule.name] = int(np.count_nonzero(waiting & (verdict == -1)))
    return Verdicts(reason, not_applicable)


def _verdict(rule: Rule, columns: pl.DataFrame, source: str) -> np.ndarray:
    """int8 per row: 1 drop, 0 keep, -1 not applicable."""
    if rule.sources is not None and source not in rule.sources:
        return np.full(columns.height, -1, np.int8)
    verdict = _parse(rule, rule.drop).cast(pl.Int8).fill_null(-1)
    if rule.when is not None:
        verdict = pl.when(_parse(rule, rule.when).fill_null(False)).then(verdict).otherwise(pl.lit(-1, pl.Int8))
    result = columns.select(verdict.alias("verdict"))["verdict"].to_numpy()
    return np.broadcast_to(result, columns.height) if len(result) != columns.height else result


def _expressions(rule: Rule) -> list[pl.Expr]:
    texts = [rule.drop] if rule.when is None else [rule.drop, rule.when]
    return [_parse(rule, text) for text in texts]


def _parse(rule: Rule, text: str) -> pl.Expr:
    try:
        return pl.sql_expr(text)
    except pl.exceptions.PolarsError as fault:
        reason = str(fault).splitlines()[0]
        raise UsageError(f"select: rule {rule.name} is no valid SQL condition ({reason}): {text}") from fault


def cell_names(dimensions: Sequence[str], values: Mapping[str, Sequence[str] | np.ndarray], rows: int) -> np.ndarray:
    """The cell of each row: its values of `dimensions` joined by '-', quality buckets written q0, q1, ...;
    object[rows].
    """
    parts = []
    for dimension in dimensions:
        column = values[dimension]
        parts.append([f"q{value}" if dimension == "quality" else str(value) for value in column])
    return np.array(["-".join(row) for row in zip(*parts, strict=True)] if rows else [], dtype=object)
