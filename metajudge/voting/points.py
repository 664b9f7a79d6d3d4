"""Rules that give points or ranks: Borda, Copeland, plurality and median rank."""

from fractions import Fraction

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Ints
from metajudge.voting.ballots import Profile, Unranked, of_ballots
from metajudge.voting.consensus import Consensus
from metajudge.voting.pairwise import PairCounts, check_choice, pair_counts


@of_ballots
def borda(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by Borda points: a ballot gives a candidate one point for each candidate below it, half for each tie.

    Borda, 1784; Young, "An axiomatization of Borda's rule", 1974. On a complete ballot over K candidates that is
    ``K - rank``, ties at the mean of their ranks. A pair that a ballot does not compare (``unranked="ignore"``) gives
    half a point to each, so who was seen less often is not punished. Scores are the points over all ballots.
    """
    return borda_of(pair_counts(profile, unranked))


def borda_of(counts: PairCounts) -> Consensus:
    """Borda from pairwise counts."""
    expected = counts.total * (len(counts.candidates) - 1)
    points = [Fraction(expected + net, 2) * counts.unit for net in counts.margins.sum(axis=1).tolist()]
    return Consensus.of_scores("borda", counts.candidates, points)


@of_ballots
def copeland(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by the number of candidates beaten in a majority contest, plus half for each contest that is level.

    Copeland, 1951. Scores are the contests won plus half of those level.
    """
    signs = np.sign(pair_counts(profile, unranked).margins)
    won = (signs.sum(axis=1) + len(signs) - 1) / 2
    return Consensus.of_scores("copeland", profile.candidates, won.tolist())


@of_ballots
def plurality(profile: Profile) -> Consensus:
    """Ranks by first places; a ballot's first group shares its vote equally.

    Scores are the voter weight of first places.
    """
    first = profile.places == 0
    sharing = first.sum(axis=1)
    votes = [Fraction(0)] * len(profile.candidates)
    for size in np.unique(sharing).tolist():
        group = sharing == size
        for i, weight in enumerate((profile.weights[group] @ first[group]).tolist()):
            votes[i] += Fraction(weight, size) * profile.unit
    return Consensus.of_scores("plurality", profile.candidates, votes)


@of_ballots
def median_rank(profile: Profile, *, unranked: Unranked = "below") -> Consensus:
    """Ranks by the weighted median of a candidate's ranks (Bassett and Persky, "Robust voting", 1999).

    Tied candidates have the mean of the ranks they take. Where half of the weight lies on either side, the median is
    the mean of the two ranks next to the middle. Scores are the number of candidates less the median rank.

    Args:
        unranked: candidates a ballot does not name share the ranks after the last one named, or have no rank on it
            (ranks on ballots of different lengths then mean different things).

    Raises:
        InputError: with ``unranked="ignore"`` a candidate that no ballot names.
    """
    check_choice("unranked", unranked, ("below", "ignore"))
    doubled = _doubled_ranks(profile)
    counted = np.ones_like(profile.ranked) if unranked == "below" else profile.ranked
    size = len(profile.candidates)
    missing = [profile.candidates[i] for i in np.flatnonzero(~counted.any(axis=0))]
    if missing:
        raise InputError(f"no ballot ranks {', '.join(map(repr, missing))}: remove them, or use unranked='below'")
    columns = ((doubled[counted[:, i], i], profile.weights[counted[:, i]]) for i in range(size))
    scores = [size - Fraction(_doubled_median(ranks, held), 4) for ranks, held in columns]
    return Consensus.of_scores("median_rank", profile.candidates, scores)


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
