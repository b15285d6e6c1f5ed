"""A recipe's faults are named with file, line, key, what was found and the mend."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tonnage.errors import UsageError
from tonnage.recipe import json_schema, load_recipe
from tonnage.recipe.presets import presets, rules_of
from tonnage.recipe.schema import SelectItem, parse_amount

SHIPPED = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))

RECIPE = """name: small
sources:
  web: {kind: jsonl, path: raw/*.jsonl, language: en}
  code: {kind: code, path: raw/repos}
tokenizer: {train: {vocab_size: 1000}}
mixture:
  budget: 18.75T
  phases:
    pretraining: {share: 0.8, weights: {strategy: proportional}}
    midtraining: {share: 0.2, weights: {web: 0.5, code: 0.5}}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def fault(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_recipe(written(folder, text), overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_whole_recipe(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path, RECIPE))
    assert recipe.mixture is not None
    assert recipe.mixture.budget == 18_750_000_000_000
    assert list(recipe.sources) == ["web", "code"]


@pytest.mark.parametrize(
    ("text", "number"), [("18.75T", 18_750_000_000_000), ("300B", 3 * 10**11), ("2k", 2000), (7, 7)]
)
def test_amounts_are_exact(text: object, number: int) -> None:
    assert parse_amount(text) == number


def test_an_unknown_key_is_named_with_its_line_and_a_near_one(tmp_path: Path) -> None:
    message = fault(tmp_path, RECIPE.replace("kind: jsonl, path", "kind: jsonl, pth"))
    assert "recipe.yaml:3" in message
    message = fault(tmp_path, RECIPE + "tokeniser: {}\n")
    assert "recipe.yaml:11: unknown key tokeniser; did you mean tokenizer?" in message


def test_a_doubled_key_is_refused(tmp_path: Path) -> None:
    assert "recipe.yaml:11: key name stands twice (first in line 1)" in fault(tmp_path, RECIPE + "name: other\n")


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_recipe(tmp_path: Path, text: str) -> None:
    assert "is empty; a recipe needs at least name and sources" in fault(tmp_path, text)


def test_no_yaml_and_no_file(tmp_path: Path) -> None:
    assert "recipe.yaml:1" in fault(tmp_path, "name: [unclosed\n") or "recipe.yaml:2" in fault(tmp_path, "name: [x\n")
    with pytest.raises(UsageError, match="cannot be read"):
        load_recipe(str(tmp_path / "absent.yaml"))


def test_a_wrong_value_says_what_was_found(tmp_path: Path) -> None:
    message = fault(tmp_path, RECIPE.replace("budget: 18.75T", "budget: plenty"))
    assert "recipe.yaml:7: mixture.budget: found 'plenty'; needs a number such as 18.75T" in message


def test_set_changes_one_key(tmp_path: Path) -> None:
    path = written(tmp_path, RECIPE)
    changed = load_recipe(path, ["seed=3", "mixture.budget=2M", "sources.web.language=de"])
    assert changed.mixture is not None
    assert (changed.seed, changed.mixture.budget, changed.sources["web"].language) == (3, 2_000_000, "de")


@pytest.mark.parametrize("override", ["seed", "=3", "name.x=1"])
def test_a_wrong_set_is_refused(tmp_path: Path, override: str) -> None:
    assert f"--set {override}" in fault(tmp_path, RECIPE, override)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("tokenizer: {train: {vocab_size: 1000}}\n", ""), "needs a tokenizer"),
        (("name: small", "name: small\ncells: [quality]"), "cells by quality need annotate.quality"),
        (
            ("name: small", "name: small\nannotate: {quality: {train: {positive: [books], negative: [web]}}}"),
            "names source 'books'",
        ),
        (("weights: {web: 0.5, code: 0.5}", "weights: {web: much}"), "the weight of web must be a number"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    assert says in fault(tmp_path, RECIPE.replace(*change))


def test_presets_fill_in_thresholds_and_leave_rules_out() -> None:
    for name in presets():
        assert rules_of([SelectItem(use=name)])
    changed = rules_of([SelectItem(use="gopher-quality", set={"min_words": 20}, without=["gopher-long"])])
    assert [rule.drop for rule in changed if rule.name == "gopher-short"] == ["wordlike < 20.0"]
    assert "gopher-long" not in [rule.name for rule in changed]


@pytest.mark.parametrize(
    "item",
    [
        SelectItem(use="gopher"),
        SelectItem(use="c4", set={"min_words": 1}),
        SelectItem(use="c4", without=["gopher-short"]),
    ],
)
def test_unknown_presets_thresholds_and_rules_are_refused(item: SelectItem) -> None:
    with pytest.raises(UsageError, match="select: "):
        rules_of([item])


def test_two_rules_of_one_name_are_refused() -> None:
    own = SelectItem(name="mine", drop="words < 3")
    with pytest.raises(UsageError, match="two rules are called mine"):
        rules_of([own, own])


def test_the_schema_names_every_top_level_key() -> None:
    assert {"name", "sources", "select", "mixture"} <= set(json_schema()["properties"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_recipes_load_and_their_phases_are_whole(path: Path) -> None:
    recipe = load_recipe(str(path))
    rules_of(recipe.select)
    assert recipe.mixture is not None
    assert [phase.share for phase in recipe.mixture.phases.values()] == [0.8, 0.2]
    for phase in recipe.mixture.phases.values():
        table = {cell: weight for cell, weight in phase.weights.items() if cell != "strategy"}
        assert not table or math.fsum(table.values()) == pytest.approx(1, abs=1e-12)
