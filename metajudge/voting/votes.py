"""Votes on pairs by the million: counted once, then every rule and every resample works on the counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.voting.ballots import index_of, is_name
from metajudge.voting.pairwise import PairCounts, check_choice, reachable
from metajudge.voting.strengths import Draws, newton_strengths

_LOOKED_UP = 1 << 13
"""Names looked up at once."""


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
    first: object, second: object, candidates: Sequence[str] | None
) -> tuple[tuple[str, ...], list[NDArray[np.integer]]]:
    sides = (first, second)
    index = index_of(candidates)
    if all(isinstance(side, np.ndarray) and side.dtype.kind in "iu" for side in sides):
        if candidates is None:
            raise InputError("votes given as indices need candidates: the names of the indices")
        coded: list[NDArray[np.integer]] = [np.asarray(side) for side in sides]
        if any(side.min() < 0 or side.max() >= len(index) for side in coded):
            raise InputError(f"a vote has an index outside 0 to {len(index) - 1}: each is one of the candidates")
        return tuple(index), coded
    listed: list[Any] = [side.tolist() if isinstance(side, np.ndarray) else side for side in sides]
    codes = [_looked_up(side, index, grow=candidates is None) for side in listed]
    return tuple(index), codes


def _looked_up(names: Sequence[str], index: dict[str, int], *, grow: bool) -> NDArray[np.integer]:
    """[n] the index of each name; a new name gets the next one where the index may grow.

    Many names at once cost half of a look-up each; so does writing the numbers as bytes, where they fit.
    """
    found: list[NDArray[np.integer]] = []
    for start in range(0, len(names), _LOOKED_UP):
        some = names[start : start + _LOOKED_UP]
        look_up = itemgetter(*some, some[0])  # of one name alone it would give no tuple
        try:
            numbers = look_up(index)
        except (KeyError, TypeError):
            for name in some:
                if not is_name(name):
                    raise InputError(f"a vote names {name!r}, which is no name: names are strings") from None
                if name not in index and not grow:
                    raise InputError(f"a vote names {name!r}, which is not among the candidates") from None
                index.setdefault(name, len(index))
            numbers = look_up(index)
        few = len(index) <= 256
        found.append(np.frombuffer(bytes(numbers), dtype=np.uint8) if few else np.array(numbers, dtype=np.int64))
    return np.concatenate([numbers[:-1] for numbers in found])


@dataclass(frozen=True, slots=True)
class BootstrapStrengths:
    """Bradley-Terry strengths over resampled votes.

    Attributes:
        intervals: candidate -> percentile interval of its log-strength.
        ranks: candidate -> percentile interval of its rank, the best first.
        confidence: nominal coverage.
        resamples: how often the votes were drawn.
        undefined: resamples whose votes tie not all candidates together; they have no strengths and are left out.
        votes: number of votes.
    """

    intervals: dict[str, tuple[float, float]]
    ranks: dict[str, tuple[float, float]]
    confidence: float
    resamples: int
    undefined: int
    votes: int


def bootstrap_strengths(
    counts: PairCounts,
    *,
    rng: np.random.Generator,
    resamples: int = 1000,
    confidence: float = 0.95,
    ties: Draws = "half",
    prior: float = 0.0,
) -> BootstrapStrengths:
    """Resamples single votes and fits each resample anew.

    Votes are drawn independently. Where several come from one question or one judge they are not independent, and the
    intervals are too narrow; resample those units instead.

    Args:
        counts: from :func:`count_votes`.
        rng: the only source of randomness.
        resamples: at least 2.
        confidence: in (0, 1).
        ties: ``half`` or ``ignore``.
        prior: pseudo-wins each way, as in :func:`metajudge.voting.bradley_terry`.

    Raises:
        InputError: an option out of range, or no resample that ties all candidates together.
    """
    check_choice("ties", ties, ("half", "ignore"))
    if resamples < 2 or not 0 < confidence < 1:
        raise InputError("a bootstrap takes at least 2 resamples and a confidence between 0 and 1")
    if counts.unit != 1:
        raise InputError("a bootstrap resamples votes that count 1 each: these have weights")
    games = _resampled(counts, ties, rng, resamples) + prior * (1 - np.eye(len(counts.candidates)))
    usable = games[reachable(games > 0).all(axis=(1, 2))]
    if not len(usable):
        raise InputError("no resample ties all candidates together: there are too few votes; give a prior above 0")
    strengths = newton_strengths(usable)
    above = strengths[:, None, :] > strengths[:, :, None] + 1e-9
    level = np.abs(strengths[:, None, :] - strengths[:, :, None]) <= 1e-9
    ranks = above.sum(axis=2) + (level.sum(axis=2) + 1) / 2
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    of_strength, of_rank = (
        dict(zip(counts.candidates, map(tuple, np.quantile(drawn, tails, axis=0).T.tolist()), strict=True))
        for drawn in (strengths, ranks)
    )
    return BootstrapStrengths(of_strength, of_rank, confidence, resamples, resamples - len(usable), counts.total)


def _resampled(counts: PairCounts, ties: Draws, rng: np.random.Generator, resamples: int) -> Floats:
    """[resamples, K, K] wins, drawn from the cells of the table as the votes would be."""
    size = len(counts.candidates)
    cells = np.concatenate([counts.prefer.ravel(), np.triu(counts.tied).ravel()])
    held = np.flatnonzero(cells)
    total = int(cells.sum())
    drawn = np.zeros((resamples, len(cells)))
    drawn[:, held] = rng.multinomial(total, cells[held] / total, size=resamples)
    wins = drawn[:, : size * size].reshape(-1, size, size)
    if ties == "ignore":
        return wins
    draws = drawn[:, size * size :].reshape(-1, size, size)
    return np.asarray(wins + (draws + draws.swapaxes(1, 2)) / 2)
