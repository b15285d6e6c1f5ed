"""Several sequences merged into one in even proportion, any place of the merged order found without its neighbours.

The merge is a binary tree. A node merges `small` draws of its smaller child into `total` draws in all: draw j of the
small child lies in the window [j * rho, (j + 1) * rho), rho = total / small >= 2, at a keyed place of those that keep
the number drawn so far within `slack` of its exact proportion in every prefix of the node. A slack of one is the
whole window; of one half, its middle. The windows are disjoint, so the draw that a position belongs to follows from
one division. How the tree is shaped, and what that means for the whole, is for the callers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tonnage.kernels.permute import derive

SLACK_UNIT = 16  # slack is given in sixteenths, from 8 (one half) to 16 (one)
MAX_TOTAL = 1 << 48  # quotients below 2^48 come out of double precision within one of the exact quotient


@njit(cache=True, nogil=True)
def _divide(a, b, divisor):
    """floor(a * b / divisor) and the remainder, exact when the quotient is at most 2^48 and the divisor below 2^60.

    The product may pass 64 bits: the quotient is estimated in doubles, and the remainder, which is small, is right
    modulo 2^64.
    """
    quotient = np.int64(np.float64(a) * np.float64(b) / np.float64(divisor))
    rest = a * b - quotient * divisor
    while rest < 0:
        quotient -= 1
        rest += divisor
    while rest >= divisor:
        quotient += 1
        rest -= divisor
    return quotient, rest


@njit(cache=True, nogil=True)
def _floor(a, b, divisor):
    return _divide(a, b, divisor)[0]


@njit(cache=True, nogil=True)
def _ceil(a, b, divisor):
    quotient, rest = _divide(a, b, divisor)
    return quotient + 1 if rest > 0 else quotient


@njit(cache=True, nogil=True)
def _place_of_draw(draw, small, total, slack, key):
    """The position in the node of draw `draw` of its small child.

    Drawn at p, the small child has `draw` draws in the prefix p and one more in the prefix p + 1; both stay within
    slack of p / rho and (p + 1) / rho when rho * (draw + 1 - slack) - 1 <= p <= rho * (draw + slack). One such p
    always lies in the window, since rho is at least 2 and slack at least one half.
    """
    unit = SLACK_UNIT * small
    first = _ceil(draw, total, small)
    first = max(first, _ceil(SLACK_UNIT * (draw + 1) - slack, total, unit) - 1)
    last = _ceil(draw + 1, total, small) - 1
    last = min(last, _floor(SLACK_UNIT * draw + slack, total, unit))
    choices = last - first + 1
    if choices == 1:
        return first
    return first + np.int64(derive(key, draw) % np.uint64(choices))


@njit(cache=True, nogil=True)
def descend(position, phase, root, slack, small_child, large_child, small, total, key):
    """The leaf and the draw in it of positions within phases.

    `position` int64[n] and `phase` int64[n]; by phase `root` int64 and `slack` int64 (in SLACK_UNIT); by node
    `small_child`, `large_child` int64 (a node, or -1 - leaf), `small` and `total` int64 (draws of the small child and
    of the node) and `key` uint64. Returns (leaf int64[n], draw int64[n]).
    """
    leaf = np.empty(len(position), np.int64)
    draw = np.empty(len(position), np.int64)
    for i in range(len(position)):
        node = root[phase[i]]
        k = position[i]
        while node >= 0:
            j = _floor(k, small[node], total[node])
            place = _place_of_draw(j, small[node], total[node], slack[phase[i]], key[node])
            if k == place:
                k = j
                node = small_child[node]
            else:
                k -= j + 1 if k > place else j
                node = large_child[node]
        leaf[i] = -1 - node
        draw[i] = k
    return leaf, draw
