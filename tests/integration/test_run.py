"""A recipe run from the command line: its numbers, its files, and what a second run does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from support.small_run import (
    content_hashes,
    done,
    recipe,
    refused,
    set_times,
    stats,
    tonnage,
    write_corpus,
    write_recipe,
)


def test_every_row_is_a_document_or_a_reject_and_every_document_kept_or_dropped(finished: Path) -> None:
    content = stats(finished)
    assert {name: entry["read"] for name, entry in content["sources"].items()} == {"pages": 60, "notes": 64, "code": 8}
    for entry in [*content["sources"].values(), content["total"]]:
        assert entry["read"] == entry["documents"] + entry["rejected"]
        assert entry["documents"] == entry["kept"] + sum(entry["dropped"].values())
    for unit in ("documents", "tokens"):
        kept = content["total"]["kept"] + content["total"]["tokens"] if unit == "tokens" else content["total"]["kept"]
        assert sum(cell[unit] for cell in content["cells"].values()) == kept


def test_documents_fall_for_the_reasons_they_were_written_for(finished: Path) -> None:
    sources = stats(finished)["sources"]
    assert sources["pages"]["dropped"] == {"gopher-dup-lines": 1, "gopher-short": 1}
    assert sources["notes"]["dropped"] == {"exact-duplicate": 4}
    assert sources["code"]["dropped"] == {}


def test_a_finished_run_verifies(finished: Path) -> None:
    lines = done(finished, "verify", "runs/small").stdout.splitlines()
    assert len(lines) == 7 and all(line.endswith("ok") for line in lines)


def test_tokens_are_those_of_hugging_face_with_eos_behind_each_document(finished: Path) -> None:
    run = finished / "runs/small"
    tokenizer = tokenizers.Tokenizer.from_file(str(next(run.glob("models/tokenizer-*/tokenizer.json"))))
    eos = tokenizer.token_to_id("<|endoftext|>")
    cell = next(run.glob("tokens-*/code-q*"))
    ids = np.fromfile(next(cell.glob("*.tokens")), "<u2").tolist()
    pieces = "".join(tokenizer.decode(ids, skip_special_tokens=False)).split("<|endoftext|>")
    raw = {path.read_text(encoding="utf-8") for path in (finished / "raw/code").iterdir()}
    assert ids[-1] == eos and set(pieces[:-1]) <= raw


def test_mix_prints_the_budget_to_one_sequence(finished: Path) -> None:
    content = json.loads(done(finished, "mix", "runs/small", "--json").stdout)
    assert [phase["sequences"] for phase in content["phases"]] == [500, 125]
    assert content["phases"][1]["cells"]["prose-q1"]["sequences"] == 94
    table = done(finished, "mix", "runs/small").stdout
    assert "midtraining" in table and "epochs" in table


def test_looks_show_what_they_are_asked_for(finished: Path) -> None:
    assert "the same line again" in done(finished, "show", "runs/small", "--dropped", "gopher-dup-lines").stdout
    assert "dup_line_ratio: 0.9" in done(finished, "show", "runs/small", "--dropped", "gopher-dup-lines").stdout
    assert "kept instead: pages/" in done(finished, "show", "runs/small", "--dropped", "exact-duplicate").stdout
    code = next(cell for cell in stats(finished)["cells"] if cell.startswith("code"))
    assert "def function_" in done(finished, "show", "runs/small", "--cell", code, "-n", "1").stdout
    assert "There is no such document" in done(finished, "show", "runs/small", "--rejects", "pages").stdout
    for table in ("source", "rule", "cell", "shard"):
        assert done(finished, "stats", "runs/small", "--by", table).stdout
    assert "is no table" in refused(finished, "stats", "runs/small", "--by", "colour")
    assert "is no rule" in refused(finished, "show", "runs/small", "--dropped", "gopher")
    assert "is no cell" in refused(finished, "show", "runs/small", "--cell", "prose-q7")
    assert "holds no run" in refused(finished, "stats", "raw")


def test_plan_says_that_all_is_reused_and_why_a_changed_step_is_not(finished: Path) -> None:
    content = json.loads(done(finished, "plan", "recipe.yaml", "--json").stdout)
    assert all(step["reused"] for step in content["steps"])
    assert content["sources"]["pages"]["files"] > 0 and content["sources"]["pages"]["bytes"] > 0
    changed = json.loads(done(finished, "plan", "recipe.yaml", "--set", "select.0.set.min_words=60", "--json").stdout)
    due = {step["step"]: step["why"] for step in changed["steps"] if not step["reused"]}
    assert set(due) == {
        *("rules", "exact", "buckets", "selection", "tokens", "mixture", "export-megatron", "export-parquet"),
    }
    assert "wordlike < 50" in due["rules"] and "wordlike < 60" in due["rules"]


def test_export_writes_a_folder_of_its_own(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "megatron"
    done(finished, "export", "runs/small", "--to", "megatron", "--out", str(out))
    assert list(out.glob("*/*.idx")) and (out / "blend-midtraining.json").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine", encoding="utf-8")
    sentence = refused(finished, "export", "runs/small", "--to", "parquet", "--out", str(tmp_path / "mine"))
    assert "are no export" in sentence and (tmp_path / "mine/notes.txt").exists()
    assert "is no format" in refused(finished, "export", "runs/small", "--to", "tfrecord", "--out", str(out))


# What a second run does


def test_a_second_run_does_nothing(finished: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*") if path.name != "run.json"}
    outcome = done(finished, "run", "recipe.yaml")
    after = {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*") if path.name != "run.json"}
    files = {path for path in before if path.is_file()}
    assert {path: before[path] for path in files} == {path: after[path] for path in files}
    assert outcome.stderr == ""


def test_a_changed_threshold_scans_no_text(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe())
    done(tmp_path, "run", "recipe.yaml")
    # Without its raw input and its documents' texts, only columns are left to decide from.
    outcome = done(tmp_path, "run", "recipe.yaml", "--until", "selection", "--set", "select.0.set.min_words=1")
    assert "documents" not in " ".join(line.split(":")[0] for line in outcome.stderr.splitlines())
    assert "heuristics" not in outcome.stderr and "train" not in outcome.stderr
    assert "gopher-short" not in stats(tmp_path)["sources"]["pages"]["dropped"]


def test_one_more_file_costs_the_work_on_that_file_alone(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe(annotate=None, cells=["source"], mixture=None))
    done(tmp_path, "run", "recipe.yaml", "--until", "documents")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs/small/documents").rglob("*.parquet")}
    (tmp_path / "raw/code/module9.py").write_text("value = 1\n" * 30, encoding="utf-8")
    done(tmp_path, "run", "recipe.yaml", "--until", "documents")
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs/small/documents").rglob("*.parquet")}
    assert {path.parent.name for path in after if after[path] != before.get(path)} == {"code"}


CUT = ["documents/pages/*.parquet", "columns/heuristics-*/notes/*", "tokens-*/*/*.tokens"]


@pytest.mark.parametrize("pattern", CUT)
def test_a_cut_file_is_found_and_made_anew(tmp_path: Path, pattern: str) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe())
    done(tmp_path, "run", "recipe.yaml")
    run = tmp_path / "runs/small"
    before = content_hashes(run)
    victim = sorted(run.glob(pattern))[0]
    content = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(content[:-7])
    assert "FAULTS" in tonnage(tmp_path, "verify", "runs/small").stdout
    done(tmp_path, "run", "recipe.yaml")
    assert content_hashes(run) == before
    done(tmp_path, "verify", "runs/small")


def test_a_changed_index_of_tokens_is_found_and_made_anew(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe(export=None))
    done(tmp_path, "run", "recipe.yaml")
    index = next((tmp_path / "runs/small").glob("tokens-*/tokens.json"))
    before = index.read_bytes()
    content = json.loads(before)
    content["cells"].popitem()
    index.write_text(json.dumps(content), encoding="utf-8")
    faults = tonnage(tmp_path, "verify", "runs/small").stdout
    assert "tokens.json is missing or not the file that was written" in faults
    assert "in the token shards" in faults
    for damage in (lambda: None, index.unlink):
        damage()
        done(tmp_path, "run", "recipe.yaml")
        assert index.read_bytes() == before


def test_a_mixture_of_an_earlier_recipe_is_neither_exported_nor_verified(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe(export=None))
    done(tmp_path, "run", "recipe.yaml")
    done(tmp_path, "run", "recipe.yaml", "--until", "tokens", "--set", "mixture.budget=30K")
    assert "mixture  " not in done(tmp_path, "verify", "runs/small").stdout
    export = ("export", "runs/small", "--to", "megatron", "--out", "out")
    assert "the mixture of run runs/small is not there yet" in refused(tmp_path, *export)
    done(tmp_path, "run", "recipe.yaml", "--set", "mixture.budget=30K")
    assert "mixture  " in done(tmp_path, "verify", "runs/small").stdout
    done(tmp_path, *export)


def test_verify_misses_no_manifest_and_no_count(tmp_path: Path, finished: Path) -> None:
    run = tmp_path / "runs/small"
    shutil.copytree(finished / "runs/small", run)
    record = json.loads((run / "run.json").read_bytes())
    pages = record["funnel"]["pages"]
    pages["kept"]["documents"] -= 1
    pages["kept"]["tokens"] += 1
    record["stats"]["total"]["kept"] += 1
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    manifest = next(run.glob("manifests/export-parquet-*.json"))
    manifest.write_bytes(manifest.read_bytes()[:100])
    faults = tonnage(tmp_path, "verify", "runs/small").stdout
    assert f"manifests/{manifest.name}, which lists the files of a finished step, is missing or damaged" in faults
    assert "source pages: kept is" in faults and "source pages: kept, tokens is" in faults
    assert "stats.total and the funnel in run.json contradict each other" in faults


# The same bytes whatever does not matter


def test_workers_hash_seed_and_order_of_files_change_no_byte(tmp_path: Path) -> None:
    content = recipe()
    for name, workers, seed in (("one", "1", "0"), ("four", "4", "1234")):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name)
        if name == "four":
            content["sources"]["pages"]["path"] = ["raw/b.jsonl.gz", "raw/a.jsonl"]
            for path in sorted((tmp_path / name / "raw/code").iterdir(), reverse=True):
                text = path.read_bytes()
                path.unlink()
                path.write_bytes(text)
            set_times(tmp_path / name / "raw")
        for source in content["sources"].values():
            source["task_bytes"] = 4096
        write_recipe(tmp_path / name, content)
        done(tmp_path / name, "run", "recipe.yaml", "--workers", workers, PYTHONHASHSEED=seed)
    one, four = (content_hashes(tmp_path / name / "runs/small") for name in ("one", "four"))
    assert len(one) > 40
    assert {name for name in one if one[name] != four.get(name)} == set()
    assert set(one) == set(four)
