"""Borda: points for every candidate ranked below (Borda, 1784; Young, "An axiomatization of Borda's rule", 1974)."""

from collections.abc import Sequence
from fractions import Fraction

from metajudge.voting.ballots import Ballots, Unranked, Weight, read_counted
from metajudge.voting.consensus import Consensus, ranked_by
from metajudge.voting.pairwise import PairCounts, pair_counts


def borda(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    unranked: Unranked = "below",
) -> Consensus:
    """Ranks by Borda points: a ballot gives a candidate one point for each candidate below it, half for each tie.

    On a complete ballot over K candidates that is ``K - rank``, ties at the mean of their ranks. A pair that a ballot
    does not compare (``unranked="ignore"``) gives half a point to each, so who was seen less often is not punished.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot; None: 1 each.
        unranked: candidates a ballot does not name stand below the others, tied, or were not compared.

    Returns:
        Scores are the points over all ballots.
    """
    return borda_of(pair_counts(read_counted(ballots, candidates, weights), unranked))


def borda_of(counts: PairCounts) -> Consensus:
    """Borda from pairwise counts."""
    expected = counts.total * (len(counts.candidates) - 1)
    points = [Fraction(expected + net, 2) * counts.unit for net in counts.margins.sum(axis=1).tolist()]
    scores = {name: float(score) for name, score in zip(counts.candidates, points, strict=True)}
    return Consensus("borda", ranked_by(counts.candidates, points), scores)
