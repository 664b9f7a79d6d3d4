"""Names for NumPy arrays by their content, and arrays of codes."""

from collections.abc import Hashable, Iterable
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]

T = TypeVar("T", bound=Hashable)


def coded(values: Iterable[T]) -> tuple[list[T], Ints]:
    """The different values, in the order in which they first come, and [n] the place of each value among them."""
    places: dict[T, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(codes, dtype=np.int64)
