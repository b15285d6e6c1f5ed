"""From a recipe to steps with content keys, all known before any work starts.

A key is the hash of a step's parameters, its code version and the keys of the steps it builds on. Steps that work on
one documents shard at a time leave the input out of their key: each of their tasks names its own input instead, so one
more file in a source costs the work on that file alone. Corpus-wide steps have the whole input in their key.
Running the steps is run.py's; what is done already is asked of the receipts in reuse.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import xxhash

from tonnage.annotate.heuristics import HEURISTICS_VERSION
from tonnage.dedup.exact import EXACT_VERSION
from tonnage.dedup.signatures import SIGNATURES_VERSION
from tonnage.dedup.verification import FUZZY_VERSION
from tonnage.earlier import SIGNATURES, Earlier, open_all
from tonnage.errors import TonnageError, UsageError
from tonnage.export import EXPORT_VERSION
from tonnage.mixture import MIXTURE_VERSION
from tonnage.quality.score import QUALITY_VERSION
from tonnage.recipe import Recipe
from tonnage.recipe.presets import rules_of
from tonnage.recipe.schema import Export, Fuzzy
from tonnage.select import BUILT_IN, SELECT_VERSION, Rule
from tonnage.sources import SOURCES_VERSION
from tonnage.sources.code_flags import CODE_FLAGS_VERSION
from tonnage.sources.listing import Listing, ReadTask, list_files, plan_tasks
from tonnage.sources.spec import SourceSpec, spec_of
from tonnage.store.files import hash_file
from tonnage.store.layout import shard_task
from tonnage.tokenize.writer import TOKENS_VERSION

DOCUMENTS, HEURISTICS, CODE_FLAGS = "documents", "heuristics", "code-flags"
QUALITY_MODEL, TOKENIZER = "quality-model", "tokenizer"
QUALITY, ENCODED, RULES, EXACT, FUZZY, BUCKETS = "quality", "encoded", "rules", "exact", "fuzzy", "buckets"
SELECTION, TOKENS, MIXTURE, EXPORT = "selection", "tokens", "mixture", "export"
CODE, PROSE = "code", "prose"
TOKEN_SHARD_TOKENS = 1 << 28  # tokens after which a cell's next shard begins: 0.5 or 1 GiB


@dataclass(frozen=True)
class Step:
    """One step: `key` is 16 hex digits, `material` what it was hashed from."""

    name: str
    key: str
    material: Mapping[str, Any]


@dataclass(frozen=True)
class Shard:
    """One documents shard to be: what is read for it, and the hash of that (`inputs` of every task on this shard)."""

    source: str
    shard: int
    read: ReadTask
    inputs: str

    @property
    def task(self) -> str:
        return shard_task(self.source, self.shard)


@dataclass(frozen=True)
class SourcePlan:
    spec: SourceSpec
    listing: Listing
    step: Step
    shards: tuple[Shard, ...]

    @property
    def kind(self) -> str:
        """What rules see as `kind`: code or prose."""
        return kind_of(self.spec.kind)


@dataclass(frozen=True)
class Plan:
    recipe: Recipe
    sources: tuple[SourcePlan, ...]
    rules: tuple[Rule, ...]
    steps: Mapping[str, Step]
    earlier: tuple[Earlier, ...] = ()

    @property
    def shards(self) -> tuple[Shard, ...]:
        """All shards in the order of addresses."""
        return tuple(shard for source in self.sources for shard in source.shards)

    def source(self, name: str) -> SourcePlan:
        return next(source for source in self.sources if source.spec.name == name)


def kind_of(source_kind: str) -> str:
    """What a source of that kind holds: code or prose."""
    return CODE if source_kind == CODE else PROSE


def column_steps(steps: Iterable[str], kind: str) -> tuple[str, ...]:
    """Those of `steps` that leave columns beside the documents of a source of that kind."""
    wanted = [HEURISTICS, SIGNATURES, QUALITY, ENCODED, RULES, EXACT, FUZZY]
    if kind == CODE:
        wanted.append(CODE_FLAGS)
    there = set(steps)
    return tuple(name for name in wanted if name in there)


def digest(content: Any) -> str:
    """16 hex digits of xxh3_64 over the canonical JSON of `content`."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return xxhash.xxh3_64_hexdigest(canonical.encode())


