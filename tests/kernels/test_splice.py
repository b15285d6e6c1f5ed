"""Copies of whole documents against plain Python lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.kernels.splice import gather, offsets_of, wrap

DOCUMENTS = st.lists(st.lists(st.integers(0, 999), max_size=6), max_size=6)
DTYPES = st.sampled_from([np.uint16, np.uint32])


@given(DOCUMENTS, DTYPES, st.sampled_from([None, 0, 7]), st.sampled_from([None, 0, 9]))
@settings(max_examples=100, deadline=None)
def test_wrap_puts_bos_and_eos_around_each_document(documents, dtype, bos, eos) -> None:
    ids = np.array([i for document in documents for i in document], dtype)
    out, lengths = wrap(ids, offsets_of(np.array([len(document) for document in documents], np.int64)), bos, eos)
    before, behind = [bos] if bos is not None else [], [eos] if eos is not None else []
    expected = [[*before, *document, *behind] for document in documents]
    assert out.dtype == dtype
    assert out.tolist() == [i for document in expected for i in document]
    assert lengths.tolist() == [len(document) for document in expected]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=8), DTYPES)
@settings(max_examples=100, deadline=None)
def test_gather_copies_pieces_in_the_order_asked_for(pieces, dtype) -> None:
    ids = np.arange(40, dtype=dtype)
    first, lengths = (np.array([piece[side] for piece in pieces], np.int64) for side in (0, 1))
    out, offsets = gather(ids, first, lengths)
    assert out.tolist() == [i for start, length in pieces for i in range(start, start + length)]
    assert offsets.tolist() == offsets_of(lengths).tolist()


@pytest.mark.parametrize(("first", "length"), [(0, 6), (5, 1), (-1, 1), (2, -1)])
def test_gather_never_reads_outside(first: int, length: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        gather(np.zeros(5, np.uint16), np.array([first]), np.array([length]))
