"""Receipts: the only proof that a task or a step is done.

A task writes its files, then its receipt: what it was asked (step, key, task, inputs), the facts of every file, and the
counts that the balance law needs. A step is done when every one of its tasks has a receipt whose files are unchanged.
A manifest, one a step and key, keeps what the key was made from, so that a later plan can say what changed. What the
counts mean is the step's own business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tonnage.store.files import FileFact, exists, join, read_bytes, unchanged, write_bytes


@dataclass(frozen=True)
class Receipt:
    """Proof of one task: `counts` are integers by name (nested by reason where a count has one).

    `key` stands for the step's parameters and code version; `inputs` for what this task read.
    """

    step: str
    key: str
    task: str
    files: tuple[FileFact, ...]
    counts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    inputs: str = ""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Receipt:
        files = tuple(FileFact(**fact) for fact in content["files"])
        return Receipt(
            content["step"],
            content["key"],
            content["task"],
            files,
            content["counts"],
            content["seconds"],
            content["inputs"],
        )


def receipt_path(step: str, key: str, task: str) -> str:
    """Where the receipt of a task lies within a run; `task` may hold slashes."""
    return f"receipts/{step}-{key}/{task}.json"


def write_receipt(root: str, receipt: Receipt) -> Receipt:
    """`receipt` on disk, after every file it names."""
    write_bytes(join(root, receipt_path(receipt.step, receipt.key, receipt.task)), receipt.to_json())
    return receipt


@dataclass(frozen=True)
class Finding:
    """What was found of a task: its receipt when it is done, else why not, in a few words."""

    receipt: Receipt | None
    reason: str


def find_receipt(
    root: str, step: str, key: str, task: str, *, inputs: str = "", thorough: bool = False
) -> Receipt | None:
    """The receipt of a task whose files are all there and unchanged, else None: the task is to be done (again)."""
    return examine(root, step, key, task, inputs=inputs, thorough=thorough).receipt


def examine(root: str, step: str, key: str, task: str, *, inputs: str = "", thorough: bool = False) -> Finding:
    """As `find_receipt`, with the reason why a task is not done."""
    url = join(root, receipt_path(step, key, task))
    if not exists(url):
        return Finding(None, "not done yet")
    try:
        receipt = Receipt.from_dict(json.loads(read_bytes(url)))
    except (ValueError, KeyError, TypeError):
        return Finding(None, f"its receipt {url} is damaged")
    if (receipt.step, receipt.key, receipt.task) != (step, key, task):
        return Finding(None, f"its receipt {url} belongs to another task")
    if receipt.inputs != inputs:
        return Finding(None, "its input changed")
    for fact in receipt.files:
        if not unchanged(root, fact, thorough=thorough):
            return Finding(None, f"{fact.path} is missing or was changed")
    return Finding(receipt, "")


def manifest_path(step: str, key: str) -> str:
    return f"manifests/{step}-{key}.json"


def write_manifest(root: str, step: str, key: str, material: Mapping[str, Any], receipts: Sequence[Receipt]) -> None:
    """The step's list of tasks with rows, bytes and xxh3 of every file, and what its key was made from."""
    content = {
        "step": step,
        "key": key,
        "material": material,
        "tasks": [asdict(receipt) for receipt in receipts],
    }
    url = join(root, manifest_path(step, key))
    written = json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"
    if not exists(url) or read_bytes(url) != written:
        write_bytes(url, written)


def read_manifest(root: str, step: str, key: str) -> dict[str, Any] | None:
    """The manifest of a step, None when there is none or it is damaged."""
    url = join(root, manifest_path(step, key))
    if not exists(url):
        return None
    try:
        return dict(json.loads(read_bytes(url)))
    except ValueError:
        return None
