"""Pairwise counts: how much voter weight prefers one candidate to another, and which candidates comparisons join."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Ints
from metajudge.voting.ballots import Profile, Unranked, index_of, is_name

Ties: TypeAlias = Literal["half", "ignore"]
"""What a ballot's tie of two candidates counts: ``half`` a preference each way, or nothing.

``half`` is the neutral penalty p = 1/2 of Fagin, Kumar, Mahdian, Sivakumar and Vee, "Comparing partial rankings"
(2006); ``ignore`` is their p = 0.
"""

_SHOWN = 5
"""Names of a group given in a message."""

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


def count_votes(
    first: Sequence[str] | NDArray[Any],
    second: Sequence[str] | NDArray[Any],
    outcome: ArrayLike,
    *,
    candidates: Sequence[str] | None = None,
) -> PairCounts:
    """Counts votes on pairs.

    Args:
        first: [n] names, or an integer array of indices into ``candidates``.
        second: [n] likewise.
        outcome: [n] 1 where the first won, -1 where the second did, 0 for a draw.
        candidates: all names; None: those that occur (only where names are given).

    Raises:
        InputError: no votes, unequal lengths, an unknown name or index, a candidate against itself, or another outcome.
    """
    results = np.asarray(outcome)
    if results.ndim != 1 or not len(results):
        raise InputError("there are no votes: give one outcome a vote")
    if results.dtype.kind == "b":
        raise InputError("an outcome is 1 (first won), -1 (second won) or 0 (a draw), not true or false")
    if not len(first) == len(second) == len(results):
        raise InputError(
            f"{len(first)} firsts, {len(second)} seconds and {len(results)} outcomes: give one of each a vote"
        )
    names, (one, other) = _codes(first, second, candidates)
    size = len(names)
    whole = results.dtype.kind in "iu"
    if (results.min() < -1 or results.max() > 1) if whole else not np.isin(results, (-1, 0, 1)).all():
        raise InputError("an outcome is 1 (first won), -1 (second won) or 0 (a draw); leave out votes without one")
    cell = results.astype(np.int64, copy=False) + 1
    for part in (one, other):  # in place: a million votes are megabytes
        cell *= size
        cell += part
    lost, drawn, won = np.bincount(cell, minlength=3 * size * size).reshape(3, size, size)
    against = np.diag(lost + drawn + won)
    if against.any():
        raise InputError(f"{names[int(against.argmax())]!r} is compared with itself: remove such votes")
    return PairCounts(names, won + lost.T, drawn + drawn.T, Fraction(1), len(results))


def _codes(
    first: Any, second: Any, candidates: Sequence[str] | None
) -> tuple[tuple[str, ...], list[NDArray[np.integer]]]:
    sides, index = (first, second), index_of(candidates)
    if all(isinstance(side, np.ndarray) and side.dtype.kind in "iu" for side in sides):
        if candidates is None:
            raise InputError("votes given as indices need candidates: the names of the indices")
        if any(side.min() < 0 or side.max() >= len(index) for side in sides):
            raise InputError(f"a vote has an index outside 0 to {len(index) - 1}: each is one of the candidates")
        return tuple(index), list(sides)
    listed = [side.tolist() if isinstance(side, np.ndarray) else side for side in sides]
    if not set(map(type, itertools.chain(*listed))) <= {str, int}:  # to ask for each of a million names takes long
        for name in itertools.chain(*listed):
            if not is_name(name):
                raise InputError(f"a vote names {name!r}, which is no name: names are strings")
    for name in dict.fromkeys(itertools.chain(*listed)):
        if name not in index and candidates is not None:
            raise InputError(f"a vote names {name!r}, which is not among the candidates")
        index.setdefault(name, len(index))
    return tuple(index), [np.fromiter(map(index.__getitem__, side), np.int64, count=len(side)) for side in listed]


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses a value that is not among an option's names.

    Raises:
        InputError: naming the option and what it takes.
    """
    if value not in choices:
        raise InputError(f"{option} must be {' or '.join(map(repr, choices))}, not {value!r}")


def reachable(edges: Bools) -> Bools:
    """[..., K, K] whether there is a path from row to column, of any length including none."""
    size = edges.shape[-1]
    reach = edges | np.eye(size, dtype=bool)
    length = 1
    while length < size:
        steps = reach.astype(np.float32)
        reach = (steps @ steps) > 0
        length *= 2
    return np.asarray(reach)


def check_connected(beats: Bools, candidates: Sequence[str], model: str) -> None:
    """Refuses comparisons for which some strength would be infinite or arbitrary.

    The estimate is finite and unique if and only if, however the candidates are divided in two groups, a member of
    each has beaten a member of the other (Ford, "Solution of a ranking problem from binary comparisons", 1957).

    Args:
        beats: [K, K] whether the row's candidate was ever preferred to (or tied with) the column's.
        candidates: names.
        model: its name, for messages.

    Raises:
        InputError: names the groups and the possible fixes.
    """
    if len(candidates) < 2:
        raise InputError(f"{model} needs at least two candidates, and there is only {candidates[0]!r}")
    joined = reachable(beats | beats.T)
    if not joined.all():
        apart = joined[0]
        raise InputError(
            f"{model}: no ballot compares {_names(candidates, apart)} with {_names(candidates, ~joined[0])}, directly "
            "or through others, so their strengths have no common scale: rank each group alone, add comparisons that "
            "join them, or give a prior above 0"
        )
    reach = reachable(beats)
    if not reach.all():
        # A candidate that fewest others reach belongs to a group that no outsider has beaten.
        top = reach[:, int(reach.sum(axis=0).argmin())]
        raise InputError(
            f"{model}: {_names(candidates, top)} never lost to {_names(candidates, ~top)}, so the strength between "
            "them is infinite: add comparisons, or give a prior above 0 (pseudo-wins each way between every pair)"
        )


def _names(candidates: Sequence[str], which: Bools) -> str:
    indices = np.flatnonzero(which)
    shown = ", ".join(repr(candidates[i]) for i in indices[:_SHOWN])
    return shown if len(indices) <= _SHOWN else f"{shown} and {len(indices) - _SHOWN} more"
