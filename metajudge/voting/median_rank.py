"""Median rank: the rank that half of the voters give a candidate at least."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Ints
from metajudge.voting.ballots import Ballots, Profile, Unranked, Weight, read_counted
from metajudge.voting.consensus import Consensus, ranked_by
from metajudge.voting.pairwise import check_choice


def median_rank(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    unranked: Unranked = "below",
) -> Consensus:
    """Ranks by the weighted median of a candidate's ranks (Bassett and Persky, "Robust voting", 1999).

    Tied candidates have the mean of the ranks they take. Where half of the weight lies on either side, the median is
    the mean of the two ranks next to the middle.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot; None: 1 each.
        unranked: candidates a ballot does not name share the ranks after the last one named, or have no rank on it
            (ranks on ballots of different lengths then mean different things).

    Returns:
        Scores are the number of candidates less the median rank.

    Raises:
        InputError: with ``unranked="ignore"`` a candidate that no ballot names.
    """
    check_choice("unranked", unranked, ("below", "ignore"))
    profile = read_counted(ballots, candidates, weights)
    doubled = _doubled_ranks(profile)
    counted = np.ones_like(profile.ranked) if unranked == "below" else profile.ranked
    size = len(profile.candidates)
    missing = [profile.candidates[i] for i in np.flatnonzero(~counted.any(axis=0))]
    if missing:
        raise InputError(f"no ballot ranks {', '.join(map(repr, missing))}: remove them, or use unranked='below'")
    columns = ((doubled[counted[:, i], i], profile.weights[counted[:, i]]) for i in range(size))
    scores = [size - Fraction(_doubled_median(ranks, held), 4) for ranks, held in columns]
    named = {name: float(score) for name, score in zip(profile.candidates, scores, strict=True)}
    return Consensus("median_rank", ranked_by(profile.candidates, scores), named)


def _doubled_ranks(profile: Profile) -> Ints:
    """[ballots, K] twice the mid-rank, so that it is whole."""
    size = len(profile.candidates)
    rows = np.arange(len(profile.places))[:, None]
    held = np.zeros((len(profile.places), size + 1), dtype=np.int64)
    np.add.at(held, (rows, profile.places), 1)
    before = np.cumsum(held, axis=1) - held
    return np.asarray((2 * before + held + 1)[rows, profile.places])


def _doubled_median(ranks: Ints, weights: Ints) -> int:
    """The sum of the lower and the upper weighted median."""
    order = np.argsort(ranks, kind="stable")
    reached = 2 * np.cumsum(weights[order])
    half = int(weights.sum())
    lower = ranks[order][np.searchsorted(reached, half, side="left")]
    upper = ranks[order][np.searchsorted(reached, half, side="right")]
    return int(lower + upper)
