"""Earlier corpora that a recipe compares with: found through their run.json, checked for signatures that fit.

Nothing of an earlier corpus is computed again: its selection says which documents it kept, its signatures propose
candidates, its texts are read only where a document of this run may fall for one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tonnage.dedup.corpus import Part
from tonnage.errors import TonnageError, UsageError
from tonnage.store.files import join, read_bytes
from tonnage.store.layout import RUN_FILE, columns_folder, selection_folder
from tonnage.store.receipts import read_manifest

SIGNATURES, SELECTION = "signatures", "selection"


@dataclass(frozen=True)
class Earlier:
    """One earlier corpus: `name` as the recipe gives it, the run's `root`, its sources with their number of shards."""

    name: str
    root: str
    sources: tuple[tuple[str, int], ...]
    selection: str
    signatures: str | None
    documents: int  # that it kept

    @property
    def material(self) -> dict[str, Any]:
        """What of it goes into the key of a step that compares with it."""
        return {"run": self.name, "selection": self.selection, "signatures": self.signatures}

    def parts(self) -> tuple[Part, ...]:
        """Its sources as parts of a corpus."""
        signatures = columns_folder(SIGNATURES, self.signatures) if self.signatures is not None else ""
        return tuple(
            Part(self.root, source, shards, (selection_folder(self.selection),), run=self.name, signatures=signatures)
            for source, shards in self.sources
        )


def open_earlier(name: str, signatures: Mapping[str, Any] | None) -> Earlier:
    """The run, or the columns/signatures-KEY folder of a run, that `dedup.against` names.

    `signatures` is the material of this recipe's signatures, None when only exact duplicates are looked for.
    Raises UsageError when it is no finished run, or its signatures are missing or were made otherwise.
    """
    root, separator, key = name.rstrip("/").rpartition(f"/{columns_folder(SIGNATURES, '')}")
    root = root if separator else name.rstrip("/")
    content = _record(root, name)
    if "funnel" not in content:
        raise UsageError(f"dedup.against: run {name} stopped before its selection; finish it first with `tonnage run`")
    found = key if separator else content["steps"].get(SIGNATURES, {}).get("key")
    if signatures is not None:
        _check_signatures(name, root, found, signatures)
    return Earlier(
        name,
        root,
        tuple((source["name"], source["shards"]) for source in content["sources"]),
        content["steps"][SELECTION]["key"],
        found if signatures is not None else None,
        content["stats"]["total"]["kept"],
    )


def _record(root: str, name: str) -> dict[str, Any]:
    try:
        return dict(orjson.loads(read_bytes(join(root, RUN_FILE))))
    except (TonnageError, orjson.JSONDecodeError) as fault:
        raise UsageError(
            f"dedup.against names {name}, which holds no run (no readable {RUN_FILE} in {root}); give the folder of a "
            f"finished run, or its {columns_folder(SIGNATURES, 'KEY')}"
        ) from fault


def _check_signatures(name: str, root: str, key: str | None, wanted: Mapping[str, Any]) -> None:
    manifest = read_manifest(root, SIGNATURES, key) if key is not None else None
    if manifest is None:
        raise UsageError(
            f"dedup.against: run {name} has no signatures; add dedup.fuzzy with the same ngram, bands, rows and seed "
            f"to its recipe and run it again: its other columns are reused"
        )
    differ = [
        f"{setting} is {manifest['material'].get(setting)} there and {value} here"
        for setting, value in wanted.items()
        if manifest["material"].get(setting) != value
    ]
    if differ:
        raise UsageError(
            f"dedup.against: the signatures of {name} were made with other settings ({'; '.join(differ)}); give "
            f"dedup.fuzzy the same ones, or name a columns/{SIGNATURES}-KEY folder of that run that has them"
        )


def open_all(names: Sequence[str], signatures: Mapping[str, Any] | None) -> tuple[Earlier, ...]:
    """Every earlier corpus in the order of the recipe. Raises UsageError as `open_earlier`, or for one named twice."""
    found = tuple(open_earlier(name, signatures) for name in names)
    roots = [entry.root for entry in found]
    for entry in found:
        if roots.count(entry.root) > 1:
            raise UsageError(f"dedup.against names the run {entry.root} twice; keep one of the two")
    return found