def make_step(name: str, material: Mapping[str, Any]) -> Step:
    return Step(name, digest([name, material]), material)


def make_plan(recipe: Recipe) -> Plan:
    """The plan of `recipe` over the input as it lies there now.

    Raises UsageError when a path, model, preset or rule named in the recipe does not exist.
    """
    rules = (*BUILT_IN, *rules_of(recipe.select))
    sources = tuple(_plan_source(spec_of(name, source)) for name, source in recipe.sources.items())
    steps: dict[str, Step] = {HEURISTICS: make_step(HEURISTICS, {"version": HEURISTICS_VERSION})}
    if any(source.kind == CODE for source in sources):
        steps[CODE_FLAGS] = make_step(CODE_FLAGS, {"version": CODE_FLAGS_VERSION})
    if recipe.dedup.fuzzy is not None:
        steps[SIGNATURES] = make_step(SIGNATURES, _signing(recipe.dedup.fuzzy))
    earlier = open_all(recipe.dedup.against, steps[SIGNATURES].material if SIGNATURES in steps else None)
    corpus = {source.spec.name: digest([shard.inputs for shard in source.shards]) for source in sources}
    _plan_models(recipe, corpus, steps)
    _plan_decisions(recipe, rules, corpus, earlier, steps)
    return Plan(recipe, sources, rules, steps, earlier)


def _signing(fuzzy: Fuzzy) -> dict[str, Any]:
    """What a signature depends on; how its places are cut into bands is decided later."""
    return {
        "version": SIGNATURES_VERSION,
        "ngram": fuzzy.ngram,
        "places": fuzzy.bands * fuzzy.rows,
        "seed": fuzzy.seed,
    }


def _plan_source(spec: SourceSpec) -> SourcePlan:
    listing = list_files(spec)
    parameters = {key: value for key, value in asdict(spec).items() if key not in ("paths", "exclude", "language")}
    material: dict[str, Any] = {"version": SOURCES_VERSION, "source": parameters}
    if spec.kind == "html":
        material["resiliparse"] = version("resiliparse")
    if spec.kind == "code":
        material["magika"] = version("magika")
    step = make_step(DOCUMENTS, material)
    stamps = {file.path: [file.path, file.bytes, file.stamp] for file in listing.files}
    shards = tuple(
        Shard(spec.name, task.shard, task, digest([step.key, _pieces(task, stamps)]))
        for task in plan_tasks(spec, listing.files)
    )
    return SourcePlan(spec, listing, step, shards)


def _pieces(task: ReadTask, stamps: Mapping[str, list[Any]]) -> list[Any]:
    return [[stamps[piece.path], piece.start, piece.end] for piece in task.pieces]


def _plan_models(recipe: Recipe, corpus: Mapping[str, str], steps: dict[str, Step]) -> None:
    """The quality model and the tokenizer, and the columns that they make."""
    quality = recipe.annotate.quality
    if quality is not None:
        if quality.train is not None:
            names = [*quality.train.positive, *quality.train.negative]
            material = {
                "version": QUALITY_VERSION,
                "train": quality.train.model_dump(),
                "seed": recipe.seed,
                "sources": {name: corpus[name] for name in names},
                "fasttext-wheel": version("fasttext-wheel"),
            }
        else:
            material = {"file": _file_hash(str(quality.model), quality.xxh3, "annotate.quality")}
        steps[QUALITY_MODEL] = make_step(QUALITY_MODEL, material)
        scoring = {
            "version": QUALITY_VERSION,
            "model": steps[QUALITY_MODEL].key,
            "label": quality.label,
            "normalise": quality.normalise,
        }
        steps[QUALITY] = make_step(QUALITY, scoring)
    tokenizer = recipe.tokenizer
    if tokenizer is not None:
        if tokenizer.train is not None:
            material = {
                "train": tokenizer.train.model_dump(),
                "eos": tokenizer.eos,
                "bos": tokenizer.bos,
                "seed": recipe.seed,
                "sources": dict(corpus),
                "tokenizers": version("tokenizers"),
            }
        else:
            material = {"file": _file_hash(str(tokenizer.file), None, "tokenizer")}
        steps[TOKENIZER] = make_step(TOKENIZER, material)
        encoding = {
            "version": TOKENS_VERSION,
            "tokenizer": steps[TOKENIZER].key,
            "parse_markers": tokenizer.parse_markers,
            "gigatoken": version("gigatoken"),
            "tokenizers": version("tokenizers"),
        }
        steps[ENCODED] = make_step(ENCODED, encoding)


