"""Fixtures that several folders of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small_run import done, recipe, write_corpus, write_recipe


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of the small recipe in runs/small, which tests only read."""
    folder = tmp_path_factory.mktemp("finished")
    write_corpus(folder)
    write_recipe(folder, recipe())
    done(folder, "run", "recipe.yaml", "--workers", "2")
    return folder
