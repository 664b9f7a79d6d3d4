"""Gives memory that was freed back to the operating system."""

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Returns free pages in the middle of the heap, which the C library would keep.

    What a long run frees lies between what it keeps, so that the heap grows although hardly more of it is in use. Takes
    milliseconds. Does nothing where the C library has no ``malloc_trim``: only glibc on Linux has.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    found: Callable[[int], int] | None = None
    if sys.platform == "linux":
        found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
