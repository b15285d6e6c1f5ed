"""From a YAML file to a checked Recipe: line numbers for every error, `--set`, duplicate keys refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, cast

import yaml
from pydantic import BaseModel, ValidationError

from tonnage.errors import TonnageError, UsageError
from tonnage.recipe.schema import Recipe
from tonnage.store.files import read_bytes

Path = tuple[str | int, ...]


def load_recipe(path: str, overrides: Iterable[str] = ()) -> Recipe:
    """The recipe in `path` with each `a.b=c` of `overrides` applied.

    Raises UsageError with file, line, key, what was found and what is allowed.
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except TonnageError as fault:
        raise UsageError(f"recipe {fault}") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(
            f"recipe {path} is no UTF-8 text ({fault.reason} at byte {fault.start}); save it as UTF-8"
        ) from fault
    content, lines = _parse(path, text)
    for override in overrides:
        _apply(content, override)
    try:
        return Recipe.model_validate(content)
    except ValidationError as fault:
        raise UsageError(_explain(path, lines, fault)) from fault


def _parse(path: str, text: str) -> tuple[dict[str, Any], dict[Path, int]]:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        problem = getattr(fault, "problem", None) or str(fault).splitlines()[0]
        raise UsageError(f"{where}: this is no valid YAML ({problem}); mend the syntax there") from fault
    if content is None:
        raise UsageError(f"{path} is empty; a recipe needs at least name and sources")
    if not isinstance(content, dict):
        raise UsageError(f"{path}:1: a recipe is a mapping of keys, found a {type(content).__name__}")
    assert node is not None
    lines: dict[Path, int] = {}
    _collect_lines(path, node, (), lines)
    return content, lines


def _collect_lines(file: str, node: yaml.Node, path: Path, lines: dict[Path, int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            child = (*path, key.value)
            if child in lines:
                raise UsageError(
                    f"{file}:{key.start_mark.line + 1}: key {_dotted(child)} stands twice (first in line "
                    f"{lines[child]}); keep one of the two"
                )
            lines[child] = key.start_mark.line + 1
            _collect_lines(file, value, child, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _collect_lines(file, value, (*path, index), lines)


def _apply(content: dict[str, Any], override: str) -> None:
    key, separator, value = override.partition("=")
    if not separator or not key:
        raise UsageError(f"--set {override} is no assignment; write --set key.sub=value")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as fault:
        raise UsageError(f"--set {override}: the value is no valid YAML; quote it") from fault
    place: Any = content
    *parents, last = key.split(".")
    for part in parents:
        place = _enter(place, part, override)
    if isinstance(place, list):
        place[_index(place, last, override)] = parsed
    else:
        place[last] = parsed


def _enter(place: Any, part: str, override: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, part, override)]
    if place.get(part) is None:
        place[part] = {}
    if not isinstance(place[part], (dict, list)):
        raise UsageError(f"--set {override}: {part} holds the value {place[part]!r}, nothing can be set below it")
    return place[part]


def _index(place: list[Any], part: str, override: str) -> int:
    if not part.isdigit() or int(part) >= len(place):
        raise UsageError(f"--set {override}: {part} must be an index from 0 to {len(place) - 1}")
    return int(part)


def _explain(file: str, lines: Mapping[Path, int], fault: ValidationError) -> str:
    """The first fault as one sentence, the others counted."""
    errors = fault.errors()
    first = errors[0]
    path = tuple(part for part in first["loc"] if not _is_tag(first["loc"], part))
    sentence = f"{file}:{_line(path, lines)}: {_describe(path, first)}"
    return sentence if len(errors) == 1 else f"{sentence} ({len(errors) - 1} more after this one)"


def _is_tag(location: tuple[str | int, ...], part: str | int) -> bool:
    """Whether the last part of a location is pydantic's note, no key of the recipe."""
    return part in ("str", "list[str]", "[key]") and location[-1] == part


def _line(path: Path, lines: Mapping[Path, int]) -> int:
    for length in range(len(path), -1, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _describe(path: Path, error: Any) -> str:
    key = _dotted(path) or "the recipe"
    kind, found = error["type"], error.get("input")
    if kind == "extra_forbidden":
        return f"unknown key {key}; {_allowed_keys(path)}"
    if kind == "missing":
        return f"key {key} is missing; add it"
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
    message = message[:1].lower() + message[1:]
    if isinstance(found, (Mapping, BaseModel)):
        return f"{key}: {message}"
    return f"{key}: found {found!r}; {message}"


def _allowed_keys(path: Path) -> str:
    names = sorted(_keys_at(path[:-1]))
    near = difflib.get_close_matches(str(path[-1]), names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{hint}allowed here: {', '.join(names)}" if names else "take it out"


def _keys_at(path: Path) -> list[str]:
    """The keys that the model at `path` allows, found by walking the JSON Schema."""
    schema = Recipe.model_json_schema()
    place: Any = schema
    for part in path:
        place = _resolve(schema, place)
        if isinstance(part, int):
            place = place.get("items", {})
        elif part in place.get("properties", {}):
            place = place["properties"][part]
        else:
            place = place.get("additionalProperties", {})
        if not isinstance(place, dict):
            return []
    return list(_resolve(schema, place).get("properties", {}))


def _resolve(schema: Mapping[str, Any], place: Mapping[str, Any]) -> Mapping[str, Any]:
    if "anyOf" in place:
        place = next((option for option in place["anyOf"] if "$ref" in option), place)
    reference = cast(str | None, place.get("$ref"))
    return schema["$defs"][reference.rsplit("/", 1)[1]] if reference else place


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)
