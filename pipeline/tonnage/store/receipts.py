"""Receipts: the only proof that a task or a step is done.

A task writes its files, then its receipt: what it was asked (step, key, task), the facts of every file, and the counts
that the balance law needs. A step is done when its manifest, the list of all its tasks' receipts, is there and every
file in it is unchanged. What the counts mean is the step's own business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tonnage.store.files import FileFact, exists, join, read_bytes, unchanged, write_bytes


@dataclass(frozen=True)
class Receipt:
    """Proof of one task: `counts` are integers by name (nested by reason where a count has one)."""

    step: str
    key: str
    task: str
    files: tuple[FileFact, ...]
    counts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Receipt:
        files = tuple(FileFact(**fact) for fact in content["files"])
        return Receipt(
            content["step"], content["key"], content["task"], files, content["counts"], content.get("seconds", 0.0)
        )


def receipt_path(step: str, key: str, task: str) -> str:
    """Where the receipt of a task lies within a run; `task` may hold slashes."""
    return f"receipts/{step}-{key}/{task}.json"


def write_receipt(root: str, receipt: Receipt) -> Receipt:
    """`receipt` on disk, after every file it names."""
    write_bytes(join(root, receipt_path(receipt.step, receipt.key, receipt.task)), receipt.to_json())
    return receipt


def find_receipt(root: str, step: str, key: str, task: str, *, thorough: bool = False) -> Receipt | None:
    """The receipt of a task whose files are all there and unchanged, else None: the task is to be done (again)."""
    url = join(root, receipt_path(step, key, task))
    if not exists(url):
        return None
    try:
        receipt = Receipt.from_dict(json.loads(read_bytes(url)))
    except (ValueError, KeyError, TypeError):
        return None
    if (receipt.step, receipt.key, receipt.task) != (step, key, task):
        return None
    if all(unchanged(root, fact, thorough=thorough) for fact in receipt.files):
        return receipt
    return None
