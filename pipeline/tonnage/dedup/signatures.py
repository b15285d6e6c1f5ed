"""MinHash signatures as columns, and the bands that candidates for fuzzy duplicates share.

A signature depends on the text and on Shingling alone, so it is kept and serves later corpora. Bands cut a signature
into runs of `rows` places; two documents of Jaccard similarity s agree in at least one of b bands with probability
1 - (1 - s^r)^b (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, section 3.4.2). A match proposes a pair and
decides nothing: that is verification's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tonnage.kernels.minhash import band_hashes, family, shingles, signatures
from tonnage.kernels.words import scan_words
from tonnage.store.arrow_text import buffers

SIGNATURES_VERSION = 1
CURVE_AT = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True)
class Shingling:
    """What a signature is made of: runs of `ngram` folded words, `places` hash functions drawn from `seed`."""

    ngram: int
    places: int
    seed: int


@dataclass(frozen=True)
class Banding:
    """`bands` bands of `rows` places each, taken from a signature in its own order and then `arrangements` - 1 times
    more in another order: places are used again, documents that are alike are met more often.
    """

    bands: int
    rows: int
    arrangements: int

    def layout(self) -> np.ndarray:
        """int64[bands * arrangements, rows]: the places that make each band."""
        places = self.bands * self.rows
        orders = [np.random.Generator(np.random.PCG64(turn)).permutation(places) for turn in range(self.arrangements)]
        orders[0] = np.arange(places)
        return np.concatenate(orders).astype(np.int64).reshape(-1, self.rows)

    def match(self, similarity: float) -> float:
        """Probability that two documents of that Jaccard similarity share a band."""
        return float(1 - (1 - similarity**self.rows) ** (self.bands * self.arrangements))

    def curve(self) -> str:
        """The match curve as text, at CURVE_AT."""
        return ", ".join(f"{similarity:g}: {self.match(similarity):.3f}" for similarity in CURVE_AT)


def signature_schema(shingling: Shingling) -> pa.Schema:
    """One row a document: how many distinct shingles it has, and its signature as little-endian uint32."""
    about = f"distinct shingles of {shingling.ngram} words"
    return pa.schema(
        [
            pa.field("shingles", pa.int64(), nullable=False, metadata={"about": about}),
            pa.field("signature", pa.binary(4 * shingling.places), nullable=False),
        ]
    )


def sign(text: pa.LargeStringArray, shingling: Shingling) -> pa.RecordBatch:
    """The signature columns of n documents."""
    hashes, bounds = shingles(scan_words(*buffers(text)), shingling.ngram)
    values = signatures(hashes, bounds, family(shingling.places, shingling.seed))
    flat = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(4 * shingling.places), len(values), [None, pa.py_buffer(values.astype("<u4", copy=False))]
    )
    return pa.RecordBatch.from_arrays([pa.array(np.diff(bounds)), flat], schema=signature_schema(shingling))


def signature_values(column: pa.FixedSizeBinaryArray) -> np.ndarray:
    """uint32[n, places] of a column that `sign` made."""
    width = column.type.byte_width
    whole = np.frombuffer(column.buffers()[1], "<u4", count=(column.offset + len(column)) * width // 4)
    return whole.reshape(-1, width // 4)[column.offset :]


def bands_of(column: pa.FixedSizeBinaryArray, banding: Banding) -> np.ndarray:
    """uint64[n, bands]: the hash of each band of each signature."""
    return band_hashes(signature_values(column), banding.layout())


def warm_up() -> None:
    """Compiles every kernel behind `sign`, or loads it from the cache."""
    sign(pa.array(["one two three"], pa.large_string()), Shingling(2, 8, 0))
