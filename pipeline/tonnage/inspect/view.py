"""A run as it lies on disk, found through its run.json alone: neither the recipe nor the raw input is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tonnage.errors import UsageError
from tonnage.plan import MIXTURE, SELECTION, TOKENIZER, TOKENS, column_steps
from tonnage.reuse import WHOLE_TASK
from tonnage.run.packing import MIXTURE_FILE
from tonnage.run.record import read_record
from tonnage.select import Rule
from tonnage.steps.decide import ShardColumns
from tonnage.steps.sample import TOKENIZER_FILE
from tonnage.store.layout import model_path
from tonnage.store.receipts import find_receipt


@dataclass(frozen=True)
class RunView:
    """`content` is run.json."""

    root: str
    content: Mapping[str, Any]

    def key(self, step: str) -> str:
        """The key of a step. Raises UsageError when the run has no such step."""
        if step not in self.content["steps"]:
            raise UsageError(f"run {self.root} has no {step}; its recipe does not ask for it")
        return str(self.content["steps"][step]["key"])

    def has(self, step: str) -> bool:
        return step in self.content["steps"]

    @property
    def selected(self) -> bool:
        """Whether the run reached its selection."""
        return "funnel" in self.content

    @property
    def packed(self) -> bool:
        """Whether the run reached its token shards."""
        return self.content["dtype"] is not None

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(source["name"] for source in self.content["sources"])

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(
            Rule(rule["name"], rule["drop"], rule["when"], None if rule["sources"] is None else tuple(rule["sources"]))
            for rule in self.content["rules"]
        )

    def shards(self) -> Iterator[ShardColumns]:
        """All documents shards in the order of addresses."""
        for source in self.content["sources"]:
            names = column_steps(self.content["steps"], source["kind"])
            keys = {name: self.key(name) for name in names}
            for shard in range(source["shards"]):
                yield ShardColumns(self.root, source["name"], shard, keys, source["kind"], source["language"])

    @property
    def tokenizer(self) -> str:
        """The run's tokenizer.json, relative to the run."""
        return model_path(TOKENIZER, self.key(TOKENIZER), TOKENIZER_FILE)

    @property
    def selection_key(self) -> str:
        return self.key(SELECTION)

    @property
    def tokens_key(self) -> str:
        """The key of the token shards. Raises UsageError when the run has none (yet)."""
        if not self.has(TOKENS):
            raise UsageError(f"run {self.root} has no token shards: its recipe has no tokenizer; add one, run it again")
        if not self.packed:
            raise UsageError(f"run {self.root} has no token shards yet; give its `tonnage run` again, without --until")
        return self.key(TOKENS)

    def mixture(self) -> str | None:
        """mixture.json, relative to the run; None when the recipe has no mixture.

        Raises UsageError when what lies there is not the mixture of this recipe: it belongs to an earlier one, or was
        changed.
        """
        if not self.has(MIXTURE):
            return None
        if find_receipt(self.root, MIXTURE, self.key(MIXTURE), WHOLE_TASK) is None:
            raise UsageError(
                f"the mixture of run {self.root} is not there yet, or was changed; give its `tonnage run` again, "
                f"without --until"
            )
        return MIXTURE_FILE


def open_run(root: str) -> RunView:
    """The run in folder `root`. Raises UsageError when there is none."""
    return RunView(root, read_record(root))
