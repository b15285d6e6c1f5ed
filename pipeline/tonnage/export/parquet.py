"""Parquet for `datasets.load_dataset`: one row a document with its ids, its text by choice, and a dataset card.

Each cell is a configuration of its own beside the default of all, so a trainer can load and weigh them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tonnage.export.card import dataset_card
from tonnage.export.common import ExportInput, Report, finish, shards_of, start
from tonnage.kernels.splice import offsets_of
from tonnage.store.documents import read_row_groups, read_table, writing_parquet
from tonnage.store.files import join, write_bytes
from tonnage.store.layout import documents_path, shard_name, token_documents_path
from tonnage.tokenize.writer import TokensManifest, open_tokens

CARD_FILE = "README.md"
ROWS_TOKENS = 1 << 22  # tokens after which a row group ends

_ABOUT = [
    pa.field("id", pa.string(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("cell", pa.string(), nullable=False),
    pa.field("license", pa.string()),
    pa.field("url", pa.string()),
]
# int32, which every trainer's tensors know, though a small vocabulary would fit into 16 bits.
_IDS = pa.field("input_ids", pa.list_(pa.int32()), nullable=False)
_TEXT = pa.field("text", pa.large_string(), nullable=False)


def export_parquet(source: ExportInput, out: str, *, text: bool = False) -> Report:
    """Writes data/CELL/00000.parquet for every token shard, and README.md, the card.

    Raises UsageError for a folder that holds something else.
    """
    manifest = source.manifest()
    paths = {(cell, shard): f"data/{cell}/{shard_name(shard)}.parquet" for cell, shard, _, _ in shards_of(manifest)}
    files = [*paths.values(), CARD_FILE]
    start(out, files)
    schema = pa.schema([*_ABOUT, _IDS, *([_TEXT] if text else [])])
    for (cell, shard), path in paths.items():
        with writing_parquet(join(out, path), schema) as writer:
            for batch in _rows(source, manifest, cell, shard, schema):
                writer.write(batch)
                writer.end_row_group()
    write_bytes(join(out, CARD_FILE), dataset_card(source, manifest).encode())
    return finish(out, "parquet", manifest, files, (f'datasets.load_dataset("{out}")',))


def _rows(
    source: ExportInput, manifest: TokensManifest, cell: str, shard: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The documents of one token shard in its order, in batches of about ROWS_TOKENS tokens of one documents shard."""
    ids = open_tokens(source.root, manifest, cell, shard)
    index = read_table(join(source.root, token_documents_path(manifest.key, cell, shard)))
    first, length = (index.column(name).to_numpy() for name in ("first", "length"))
    origin = np.array(index.column("source").to_pylist()), index.column("shard").to_numpy()
    piece = (np.cumsum(length) - 1) // ROWS_TOKENS
    cuts = np.flatnonzero((np.diff(piece) > 0) | (origin[0][1:] != origin[0][:-1]) | (np.diff(origin[1]) != 0)) + 1
    for part in np.split(np.arange(len(index)), cuts):
        rows = index.slice(int(part[0]), len(part))
        about = _about(source.root, rows, ["license", "url", *(["text"] if "text" in schema.names else [])])
        tokens = ids[first[part[0]] : first[part[-1]] + length[part[-1]]].astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(offsets_of(length[part]), pa.int32()), pa.array(tokens))
        columns = {
            "id": rows.column("id").combine_chunks(),
            "source": rows.column("source").combine_chunks(),
            "cell": pa.repeat(pa.scalar(cell, pa.string()), len(part)),
            "input_ids": lists,
            **about,
        }
        yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _about(root: str, rows: pa.Table, names: list[str]) -> dict[str, pa.Array]:
    """Columns of the documents behind `rows`, which are of one documents shard, in rising order of row."""
    source, shard = rows.column("source")[0].as_py(), rows.column("shard")[0].as_py()
    wanted = rows.column("row").to_numpy()
    parts: list[pa.RecordBatch] = []
    seen = 0
    for batch in read_row_groups(join(root, documents_path(source, shard)), names):
        inside = wanted[(wanted >= seen) & (wanted < seen + batch.num_rows)] - seen
        if len(inside):
            parts.append(batch.take(pa.array(inside)))
        seen += batch.num_rows
    table = pa.Table.from_batches(parts).combine_chunks()
    return {name: table.column(name).chunk(0) for name in names}
