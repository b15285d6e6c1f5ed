"""Bad input driven through a whole run: what it costs, how it is counted, and what it never ends."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from support.small_run import done, paragraphs, recipe, refused, stats, tonnage, write_corpus, write_recipe

BARE: dict[str, Any] = {"annotate": None, "cells": ["source"], "mixture": None, "export": None, "select": None}


def lines_of(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def write_texts(folder: Path, name: str, texts: list[str]) -> None:
    (folder / name).write_bytes(lines_of(texts))


def dropped(folder: Path, source: str) -> dict[str, int]:
    return dict(stats(folder)["sources"][source]["dropped"])


# Damaged containers


def damaged_folder(folder: Path) -> None:
    whole = lines_of(paragraphs(1000))
    (folder / "raw").mkdir()
    (folder / "raw/cut.jsonl.gz").write_bytes(gzip.compress(whole, mtime=0)[:-200])
    (folder / "raw/cut.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(whole)[:-200])
    (folder / "raw/noise.jsonl.gz").write_bytes(np.random.default_rng(1).bytes(4000))
    (folder / "raw/good.jsonl.gz").write_bytes(gzip.compress(lines_of(paragraphs(50, seed=9)), mtime=0))


def test_damaged_files_are_named_all_else_is_done_and_the_exit_is_not_zero(tmp_path: Path) -> None:
    damaged_folder(tmp_path)
    write_recipe(tmp_path, recipe(sources={"web": {"kind": "jsonl", "path": "raw", "max_rejects": 0.1}}, **BARE))
    sentence = refused(tmp_path, "run", "recipe.yaml", code=1)
    assert "damaged input files were left out: 3 in source web" in sentence
    counts = stats(tmp_path)["sources"]["web"]
    assert (counts["read"], counts["rejected"], counts["documents"]) == (53, 3, 50)
    shown = done(tmp_path, "show", "runs/small", "--rejects", "web").stdout
    assert "cut.jsonl.gz" in shown and "cut.jsonl.zst" in shown and "noise.jsonl.gz" in shown
    assert "whole records" in shown and "at byte" in shown
    done(tmp_path, "verify", "runs/small")


def test_keep_prefix_keeps_whole_records_lists_the_files_and_is_accepted(tmp_path: Path) -> None:
    damaged_folder(tmp_path)
    web = {"kind": "jsonl", "path": "raw", "on_damaged": "keep-prefix"}
    write_recipe(tmp_path, recipe(sources={"web": web}, **BARE))
    outcome = done(tmp_path, "run", "recipe.yaml")
    assert "damaged files 3" in outcome.stdout
    counts = stats(tmp_path)["sources"]["web"]
    assert counts["rejected"] == 3 and 50 < counts["documents"] < 2050
    assert counts["read"] == counts["documents"] + counts["rejected"]


def test_too_many_rejects_end_the_run_by_the_recipes_own_limit(tmp_path: Path) -> None:
    texts = lines_of(paragraphs(95)) + b"{no json\n" * 5
    (tmp_path / "web.jsonl").write_bytes(texts)
    web = {"kind": "jsonl", "path": "web.jsonl", "max_rejects": 0.04}
    write_recipe(tmp_path, recipe(sources={"web": web}, **BARE))
    assert "5 of 100 rows were rejected, more than max_rejects = 0.04" in refused(
        tmp_path, "run", "recipe.yaml", code=1
    )
    done(tmp_path, "run", "recipe.yaml", "--set", "sources.web.max_rejects=0.05")
    assert stats(tmp_path)["sources"]["web"]["rejected"] == 5


def test_a_non_empty_file_without_any_row_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "web.jsonl").write_bytes(b"\n\n\n")
    write_recipe(tmp_path, recipe(sources={"web": {"kind": "jsonl", "path": "web.jsonl"}}, **BARE))
    assert "gave no record at all" in refused(tmp_path, "run", "recipe.yaml", code=1)


# Texts that break measures


NOTHING = ["", " \t\r\n ", ".", "!!!", "\U0001f600", "\n" * 10_000, "a" * 1_000_000, "1234567890"]


def test_texts_with_nothing_to_measure_have_exactly_one_outcome_each(tmp_path: Path) -> None:
    write_texts(tmp_path, "odd.jsonl", NOTHING)
    write_texts(tmp_path, "web.jsonl", ["\n".join(paragraphs(6, seed)) for seed in range(10)])
    sources = {name: {"kind": "jsonl", "path": f"{name}.jsonl", "language": "en"} for name in ("odd", "web")}
    rules = [{"use": preset} for preset in ("gopher-quality", "gopher-repetition", "fineweb", "c4")]
    alarms = ["nothing-kept:odd"]
    write_recipe(tmp_path, recipe(sources=sources, acknowledge=alarms, **{**BARE, "select": rules}))
    done(tmp_path, "run", "recipe.yaml")
    counts = stats(tmp_path)["sources"]["odd"]
    assert counts["documents"] == 8 and sum(counts["dropped"].values()) == 8
    assert counts["dropped"]["empty"] == 3
    done(tmp_path, "verify", "runs/small")


def test_short_texts_are_deduplicated_exactly_and_empty_ones_fall_as_empty(tmp_path: Path) -> None:
    write_texts(tmp_path, "web.jsonl", ["cat", "dog", "cat", "a b c d", "e f g h", "", ""])
    write_recipe(tmp_path, recipe(sources={"web": {"kind": "jsonl", "path": "web.jsonl"}}, tokenizer=None, **BARE))
    done(tmp_path, "run", "recipe.yaml")
    counts = stats(tmp_path)["sources"]["web"]
    assert counts["kept"] == 4 and counts["dropped"] == {"empty": 2, "exact-duplicate": 1}


def test_hostile_strings_go_through_to_the_tokens(tmp_path: Path) -> None:
    body = paragraphs(1)[0]
    escapes = ["\u2028", "\u0085", "\\u0000", "\\ud83d", "\\ude00", "\\ud83d\\ude00"]
    lines = [f'{{"text": "{body} {escape} {index}"}}' for index, escape in enumerate(escapes)]
    lines += [f'{{"id": 1234567890123456789012345678901234, "text": "{body} big"}}']
    lines += [f'{{"score": NaN, "text": "{body} nan"}}']
    (tmp_path / "web.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_recipe(tmp_path, recipe(sources={"web": {"kind": "jsonl", "path": "web.jsonl"}}, **BARE))
    outcome = done(tmp_path, "run", "recipe.yaml")
    counts = stats(tmp_path)["sources"]["web"]
    assert counts["read"] == counts["documents"] == counts["kept"] == 8
    assert "replaced surrogates 2" in outcome.stdout
    shown = done(tmp_path, "show", "runs/small", "-n", "8").stdout
    assert "source_id: 1234567890123456789012345678901234" in shown
    done(tmp_path, "verify", "runs/small")


def test_a_schema_that_drifts_gives_the_same_documents_in_both_orders(tmp_path: Path) -> None:
    texts = paragraphs(300)
    rows: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        row: dict[str, Any] = {"text": text, "meta": {"url": None}, "tags": [], "score": index}
        if index >= 200:
            row["meta"] = {"url": f"https://example.org/{index}"}
        if index >= 250:
            row["score"] = "n/a"
        if index == 260:
            row["meta"] = "a string"
        if index == 270:
            row["meta"] = {}
        rows.append(row)
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    sources = {name: {"kind": "jsonl", "path": f"{name}.jsonl", "url": "meta.url"} for name in ("a", "b")}
    write_recipe(tmp_path, recipe(sources=sources, acknowledge=["nothing-kept:b", "exact-duplicate:b"], **BARE))
    done(tmp_path, "run", "recipe.yaml")
    counts = stats(tmp_path)["sources"]
    assert counts["a"]["kept"] == 300
    assert counts["b"]["documents"] == 300 and counts["b"]["dropped"] == {"exact-duplicate": 300}


def test_marker_strings_stay_text_and_are_counted_unless_asked_for(tmp_path: Path) -> None:
    body = paragraphs(3)
    write_texts(tmp_path, "web.jsonl", [body[0], f"{body[1]} <|endoftext|> <|im_start|> <|bos|> end", body[2]])
    tokenizer = {"train": {"vocab_size": 400, "special": ["<|im_start|>"]}, "bos": "<|bos|>"}
    web = {"web": {"kind": "jsonl", "path": "web.jsonl"}}
    write_recipe(tmp_path, recipe(sources=web, **{**BARE, "tokenizer": tokenizer}))
    outcome = done(tmp_path, "run", "recipe.yaml")
    assert "3 strings in the texts of documents look like" in outcome.stdout and "encoded as text" in outcome.stdout
    assert stats(tmp_path)["markers"] == 3
    control = {0, 1, 2}
    ids = np.fromfile(next((tmp_path / "runs/small").glob("tokens-*/web/*.tokens")), "<u2")
    assert np.isin(ids, list(control)).sum() == 6  # BOS and EOS of three documents
    outcome = done(tmp_path, "run", "recipe.yaml", "--set", "tokenizer.parse_markers=true")
    assert "became control tokens" in outcome.stdout
    parsed = max((tmp_path / "runs/small").glob("tokens-*/web/*.tokens"), key=lambda path: path.stat().st_mtime_ns)
    assert np.isin(np.fromfile(parsed, "<u2"), list(control)).sum() == 9


def test_documents_may_end_with_nothing(tmp_path: Path) -> None:
    write_texts(tmp_path, "web.jsonl", paragraphs(3))
    tokenizer = {"train": {"vocab_size": 400, "special": ["<|endoftext|>"]}, "eos": None}
    web = {"web": {"kind": "jsonl", "path": "web.jsonl"}}
    write_recipe(tmp_path, recipe(sources=web, **{**BARE, "tokenizer": tokenizer}))
    done(tmp_path, "run", "recipe.yaml")
    ids = np.fromfile(next((tmp_path / "runs/small").glob("tokens-*/web/*.tokens")), "<u2")
    assert 0 not in ids


# Alarms


@pytest.fixture
def alarmed(tmp_path: Path) -> Path:
    """A source of which one rule drops 19 of 20, another that keeps nothing."""
    write_texts(tmp_path, "web.jsonl", [*(f"short {index}" for index in range(19)), *paragraphs(1)])
    write_texts(tmp_path, "bin.jsonl", [f"junk {index}" for index in range(5)])
    sources = {name: {"kind": "jsonl", "path": f"{name}.jsonl", "language": "en"} for name in ("web", "bin")}
    rules = [{"name": "short", "drop": "words < 20"}]
    write_recipe(tmp_path, recipe(sources=sources, **{**BARE, "select": rules}))
    return tmp_path


def test_a_rule_that_drops_nearly_all_stops_the_run_until_it_is_acknowledged(alarmed: Path) -> None:
    sentence = refused(alarmed, "run", "recipe.yaml", code=1)
    assert "rule short drops 19 of 20 documents of source web" in sentence
    assert "nothing is kept of source bin (5 documents)" in sentence
    assert 'acknowledge: ["short:web", "short:bin", "nothing-kept:bin"]' in sentence
    assert not list((alarmed / "runs/small").glob("tokens-*"))
    assert "short 1" in done(alarmed, "show", "runs/small", "--dropped", "short", "-n", "30").stdout
    accepted = "acknowledge=[short:web, short:bin, nothing-kept:bin]"
    done(alarmed, "run", "recipe.yaml", "--set", accepted)
    assert stats(alarmed)["total"]["kept"] == 1


def test_an_acknowledged_alarm_leaves_the_others_standing(alarmed: Path) -> None:
    sentence = refused(alarmed, "run", "recipe.yaml", "--set", "acknowledge=[short:web]", code=1)
    assert "source web" not in sentence and "nothing is kept of source bin" in sentence


def test_a_mixture_of_cells_without_tokens_is_refused_with_its_cell(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    write_recipe(tmp_path, recipe(export=None))
    outcome = tonnage(tmp_path, "run", "recipe.yaml", "--set", "annotate.quality.edges=[2.0]")
    assert outcome.returncode == 2 and "prose-q1" in outcome.stderr and "Traceback" not in outcome.stderr
