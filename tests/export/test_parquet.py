"""The Parquet export, read by the `datasets` library and compared with the run's own token shards."""

from __future__ import annotations

from pathlib import Path

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from support.small_run import done
from support.small_tokens import small_documents, small_tokens

from tonnage.export import ExportInput, card, export_parquet


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("parquet") / "export"
    done(finished, "export", "runs/small", "--to", "parquet", "--text", "--out", str(out))
    return out


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def packed(finished: Path) -> dict[str, list[int]]:
    """Ids of every packed document, by document, from the token shards alone."""
    found = {}
    for path in (finished / "runs/small").glob("tokens-*/*/*.docs.parquet"):
        ids = np.fromfile(path.with_suffix("").with_suffix(".tokens"), "<u2")
        for row in pq.read_table(path).to_pylist():
            found[row["id"]] = ids[row["first"] : row["first"] + row["length"]].tolist()
    return found


def test_datasets_reads_every_packed_document_with_its_ids(finished: Path, exported: Path) -> None:
    rows = datasets.load_dataset(str(exported), split="train")
    assert rows.column_names == ["id", "source", "cell", "license", "url", "input_ids", "text"]
    assert {row["id"]: row["input_ids"] for row in rows} == packed(finished)
    assert {row["license"] for row in rows if row["source"] == "code"} == {"MIT"}


def test_each_cell_is_a_configuration_of_its_own(exported: Path) -> None:
    names = datasets.get_dataset_config_names(str(exported))
    cells = sorted(path.name for path in (exported / "data").iterdir())
    assert sorted(names) == sorted(["default", *cells])
    for cell in cells:
        assert set(datasets.load_dataset(str(exported), cell, split="train")["cell"]) == {cell}


def test_a_cell_called_default_does_not_stand_for_the_whole(tmp_path: Path) -> None:
    key = small_tokens(tmp_path / "run", {"default": [3, 4], "web": [5]})
    small_documents(tmp_path / "run", 2)
    export_parquet(ExportInput(str(tmp_path / "run"), key), str(tmp_path / "out"))
    out = str(tmp_path / "out")
    assert len(datasets.load_dataset(out, split="train")) == 3
    assert sorted(datasets.get_dataset_config_names(out)) == ["cell-default", "cell-web", "default"]
    assert datasets.load_dataset(out, "cell-default", split="train")["cell"] == ["default"] * 2


def test_texts_and_urls_are_those_of_the_documents(finished: Path, exported: Path) -> None:
    documents = {
        (path.parent.name, row["id"]): (row["text"], row["url"])
        for path in (finished / "runs/small/documents").rglob("*.parquet")
        for row in pq.read_table(path, columns=["id", "text", "url"]).to_pylist()
    }
    rows = datasets.load_dataset(str(exported), split="train")
    assert all(documents[row["source"], row["id"]] == (row["text"], row["url"]) for row in rows)
    assert all(row["url"] for row in rows if row["source"] == "pages")


def test_the_card_counts_licences_and_gives_documents_no_markup(exported: Path) -> None:
    text = (exported / "README.md").read_text(encoding="utf-8")
    assert "| code | MIT | 8 |" in text
    assert "## Phase midtraining" in text and "EOS, id" in text
    assert card._escaped("a|b\n<c>") == "a&#124;b&#10;&#60;c&#62;"
