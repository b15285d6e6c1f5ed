"""Where everything lies within a run. Paths are relative to the run's root, with forward slashes."""

from __future__ import annotations

RUN_FILE = "run.json"


def shard_name(shard: int) -> str:
    return f"{shard:05d}"


def shard_task(source: str, shard: int) -> str:
    """The name of every task on this documents shard."""
    return f"{source}/{shard_name(shard)}"


def documents_path(source: str, shard: int) -> str:
    return f"documents/{source}/{shard_name(shard)}.parquet"


def rejects_path(source: str, shard: int) -> str:
    return f"rejects/{source}/{shard_name(shard)}.parquet"


def columns_folder(step: str, key: str) -> str:
    """The columns of one step, a folder a source."""
    return f"columns/{step}-{key}"


def in_folder(folder: str, source: str, shard: int) -> str:
    """The file of one documents shard within the folder of a step's columns or of a selection."""
    return f"{folder}/{source}/{shard_name(shard)}.parquet"


def columns_path(step: str, key: str, source: str, shard: int) -> str:
    """Columns of one step, row-aligned with the documents shard of the same name."""
    return in_folder(columns_folder(step, key), source, shard)


def encoded_path(key: str, source: str, shard: int) -> str:
    """The token ids of a documents shard, beside the columns that count them."""
    return f"columns/encoded-{key}/{source}/{shard_name(shard)}.tokens"


def selection_folder(key: str) -> str:
    return f"selection-{key}"


def selection_path(key: str, source: str, shard: int) -> str:
    return in_folder(selection_folder(key), source, shard)


def exchange_folder(step: str, key: str) -> str:
    """What the tasks of a corpus-wide step hand to one another; gone when the step is done."""
    return f"exchange/{step}-{key}"


def exchange_path(step: str, key: str, name: str, number: int) -> str:
    return f"{exchange_folder(step, key)}/{name}-{number:06d}.arrow"


def tokens_path(key: str, cell: str, shard: int) -> str:
    return f"tokens-{key}/{cell}/{shard_name(shard)}.tokens"


def token_documents_path(key: str, cell: str, shard: int) -> str:
    return f"tokens-{key}/{cell}/{shard_name(shard)}.docs.parquet"


def model_path(step: str, key: str, name: str) -> str:
    """A trained model or tokenizer of the run."""
    return f"models/{step}-{key}/{name}"
