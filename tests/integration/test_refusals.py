"""What cannot be is refused in one sentence with exit 2, before any work: no run folder is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.small_run import done, recipe, refused, tonnage, write_corpus, write_recipe

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refusals")
    write_corpus(folder)
    (folder / "void").mkdir()
    (folder / "raw/dangling.jsonl").symlink_to("nothing-there.jsonl")
    (folder / "broken.json").write_text('{"model": {}}', encoding="utf-8")
    (folder / "broken.bin").write_bytes(b"no model")
    return folder


def at(path: str, value: Any) -> Change:
    """Sets the key `path` (dots, list indices) of a recipe."""

    def change(content: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        place: Any = content
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        place[int(last) if isinstance(place, list) else last] = value

    return change


PAGES = "sources.pages.path"
WEIGHTS = "mixture.phases.midtraining.weights"
REFUSALS: list[tuple[Change, str]] = [
    (at("sorces", {}), "recipe.yaml:56: unknown key sorces; did you mean sources?"),
    (at("sources.pages.kind", "warc"), "recipe.yaml:4: sources.pages.kind: found 'warc'; it must be 'jsonl'"),
    (at("name", "a/b"), "name 'a/b' may hold letters"),
    (at("mixture.phases", {"a/b": {"share": 1, "weights": {"strategy": "proportional"}}}), "name 'a/b' may hold"),
    (at(PAGES, "raw/none.jsonl"), "raw/none.jsonl does not exist"),
    (at(PAGES, "raw/*.none"), "raw/*.none matches no file"),
    (at(PAGES, "void"), "the folder void holds no file"),
    (at(PAGES, "raw/dangling.jsonl"), "raw/dangling.jsonl does not exist"),
    (at(PAGES, "/dev/null"), "is neither a file nor a folder"),
    (at(PAGES, "nosuch://bucket/x.jsonl"), "cannot be opened (Protocol not known: nosuch)"),
    (at("sources.pages.exclude", ["**"]), "leaves none of its 2 files"),
    (at(WEIGHTS, {"prose-q1": 0.5, "prose-q0": 0.25}), "its weights sum to 0.75, not 1"),
    (at(WEIGHTS, {"prose-q1": 1.5, "prose-q0": -0.5}), "the weight of cell prose-q0 is -0.5"),
    (at(WEIGHTS, {"prose-q9": 0.5, "prose-q0": 0.5}), "did you mean prose-q1 or prose-q0?"),
    (at("mixture.phases.midtraining.share", 0.3), "the shares of the phases sum to 1.1"),
    (at("mixture.budget", "-5"), "mixture.budget: found '-5'"),
    (at("select.0.use", "gofer"), "there is no preset 'gofer'"),
    (at("select.0.set", {"min_word": 3}), "has no threshold 'min_word'; it has min_words"),
    (at("select.0", {"name": "x", "drop": "wrds < 3"}), "names column 'wrds', which no step makes; did you mean words"),
    (at("select.0", {"name": "x", "drop": "words <<"}), "rule x is no valid SQL condition"),
    (at("select.0", {"name": "x", "drop": "words > 'a'"}), "rule x cannot be computed"),
    (at("select.0", {"name": "x", "drop": "words + 1"}), "not a condition"),
    (at("select.0", {"name": "x", "drop": "words > avg(words)"}), "looks at several documents at once"),
    (at("select.0", {"name": "empty", "drop": "words < 3"}), "empty is a reason that every run has"),
    (at("select.0", {"name": "exact-duplicate", "drop": "words < 3"}), "exact-duplicate is a reason that every run"),
    (at("sources.pages.language", "../../x"), "name '../../x' may hold"),
    (at("export.1.format", "megatron"), "export lists megatron twice"),
    (at("acknowledge", ["gopher-shrt:pages"]), "did you mean gopher-short:pages?"),
    (at("tokenizer", {"file": "none.json"}), "tokenizer names none.json, which cannot be read"),
    (at("tokenizer", {"file": "broken.json"}), "is no tokenizer.json"),
    (at("tokenizer.eos", ""), "tokenizer.eos: found ''"),
    (at("annotate.quality", {"model": "none.bin", "label": "x", "buckets": 2}), "names none.bin, which cannot be read"),
    (at("annotate.quality", {"model": "broken.bin", "label": "x", "buckets": 2}), "broken.bin is"),
]


@pytest.mark.parametrize(("change", "says"), REFUSALS, ids=[says[:40] for _, says in REFUSALS])
def test_a_recipe_that_cannot_be_is_refused_before_any_work(corpus: Path, change: Change, says: str) -> None:
    content = recipe()
    change(content)
    write_recipe(corpus, content)
    sentence = refused(corpus, "run", "recipe.yaml")
    assert says in sentence
    assert not (corpus / "runs").exists()


def test_two_cells_of_one_name_are_refused(corpus: Path) -> None:
    content = recipe(cells=["source", "language"], mixture=None)
    content["sources"]["pages"]["language"] = "b-c"
    content["sources"]["pages-b"] = content["sources"].pop("notes") | {"language": "c"}
    content["annotate"]["quality"]["train"]["negative"] = ["pages-b"]
    write_recipe(corpus, content)
    assert "pages/b-c and pages-b/c would both be cell pages-b-c" in refused(corpus, "run", "recipe.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "recipe.yaml is empty; a recipe needs at least name and sources"),
        ("- a\n", "a recipe is a mapping of keys, found a list"),
        ("name: [", "this is no valid YAML"),
        ("name: x\nname: y\n", "key name stands twice"),
        ("name: x\n", "key sources is missing"),
    ],
)
def test_a_file_that_is_no_recipe(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "recipe.yaml").write_text(text, encoding="utf-8")
    assert says in refused(tmp_path, "run", "recipe.yaml")


def test_no_file_and_no_text(tmp_path: Path) -> None:
    assert "recipe none.yaml cannot be read (No such file or directory)" in refused(tmp_path, "run", "none.yaml")
    (tmp_path / "recipe.yaml").write_bytes(b"name: \xff\n")
    assert "recipe.yaml is no UTF-8 text" in refused(tmp_path, "run", "recipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    assert "Is a directory" in refused(tmp_path, "run", "folder.yaml")


def test_a_wrong_stage_or_assignment_is_refused(corpus: Path) -> None:
    write_recipe(corpus, recipe())
    assert "tokns is no stage; stages are documents" in refused(corpus, "run", "recipe.yaml", "--until", "tokns")
    assert "--set seed is no assignment" in refused(corpus, "run", "recipe.yaml", "--set", "seed")
    assert tonnage(corpus, "run", "recipe.yaml", "--workers", "0").returncode == 2
    assert tonnage(corpus, "sail").returncode == 2
    assert not (corpus / "runs").exists()


def test_plan_refuses_what_run_refuses(corpus: Path) -> None:
    write_recipe(corpus, recipe(select=[{"use": "gofer"}]))
    assert "there is no preset" in refused(corpus, "plan", "recipe.yaml")


def test_debug_shows_where_an_error_was_raised(corpus: Path) -> None:
    write_recipe(corpus, recipe(select=[{"use": "gofer"}]))
    outcome = tonnage(corpus, "run", "recipe.yaml", "--debug")
    assert outcome.returncode != 0 and "Traceback" in outcome.stderr


def test_looks_at_what_is_no_run_are_refused(corpus: Path) -> None:
    for command in (["stats"], ["show"], ["verify"], ["mix"]):
        assert "holds no run" in refused(corpus, *command, "raw")
    assert "holds no run" in refused(corpus, "export", "raw", "--to", "megatron", "--out", "out")


def test_a_run_without_tokens_has_no_export_and_no_mixture(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe())
    done(tmp_path, "run", "recipe.yaml", "--until", "documents")
    assert "no token shards yet" in refused(tmp_path, "export", "runs/small", "--to", "megatron", "--out", "out")
    assert "no token shards yet" in refused(tmp_path, "mix", "runs/small")
    assert not (tmp_path / "out").exists()


def test_a_recipe_without_a_tokenizer_shows_no_tokens_and_says_what_an_export_lacks(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe(tokenizer=None, mixture=None, export=[]))
    run = done(tmp_path, "run", "recipe.yaml")
    by_shard = done(tmp_path, "stats", "runs/small", "--by", "shard")
    assert "kept bytes" in run.stdout and "tokens" not in run.stdout + by_shard.stdout
    assert "has no tokenizer" in refused(tmp_path, "export", "runs/small", "--to", "megatron", "--out", "out")
