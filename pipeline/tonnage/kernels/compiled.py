"""How kernels are compiled: once, kept in numba's cache, and without the interpreter's lock.

`kernel` is for functions that make no arrays of their own. For them numba need not count references to arrays; counting
costs an atomic operation for every array at every call, more than half of the time of kernels called once a line.
"""

from __future__ import annotations

import functools

from numba import njit

kernel = functools.partial(njit, cache=True, nogil=True, _nrt=False)
