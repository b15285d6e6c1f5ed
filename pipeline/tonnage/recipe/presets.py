"""From the recipe's `select` list to plain rules: presets opened up, thresholds filled in.

presets.yaml holds the presets with each threshold's source; what a rule does to a document is select.py's.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tonnage.errors import UsageError
from tonnage.recipe.schema import SelectItem
from tonnage.select import TAKEN_NAMES, Rule


@functools.cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """Every preset by name, as written in presets.yaml."""
    text = importlib.resources.files("tonnage.recipe").joinpath("presets.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def rules_of(items: Sequence[SelectItem]) -> tuple[Rule, ...]:
    """The rules of a recipe in the order in which they decide.

    Raises UsageError for an unknown preset, threshold or rule, for two rules of one name, and for a name that is taken.
    """
    rules: list[Rule] = []
    for item in items:
        rules.extend(_own_rule(item) if item.use is None else _preset_rules(item, item.use))
    seen: set[str] = set()
    for rule in rules:
        if rule.name in TAKEN_NAMES:
            raise UsageError(f"select: {rule.name} is a reason that every run has; call the rule something else")
        if rule.name in seen:
            raise UsageError(f"select: two rules are called {rule.name}; give each rule a name of its own")
        seen.add(rule.name)
    return tuple(rules)


def _own_rule(item: SelectItem) -> list[Rule]:
    return [Rule(name=item.name or "", drop=item.drop or "", when=item.when, sources=_sources(item))]


def _sources(item: SelectItem) -> tuple[str, ...] | None:
    return None if item.sources is None else tuple(item.sources)


def _preset_rules(item: SelectItem, name: str) -> list[Rule]:
    preset = presets().get(name)
    if preset is None:
        raise UsageError(f"select: there is no preset {name!r}; presets are {', '.join(sorted(presets()))}")
    thresholds = dict(preset["thresholds"])
    for key, value in item.set.items():
        if key not in thresholds:
            raise UsageError(f"select: preset {name} has no threshold {key!r}; it has {', '.join(thresholds)}")
        thresholds[key] = value
    known = [rule["name"] for rule in preset["rules"]]
    for left_out in item.without:
        if left_out not in known:
            raise UsageError(f"select: preset {name} has no rule {left_out!r}; it has {', '.join(known)}")
    return [
        Rule(
            name=rule["name"],
            drop=rule["drop"].format(**thresholds),
            when=_both(preset.get("when"), rule.get("when"), thresholds),
            sources=_sources(item),
        )
        for rule in preset["rules"]
        if rule["name"] not in item.without
    ]


def _both(first: str | None, second: str | None, thresholds: Mapping[str, Any]) -> str | None:
    parts = [f"({part.format(**thresholds)})" for part in (first, second) if part]
    return " AND ".join(parts) or None
