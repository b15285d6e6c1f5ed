"""run.json: the record of a run that every later look starts from.

It holds the resolved recipe, versions, step keys with seconds, the funnel and the cells. All counts come from receipts;
`verify` recomputes them from the columns.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import orjson

from tonnage import __version__
from tonnage import funnel as funnels
from tonnage.errors import UsageError
from tonnage.funnel import Amount, SourceFunnel
from tonnage.plan import ENCODED, QUALITY_MODEL, Plan
from tonnage.steps.sample import QUALITY_CARD
from tonnage.store.files import exists, join, read_bytes, write_bytes
from tonnage.store.layout import RUN_FILE, model_path
from tonnage.store.receipts import read_manifest

LIBRARIES = (
    "numpy",
    "numba",
    "pyarrow",
    "polars",
    "gigatoken",
    "tokenizers",
    "fasttext-wheel",
    "resiliparse",
    "magika",
)


@dataclass(frozen=True)
class Record:
    """What is known of a run so far; None for stages that were not reached or not asked for."""

    plan: Plan
    funnel: Mapping[str, SourceFunnel] | None = None
    edges: Sequence[float] | None = None
    cell_tokens: Mapping[str, int] | None = None
    cell_documents: Mapping[str, int] | None = None
    dtype: str | None = None
    mixed: bool = False
    damaged: Mapping[str, int] | None = None
    exports: Sequence[Mapping[str, str]] = ()


def stats_of(funnel: SourceFunnel) -> dict[str, Any]:
    """One source in the shape of `stats --json`; `dropped` counts documents."""
    return {
        "read": funnel.read,
        "rejected": funnel.rejected,
        "documents": funnel.documents.documents,
        "dropped": {rule: amount.documents for rule, amount in funnel.dropped.items()},
        "kept": funnel.kept.documents,
        "tokens": funnel.kept.tokens,
        "bytes": funnel.kept.bytes,
    }


def to_dict(root: str, record: Record) -> dict[str, Any]:
    """The content of run.json."""
    plan = record.plan
    result: dict[str, Any] = {
        "tonnage": __version__,
        "name": plan.recipe.name,
        "recipe": plan.recipe.model_dump(mode="json"),
        "environment": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "libraries": {name: version(name) for name in LIBRARIES},
        },
        "sources": [
            {
                "name": source.spec.name,
                "kind": source.kind,
                "language": source.spec.language,
                "files": len(source.listing.files),
                "raw_bytes": sum(file.bytes for file in source.listing.files),
                "shards": len(source.shards),
                "documents_key": source.step.key,
            }
            for source in plan.sources
        ],
        "steps": {
            name: {"key": step.key, "seconds": _seconds(root, name, step.key)} for name, step in plan.steps.items()
        },
        "rules": [asdict(rule) for rule in plan.rules],
        "quality_card": _quality_card(root, plan),
        "edges": list(record.edges) if record.edges is not None else None,
        "dtype": record.dtype,
        "mixed": record.mixed,
        "exports": list(record.exports),
    }
    if record.funnel is not None:
        result["funnel"] = {name: asdict(funnel) for name, funnel in record.funnel.items()}
        result["stats"] = stats(record) | {"markers": _markers(root, plan)}
    return result


def _quality_card(root: str, plan: Plan) -> Any:
    """What training said of the quality model; None when none was trained here (yet)."""
    if QUALITY_MODEL not in plan.steps:
        return None
    url = join(root, model_path(QUALITY_MODEL, plan.steps[QUALITY_MODEL].key, QUALITY_CARD))
    return orjson.loads(read_bytes(url)) if exists(url) else None


def _markers(root: str, plan: Plan) -> int | None:
    """Marker strings of the tokenizer found in the texts of all documents; None before they are encoded."""
    manifest = read_manifest(root, ENCODED, plan.steps[ENCODED].key) if ENCODED in plan.steps else None
    return None if manifest is None else sum(task["counts"]["markers"] for task in manifest["tasks"])


def _seconds(root: str, step: str, key: str) -> float | None:
    manifest = read_manifest(root, step, key)
    return None if manifest is None else round(sum(task["seconds"] for task in manifest["tasks"]), 3)


def stats(record: Record) -> dict[str, Any]:
    """What `stats --json` says: tokens of cells are those of their shards, BOS and EOS included, once packed."""
    assert record.funnel is not None
    result = stats_of_funnel(record.funnel)
    for cell, tokens in (record.cell_tokens or {}).items():
        result["cells"][cell]["tokens"] = tokens
    return result


def stats_of_funnel(funnel: Mapping[str, SourceFunnel]) -> dict[str, Any]:
    """Sources, cells and the total in the shape of `stats --json`."""
    whole = funnels.total(funnel)
    return {
        "sources": {name: stats_of(entry) for name, entry in funnel.items()},
        "cells": {
            cell: {"documents": amount.documents, "tokens": amount.tokens} for cell, amount in whole.cells.items()
        },
        "total": stats_of(whole),
    }


def write_record(root: str, record: Record) -> None:
    """run.json of the run at `root`."""
    write_bytes(join(root, RUN_FILE), orjson.dumps(to_dict(root, record), option=orjson.OPT_INDENT_2) + b"\n")


def read_record(root: str) -> dict[str, Any]:
    """run.json as it stands. Raises UsageError when `root` holds no run, or one that never reached its selection."""
    url = join(root, RUN_FILE)
    if not exists(url):
        raise UsageError(f"{root} holds no run (there is no {RUN_FILE} in it); give the folder that `tonnage run` made")
    try:
        return dict(orjson.loads(read_bytes(url)))
    except orjson.JSONDecodeError as fault:
        raise UsageError(f"{url} is damaged ({fault}); give the same `tonnage run` command again") from fault


def funnel_of(content: Mapping[str, Any]) -> dict[str, SourceFunnel]:
    """The funnel as run.json holds it. Raises UsageError when the run stopped before its selection."""
    if "funnel" not in content:
        raise UsageError("this run stopped before its selection; give the same `tonnage run` command again to go on")
    return {
        name: SourceFunnel(
            read=entry["read"],
            rejected=entry["rejected"],
            not_text=entry["not_text"],
            documents=Amount.of(entry["documents"]),
            dropped={rule: Amount.of(counts) for rule, counts in entry["dropped"].items()},
            kept=Amount.of(entry["kept"]),
            cells={cell: Amount.of(counts) for cell, counts in entry["cells"].items()},
            not_applicable=entry["not_applicable"],
            notes=entry["notes"],
        )
        for name, entry in content["funnel"].items()
    }