def _plan_decisions(
    recipe: Recipe,
    rules: Sequence[Rule],
    corpus: Mapping[str, str],
    earlier: Sequence[Earlier],
    steps: dict[str, Step],
) -> None:
    column_keys = {name: steps[name].key for name in (HEURISTICS, CODE_FLAGS, QUALITY, ENCODED) if name in steps}
    languages = {name: source.language for name, source in recipe.sources.items()}
    deciding = {
        "version": SELECT_VERSION,
        "rules": [asdict(rule) for rule in rules],
        "columns": column_keys,
        "languages": languages,
    }
    steps[RULES] = make_step(RULES, deciding)
    order = [[name, corpus[name]] for name in recipe.sources]
    if recipe.dedup.exact is not None:
        material = {
            "version": EXACT_VERSION,
            "rules": steps[RULES].key,
            "documents": order,
            "against": [entry.material for entry in earlier],
        }
        steps[EXACT] = make_step(EXACT, material)
    if recipe.dedup.fuzzy is not None:
        material = {
            "version": FUZZY_VERSION,
            "rules": steps[RULES].key,
            "exact": steps[EXACT].key if EXACT in steps else None,
            "signatures": steps[SIGNATURES].key,
            "documents": order,
            "against": [entry.material for entry in earlier],
            "fuzzy": recipe.dedup.fuzzy.model_dump(exclude={"force"}),
        }
        steps[FUZZY] = make_step(FUZZY, material)
    selecting: dict[str, Any] = {
        "version": SELECT_VERSION,
        "rules": steps[RULES].key,
        "exact": steps[EXACT].key if EXACT in steps else None,
        "fuzzy": steps[FUZZY].key if FUZZY in steps else None,
        "documents": order,
        "cells": list(recipe.cells),
        "languages": languages,
    }
    quality = recipe.annotate.quality
    if quality is not None:
        bucketing = {
            "version": QUALITY_VERSION,
            "survivors": [steps[RULES].key, selecting["exact"], selecting["fuzzy"], order],
            "quality": steps[QUALITY].key,
            "buckets": quality.buckets,
            "edges": quality.edges,
        }
        if quality.edges is None:
            steps[BUCKETS] = make_step(BUCKETS, bucketing)
        selecting["buckets"] = make_step(BUCKETS, bucketing).key
    steps[SELECTION] = make_step(SELECTION, selecting)
    tokenizer = recipe.tokenizer
    if tokenizer is not None:
        packing = {
            "version": TOKENS_VERSION,
            "selection": steps[SELECTION].key,
            "encoded": steps[ENCODED].key,
            "eos": tokenizer.eos,
            "bos": tokenizer.bos,
            "shard_tokens": TOKEN_SHARD_TOKENS,
        }
        steps[TOKENS] = make_step(TOKENS, packing)
    if recipe.mixture is not None:
        mixing = {
            "version": MIXTURE_VERSION,
            "tokens": steps[TOKENS].key,
            "seed": recipe.seed,
            "mixture": recipe.mixture.model_dump(),
        }
        steps[MIXTURE] = make_step(MIXTURE, mixing)


def _file_hash(path: str, expected: str | None, key: str) -> str:
    try:
        found = hash_file(path)
    except TonnageError as fault:
        raise UsageError(f"{key} names {path}, which cannot be read; give the path of an existing file") from fault
    if expected is not None and found != expected:
        raise UsageError(f"{key}: {path} has xxh3 {found}, the recipe asks for {expected}; mend the file or the hash")
    return found


def export_step(plan: Plan, wanted: Export) -> Step:
    """The step of one export that the recipe asks for."""
    mixture = plan.steps[MIXTURE].key if MIXTURE in plan.steps else None
    material = {
        "version": EXPORT_VERSION,
        "tokens": plan.steps[TOKENS].key,
        "mixture": mixture,
        "export": wanted.model_dump(),
    }
    return make_step(f"{EXPORT}-{wanted.format}", material)
