"""Opens a Megatron export as Megatron does and writes what it reads; runs in the trainers' environment.

Called as `megatron_reads.py EXPORT OUT.npz SEQUENCE_LENGTH SEQUENCES...`, one number a blend file, by name.
OUT holds for every prefix `PREFIX|ids`, `PREFIX|lengths`, `PREFIX|documents` of IndexedDataset, and for every blend
file `FILE|prefixes` and `FILE|drawn`, the samples that BlendedDataset takes of each of its prefixes.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.datasets.indexed_dataset import IndexedDataset
from megatron.core.datasets.utils import get_blend_from_list


class Tokenizer:
    """What GPTDataset asks of a tokenizer."""

    eod = 0
    vocab_size = 65536
    unique_identifiers = {"name": "test"}  # noqa: RUF012


def read_prefix(prefix: str) -> dict[str, np.ndarray]:
    dataset = IndexedDataset(prefix)
    documents = [dataset[index] for index in range(len(dataset))]
    return {
        f"{prefix}|ids": np.concatenate(documents),
        f"{prefix}|lengths": np.array([len(document) for document in documents]),
        f"{prefix}|documents": np.array(dataset.document_indices),
    }


def draw(blend_file: str, sequence_length: int, sequences: int) -> dict[str, np.ndarray]:
    blend = get_blend_from_list(json.loads(Path(blend_file).read_text())["train"])
    config = GPTDatasetConfig(
        random_seed=1,
        sequence_length=sequence_length,
        blend_per_split=[blend, None, None],
        split=None,
        tokenizer=Tokenizer(),
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
        mid_level_dataset_surplus=0.05,
    )
    train = BlendedMegatronDatasetBuilder(GPTDataset, [sequences, 0, 0], lambda: True, config).build()[0]
    assert len(train[0]["tokens"]) == sequence_length
    drawn = np.bincount(train.dataset_index, minlength=len(blend[0]))
    return {f"{blend_file}|prefixes": np.array(blend[0]), f"{blend_file}|drawn": drawn}


def main(export: str, out: str, sequence_length: int, sequences: list[int]) -> None:
    os.chdir(export)
    found: dict[str, np.ndarray] = {}
    for path in sorted(Path().glob("*/*.idx")):
        found |= read_prefix(str(path.with_suffix("")))
    for blend_file, count in zip(sorted(Path().glob("blend-*.json")), sequences, strict=True):
        found |= draw(str(blend_file), sequence_length, count)
    np.savez(out, **found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(count) for count in sys.argv[4:]])
