"""The Arrow schemas of what a run keeps: one place for every column that is not a step's own annotation."""

from __future__ import annotations

import pyarrow as pa

DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # hex xxh3_128 of the normalized UTF-8 text
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("source_id", pa.string()),  # the user's own id, as text
        pa.field("url", pa.string()),
        pa.field("license", pa.string()),
        pa.field("timestamp", pa.string()),
        pa.field("code_language", pa.string()),  # programming language of a source file, lower case
        pa.field("file", pa.string(), nullable=False),  # the raw file, as the recipe's glob listed it
        pa.field("position", pa.int64(), nullable=False),  # line (from 1), row (from 0), or 0 for a whole file
        pa.field("metadata", pa.large_string()),  # all else the input carried, as JSON text
    ]
)

REJECTS = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),  # line, row, or 0; -1 for a file that broke off
        pa.field("offset", pa.int64()),  # byte offset in the (decompressed) file where known
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string()),
        pa.field("raw", pa.binary()),  # at most RAW_LIMIT bytes
    ]
)

RAW_LIMIT = 4096

SELECTION = pa.schema(
    [
        pa.field("keep", pa.bool_(), nullable=False),
        pa.field("reason", pa.string()),  # the first rule that dropped it, or null
        pa.field("cell", pa.string()),  # the cell of a kept document, or null
    ]
)

# Address of the kept document that stands for this one; all null for a document that does not fall.
DUPLICATE_OF = (
    pa.field("duplicate_run", pa.string()),  # an earlier corpus, as the recipe names it; null for this run
    pa.field("duplicate_source", pa.string()),
    pa.field("duplicate_shard", pa.int32()),
    pa.field("duplicate_row", pa.int64()),
)

EXACT_DUPLICATES = pa.schema([*DUPLICATE_OF])

FUZZY_DUPLICATES = pa.schema(
    [
        *DUPLICATE_OF,
        pa.field("duplicate_source_id", pa.string()),  # the user's id of the kept document
        pa.field("containment", pa.float32()),  # shared distinct shingles / distinct shingles of this document
        pa.field("jaccard", pa.float32()),  # shared / distinct shingles of both
        pa.field("group", pa.int64()),  # candidate group; null for a document without candidates
        pa.field("comparisons", pa.int32()),  # kept documents of its group that it was compared with
        pa.field("bounded", pa.bool_()),  # whether the bound on look-ups ended its search
    ]
)

TOKEN_DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),  # first token in the .tokens file
        pa.field("length", pa.int64(), nullable=False),  # tokens, BOS and EOS included
    ]
)
