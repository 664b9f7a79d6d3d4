"""All subsets of a few candidates as a table, for dynamic programming over them (Held and Karp, 1962)."""

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from metajudge.stats.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Subsets:
    """All subsets of n candidates, by size and then by their bits.

    Attributes:
        member: [2^n, n] 1 where the subset contains the candidate.
        without: [2^n, n] the subset less that candidate; 2^n, a place for infinity, where it does not contain it.
        bounds: [n + 2] where each size begins.
    """

    member: Floats
    without: NDArray[np.intp]
    bounds: tuple[int, ...]


@lru_cache(maxsize=16)
def subsets(size: int) -> Subsets:
    """The table of subsets, kept for the next problem of that size."""
    masks = np.arange(1 << size)
    order = np.lexsort((masks, np.bitwise_count(masks)))
    place = np.empty(len(masks), dtype=np.intp)
    place[order] = masks
    bits = 1 << np.arange(size)
    member = (order[:, None] & bits) != 0
    without = np.where(member, place[order[:, None] ^ bits], len(masks))
    bounds = np.cumsum([0, *(comb(size, k) for k in range(size + 1))])
    return Subsets(member.astype(np.float64), without, tuple(bounds.tolist()))
