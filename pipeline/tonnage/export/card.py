"""The dataset card beside a Parquet export: what is in it, how to load it, under which licences, how it is mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl
import pyarrow as pa
import yaml

from tonnage.export.common import ExportInput, shards_of
from tonnage.store.documents import read_table
from tonnage.store.files import join
from tonnage.store.layout import documents_path, token_documents_path
from tonnage.tokenize.writer import TokensManifest

WHOLE = "default"  # the configuration of all cells together
_ADDRESS = ("source", "shard", "row")


def dataset_card(source: ExportInput, manifest: TokensManifest) -> str:
    """README.md with the YAML head that the Hugging Face hub and `datasets` read; it names every licence found."""
    cells = sorted(manifest.cells)
    # `datasets` takes the last of two configurations of one name, without a word.
    prefix = "cell-" if WHOLE in cells else ""
    configs = [{"config_name": WHOLE, "data_files": "data/**/*.parquet", "default": True}]
    configs += [{"config_name": f"{prefix}{cell}", "data_files": f"data/{cell}/*.parquet"} for cell in cells]
    head = yaml.safe_dump({"license": "other", "configs": configs}, sort_keys=False)
    return f"---\n{head}---\n\n" + "\n".join(_body(source, manifest)) + "\n"


def _body(source: ExportInput, manifest: TokensManifest) -> Iterator[str]:
    policy = manifest.policy
    yield "# Tokenized documents"
    yield ""
    yield "Each row is one document: its token ids with BOS and EOS as stated here, its source, cell, licence and URL."
    yield ""
    yield f"- vocabulary: {policy.vocab_size:,} ids, tokenizer.json of xxh3 {policy.tokenizer_xxh3}"
    yield f"- first token of each document: {'none added' if policy.bos_id is None else f'BOS, id {policy.bos_id}'}"
    yield f"- last token of each document: {'none added' if policy.eos_id is None else f'EOS, id {policy.eos_id}'}"
    yield ""
    yield "| cell | documents | tokens |"
    yield "|---|---:|---:|"
    for cell in sorted(manifest.cells):
        shards = manifest.cells[cell]
        yield f"| {cell} | {sum(s.documents for s in shards):,} | {sum(s.tokens for s in shards):,} |"
    yield ""
    yield "| source | licence | documents |"
    yield "|---|---|---:|"
    for (name, licence), count in sorted(_licences(source, manifest).items()):
        yield f"| {name} | {_escaped(licence)} | {count:,} |"
    for phase in source.phases():
        yield ""
        yield f"## Phase {phase['name']}: {phase['tokens']:,} tokens"
        yield ""
        yield "| cell | weight | tokens | epochs |"
        yield "|---|---:|---:|---:|"
        for cell, entry in phase["cells"].items():
            yield f"| {cell} | {entry['weight']:.6g} | {entry['tokens']:,} | {entry['epochs']:.3f} |"


def _escaped(text: str) -> str:
    """Text of documents must neither end the table nor begin markup."""
    return "".join(f"&#{ord(letter)};" if letter in "|<>&[]()`*_\r\n" else letter for letter in text)


def _licences(source: ExportInput, manifest: TokensManifest) -> Counter[tuple[str, str]]:
    """Documents by source and licence, of those that were packed."""
    packed: dict[tuple[str, int], list[np.ndarray]] = {}
    for cell, shard, _, _ in shards_of(manifest):
        index = read_table(join(source.root, token_documents_path(manifest.key, cell, shard)), list(_ADDRESS))
        for (name, number), rows in pl.DataFrame(index).group_by("source", "shard"):
            packed.setdefault((str(name), int(number)), []).append(rows["row"].to_numpy())
    counts: Counter[tuple[str, str]] = Counter()
    for (name, number), parts in packed.items():
        licences = read_table(join(source.root, documents_path(name, number)), ["license"]).column("license")
        for entry in licences.take(pa.array(np.concatenate(parts))).value_counts().to_pylist():
            counts[name, entry["values"] or "unknown"] += entry["counts"]
    return counts
