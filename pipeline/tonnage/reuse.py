"""What of a plan is done already, and for what is not, why: receipts and manifests against the plan's keys."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tonnage.plan import (
    BUCKETS,
    CODE_FLAGS,
    DOCUMENTS,
    ENCODED,
    EXACT,
    FUZZY,
    HEURISTICS,
    MIXTURE,
    QUALITY,
    QUALITY_MODEL,
    RULES,
    SELECTION,
    SIGNATURES,
    TOKENIZER,
    TOKENS,
    Plan,
    Shard,
    Step,
    export_step,
)
from tonnage.store.files import exists, join, local_path
from tonnage.store.receipts import Receipt, examine, read_manifest

SHARD_STEPS = (HEURISTICS, CODE_FLAGS, SIGNATURES, QUALITY, ENCODED, RULES)
WHOLE_TASK = "all"


@dataclass(frozen=True)
class StepState:
    """How far one step is: `done` of `tasks` tasks have a valid receipt; `why` says why the rest is due."""

    step: Step
    label: str
    tasks: int
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    why: str = ""

    @property
    def done(self) -> int:
        return len(self.receipts)

    @property
    def finished(self) -> bool:
        return self.tasks > 0 and self.done == self.tasks


def states(root: str, plan: Plan) -> list[StepState]:
    """The state of every step, in the order in which they run."""
    result = [
        state_of_shards(root, source.step, source.shards, label=f"{DOCUMENTS} {source.spec.name}")
        for source in plan.sources
    ]
    for name in (HEURISTICS, CODE_FLAGS, SIGNATURES, QUALITY_MODEL, TOKENIZER, QUALITY, ENCODED, RULES):
        if name not in plan.steps:
            continue
        if name in SHARD_STEPS:
            result.append(state_of_shards(root, plan.steps[name], shards_of(plan, name)))
        else:
            result.append(state_of_whole(root, plan.steps[name]))
    result.extend(
        state_of_whole(root, plan.steps[name])
        for name in (EXACT, FUZZY, BUCKETS, SELECTION, TOKENS, MIXTURE)
        if name in plan.steps
    )
    result.extend(state_of_whole(root, export_step(plan, wanted)) for wanted in plan.recipe.export)
    return result


def shards_of(plan: Plan, step: str) -> tuple[Shard, ...]:
    """The shards that a shard-wise step works on."""
    if step == CODE_FLAGS:
        return tuple(shard for source in plan.sources if source.spec.kind == "code" for shard in source.shards)
    return plan.shards


def state_of_shards(root: str, step: Step, shards: Sequence[Shard], label: str = "") -> StepState:
    """The state of a step with one task a documents shard."""
    receipts: dict[str, Receipt] = {}
    first_fault = ""
    for shard in shards:
        finding = examine(root, step.name, step.key, shard.task, inputs=shard.inputs)
        if finding.receipt is not None:
            receipts[shard.task] = finding.receipt
        elif not first_fault or first_fault.endswith("not done yet"):
            first_fault = f"{shard.task}: {finding.reason}"
    why = "" if len(receipts) == len(shards) else why_due(root, step, first_fault, started=bool(receipts))
    return StepState(step, label or step.name, len(shards), receipts, why)


def state_of_whole(root: str, step: Step) -> StepState:
    """The state of a step whose tasks are only known from its manifest: done when all of that is unchanged."""
    manifest = read_manifest(root, step.name, step.key)
    if manifest is None:
        return StepState(step, step.name, 0, {}, why_due(root, step, "not done yet"))
    receipts: dict[str, Receipt] = {}
    fault = ""
    for task in manifest["tasks"]:
        finding = examine(root, task["step"], task["key"], task["task"], inputs=task["inputs"])
        if finding.receipt is not None:
            receipts[task["task"]] = finding.receipt
        else:
            fault = fault or finding.reason
    return StepState(step, step.name, len(manifest["tasks"]), receipts, fault)


def why_due(root: str, step: Step, fault: str, *, started: bool = False) -> str:
    """Why a step has to run, against the latest manifest of the same step under another key."""
    if started or not fault.endswith("not done yet"):
        return fault
    before = _latest_manifest(root, step)
    if before is None:
        return "never run"
    changes = changed(before["material"], json.loads(json.dumps(step.material)))
    return f"changed: {'; '.join(changes[:3])}{' ...' if len(changes) > 3 else ''}" if changes else fault


def _latest_manifest(root: str, step: Step) -> dict[str, Any] | None:
    """The newest manifest of this step; of documents, which have one a source, the newest of the same source."""
    folder = local_path(join(root, "manifests"))
    if not exists(folder):
        return None
    names = [name for name in os.listdir(folder) if name.startswith(f"{step.name}-") and name.endswith(".json")]
    names.sort(key=lambda name: os.stat(os.path.join(folder, name)).st_mtime_ns, reverse=True)
    for name in names:
        key = name[len(step.name) + 1 : -len(".json")]
        manifest = read_manifest(root, step.name, key) if len(key) == 16 and key != step.key else None
        if manifest is not None and _same_source(manifest["material"], step.material):
            return manifest
    return None


def _same_source(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    def name(material: Mapping[str, Any]) -> Any:
        source = material.get("source")
        return source.get("name") if isinstance(source, Mapping) else None

    return bool(name(before) == name(now))


def changed(before: Any, now: Any, path: str = "") -> list[str]:
    """What differs between two key materials, each as 'place before -> now'."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return [
            line
            for key in sorted({*before, *now})
            for line in changed(before.get(key), now.get(key), f"{path}.{key}" if path else str(key))
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [line for i, (a, b) in enumerate(zip(before, now, strict=True)) for line in changed(a, b, f"{path}.{i}")]
    return [] if before == now else [f"{path} {_short(before)} -> {_short(now)}"]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
