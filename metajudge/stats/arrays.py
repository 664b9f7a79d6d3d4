"""Names for NumPy arrays by their content, and arrays of codes."""

from collections.abc import Hashable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]

T = TypeVar("T", bound=Hashable)


def coded(values: Sequence[T]) -> tuple[list[T], Ints]:
    """The different values, in the order in which they first come, and [n] the place of each value among them."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return list(places), np.fromiter(map(places.__getitem__, values), dtype=np.int64, count=len(values))
