"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes with one CPU each, on this machine; its workers can import `support`."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    try:
        cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    finally:
        os.environ.clear()
        os.environ.update(before)
    yield cluster
    cluster.shutdown()
