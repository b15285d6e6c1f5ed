"""What the README shows must work: its recipe loads, its commands and targets exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from tonnage.cli import app
from tonnage.recipe.schema import Recipe

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_smallest_recipe_is_a_recipe() -> None:
    block = re.search(r"^    name: mine\n(?:    .*\n)+", README, re.MULTILINE)
    assert block is not None
    recipe = Recipe.model_validate(yaml.safe_load(block.group().replace("\n    ", "\n").strip()))
    assert list(recipe.sources) == ["web"] and recipe.export[0].format == "megatron"


def test_every_command_and_target_that_it_names_exists() -> None:
    commands = set(re.findall(r"(?:`|bin/)tonnage ([a-z]+)", README))
    assert commands and commands <= set(get_command(app).commands)
    targets = set(re.findall(r"^    make ([a-z]+)|`make ([a-z]+)`", README, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{one or other}:", makefile, re.MULTILINE) for one, other in targets)


@pytest.mark.parametrize("name", re.findall(r"\]\(([^)]+)\)", README))
def test_every_link_leads_somewhere(name: str) -> None:
    assert (ROOT / name).exists()
