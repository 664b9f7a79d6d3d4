"""Probabilities of many judgments with what is to be known about each, as arrays."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from metajudge.calibration.domain import Mark, outside_domain
from metajudge.stats.arrays import Bools, Indices, coded

N = TypeVar("N", bound=Hashable)

ORDER = (
    *(Mark.UNKNOWN_CATEGORY, Mark.ABSENT_SIGNAL, Mark.SEEN, Mark.SEEN_QUESTION),
    *(Mark.OTHER_JUDGE, Mark.CROWDED, Mark.BROKEN, Mark.DEPENDENT),
    *(Mark.TRANSFERRED, Mark.NO_BETTER, Mark.BESIDE, Mark.UNTESTED),
)
"""Marks in the order in which a judgment names them; each is a bit."""

MARK_SETS: tuple[tuple[Mark, ...], ...] = tuple(
    tuple(mark for at, mark in enumerate(ORDER) if bits >> at & 1) for bits in range(1 << len(ORDER))
)
"""Bits -> marks."""


@dataclass(frozen=True, slots=True)
class Named(Generic[N]):
    """Names of n rows as codes.

    Attributes:
        names: different ones, in order of appearance.
        codes: [n] places in ``names``.
    """

    names: list[N]
    codes: Indices

    @classmethod
    def of(cls, names: Sequence[N]) -> "Named[N]":
        return cls(*coded(names))

    def among(self, chosen: Collection[N]) -> Bools:
        """[n] whether a row's name is one of those given."""
        known = set(chosen)
        return np.array([name in known for name in self.names], dtype=bool)[self.codes]


class Marks:
    """The marks of n judgments.

    Attributes:
        bits: [n] a bit for each mark of :data:`ORDER`.
    """

    def __init__(self, n: int) -> None:
        self.bits: Indices = np.zeros(n, dtype=np.intp)

    def add(self, mark: Mark, where: Bools) -> None:
        """Gives a mark to some of them."""
        self.bits[where] |= 1 << ORDER.index(mark)

    def clear(self, where: Bools) -> None:
        """Takes all marks away from some of them."""
        self.bits[where] = 0


@dataclass(frozen=True, slots=True)
class Predictions:
    """Probabilities with their marks.

    Attributes:
        probabilities: [n] in [0, 1], masked where missing.
        bits: [n] marks as in :class:`Marks`.
    """

    probabilities: "np.ma.MaskedArray[Any, np.dtype[np.float64]]"
    bits: Indices

    @property
    def marks(self) -> tuple[tuple[Mark, ...], ...]:
        """The marks of each."""
        return tuple(map(MARK_SETS.__getitem__, self.bits.tolist()))

    def marks_of(self, row: int) -> tuple[Mark, ...]:
        """The marks of one."""
        return MARK_SETS[self.bits[row]]


def joined(parts: Sequence[Predictions]) -> Predictions:
    """Predictions of several tables, one after the other."""
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([np.ma.getdata(one.probabilities) for one in parts])
    masks = np.concatenate([np.ma.getmaskarray(one.probabilities) for one in parts])
    return Predictions(np.ma.MaskedArray(values, mask=masks), np.concatenate([one.bits for one in parts]))


def in_domain(predicted: Predictions, approximate: bool) -> Bools:
    """[n] whether a threshold sought on these judgments could promise something of others like each of them.

    The judgments a threshold is sought on must be those it is used on: without any that a guarantee leaves out later.

    Args:
        predicted: probabilities and marks [n].
        approximate: whether the threshold is sought on questions fitted on, whose marks then count for nothing.
    """
    # How many judgments of a question another guarantee covers says nothing about the one that is sought.
    passed = {Mark.CROWDED} | ({Mark.SEEN, Mark.SEEN_QUESTION} if approximate else set())
    inside = np.array([not set(outside_domain(marks)) - passed for marks in MARK_SETS], dtype=bool)
    return np.asarray(inside[predicted.bits] & ~np.ma.getmaskarray(predicted.probabilities))
