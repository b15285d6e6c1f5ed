"""The documents shards that take part in a corpus-wide step: those of earlier corpora first, then those of this run.

The ordinal of a shard is its place in that order, so ordinal and row order documents by address, and one number, the
node, stands for both. Which rows of a shard take part is read from columns: a document takes part where each of them is
null. What is done with them is exact's, candidates' and verification's.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tonnage.store.documents import read_table
from tonnage.store.files import join
from tonnage.store.layout import documents_path, in_folder, shard_task

ROW_BITS = 32
FALLS_WHERE = ("reason", "duplicate_row")  # columns of verdicts that say of a document that it takes no part


@dataclass(frozen=True)
class Part:
    """One source: `shards` documents shards in the run at `root`; `run` names an earlier corpus, None for this run.

    `verdicts` are the folders of columns that say who falls before this step, `signatures` that of the signatures.
    """

    root: str
    source: str
    shards: int
    verdicts: tuple[str, ...]
    run: str | None = None
    signatures: str = ""
    exempt: bool = False


@dataclass(frozen=True)
class Place:
    """One documents shard: the `part` it belongs to, that part's `priority` in keep order, and its `ordinal`."""

    part: Part
    priority: int
    shard: int
    ordinal: int

    @property
    def task(self) -> str:
        """The name of tasks on this shard."""
        name = shard_task(self.part.source, self.shard)
        return name if self.part.run is None else f"earlier-{self.ordinal:06d}/{name}"

    @property
    def documents(self) -> str:
        return join(self.part.root, documents_path(self.part.source, self.shard))

    @property
    def signatures(self) -> str:
        return join(self.part.root, in_folder(self.part.signatures, self.part.source, self.shard))

    @property
    def earlier(self) -> bool:
        return self.part.run is not None

    def takes_part(self) -> np.ndarray:
        """bool[n]: the documents of the shard that no earlier decision dropped."""
        masks = []
        for folder in self.part.verdicts:
            table = read_table(join(self.part.root, in_folder(folder, self.part.source, self.shard)))
            name = next(name for name in FALLS_WHERE if name in table.column_names)
            masks.append(np.asarray(table.column(name).is_null()))
        return np.logical_and.reduce(masks)


@dataclass(frozen=True)
class Corpus:
    """All parts in keep order: earlier corpora, then the sources of this run as the recipe lists them."""

    parts: tuple[Part, ...]

    @property
    def shards(self) -> int:
        return sum(part.shards for part in self.parts)

    @property
    def first(self) -> tuple[int, ...]:
        """The ordinal of each part's first shard."""
        return tuple(np.concatenate([[0], np.cumsum([part.shards for part in self.parts])]).astype(int).tolist()[:-1])

    def places(self) -> tuple[Place, ...]:
        """Every shard, by ordinal."""
        shards = [(index, part, shard) for index, part in enumerate(self.parts) for shard in range(part.shards)]
        return tuple(Place(part, index, shard, ordinal) for ordinal, (index, part, shard) in enumerate(shards))

    def part_of(self, ordinals: np.ndarray) -> np.ndarray:
        """int64[n]: index of the part that each shard belongs to."""
        return np.asarray(np.searchsorted(np.array(self.first), ordinals, side="right") - 1)

    def address(self, node: int) -> tuple[Part, int, int]:
        """(part, shard, row) of a document."""
        ordinal, row = node >> ROW_BITS, node & ((1 << ROW_BITS) - 1)
        index = bisect_right(self.first, ordinal) - 1
        return self.parts[index], ordinal - self.first[index], row

    def own(self, nodes: np.ndarray) -> np.ndarray:
        """bool[n]: whether each document is of this run."""
        earlier = np.array([part.run is not None for part in self.parts], bool)
        return ~earlier[self.part_of(nodes >> ROW_BITS)]

    def addresses(self, nodes: np.ndarray) -> list[pa.Array]:
        """The columns of schema.DUPLICATE_OF for n documents."""
        ordinals = nodes >> ROW_BITS
        part = self.part_of(ordinals)
        runs = pa.array([entry.run for entry in self.parts], pa.string())
        sources = pa.array([entry.source for entry in self.parts], pa.string())
        shards = ordinals - np.array(self.first)[part] if len(nodes) else ordinals
        rows = nodes & ((1 << ROW_BITS) - 1)
        return [
            runs.take(pa.array(part)),
            sources.take(pa.array(part)),
            pa.array(shards.astype(np.int32)),
            pa.array(rows.astype(np.int64)),
        ]


def nodes_of(ordinal: int, rows: np.ndarray) -> np.ndarray:
    """int64[n]: the documents `rows` of a shard."""
    return (np.int64(ordinal) << ROW_BITS) | rows.astype(np.int64)


def row_aligned(rows: int, place: np.ndarray, columns: list[pa.Array]) -> list[pa.Array]:
    """`columns` of the documents `place` (int64[m], each once), spread over `rows` documents; null elsewhere."""
    index = np.full(rows, -1, np.int64)
    index[place] = np.arange(len(place))
    taken = pa.array(index, mask=index < 0)
    return [column.take(taken) for column in columns]
