"""Pairwise counts: how much voter weight prefers one candidate to another."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Ints
from metajudge.voting.ballots import Profile, Unranked

Ties: TypeAlias = Literal["half", "ignore"]
"""What a ballot's tie of two candidates counts: ``half`` a preference each way, or nothing.

``half`` is the neutral penalty p = 1/2 of Fagin, Kumar, Mahdian, Sivakumar and Vee, "Comparing partial rankings"
(2006); ``ignore`` is their p = 0.
"""

_CHUNK = 1 << 22
"""Comparisons of a ballot's pairs kept in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """How the ballots compare each pair.

    Attributes:
        candidates: names, in the order of the arrays.
        prefer: [K, K] weight that places the row's candidate above the column's, in ``unit``.
        tied: [K, K] weight that ties them, symmetric, 0 on the diagonal.
        unit: the weight that 1 represents.
        total: weight of all ballots, in ``unit``.
    """

    candidates: tuple[str, ...]
    prefer: Ints
    tied: Ints
    unit: Fraction
    total: int

    @property
    def margins(self) -> Ints:
        """[K, K] weight for the row's candidate less weight for the column's; ties count nothing under either rule."""
        return self.prefer - self.prefer.T

    def doubled(self, ties: Ties) -> Ints:
        """[K, K] twice the weight for the row's candidate, ties counted by the option; whole numbers."""
        return 2 * self.prefer + (self.tied if ties == "half" else 0)


def pair_counts(profile: Profile, unranked: Unranked = "below") -> PairCounts:
    """Counts preferences and ties of every pair.

    Args:
        profile: the ballots.
        unranked: whether candidates a ballot does not name stand below the others, or were not compared.
    """
    check_choice("unranked", unranked, ("below", "ignore"))
    size = len(profile.candidates)
    prefer = np.zeros(size * size)
    tied = np.zeros(size * size)
    step = max(1, _CHUNK // (size * size))
    for start in range(0, len(profile.places), step):
        places = profile.places[start : start + step]
        weights = profile.weights[start : start + step].astype(np.float64)
        above = places[:, :, None] < places[:, None, :]
        level = places[:, :, None] == places[:, None, :]
        if unranked == "ignore":
            named = places < size
            above &= named[:, None, :]
            level &= named[:, None, :]
        prefer += weights @ above.reshape(len(places), -1)
        tied += weights @ level.reshape(len(places), -1)
    shared = tied.reshape(size, size).astype(np.int64)
    np.fill_diagonal(shared, 0)
    return PairCounts(
        profile.candidates,
        prefer.reshape(size, size).astype(np.int64),
        shared,
        profile.unit,
        int(profile.weights.sum()),
    )


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses a value that is not among an option's names.

    Raises:
        InputError: naming the option and what it takes.
    """
    if value not in choices:
        raise InputError(f"{option} must be {' or '.join(map(repr, choices))}, not {value!r}")
