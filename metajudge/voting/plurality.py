"""Plurality: how many ballots put a candidate first."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from metajudge.voting.ballots import Ballots, Weight, read_counted
from metajudge.voting.consensus import Consensus, ranked_by


def plurality(
    ballots: Ballots, *, candidates: Sequence[str] | None = None, weights: Sequence[Weight] | None = None
) -> Consensus:
    """Ranks by first places; a ballot's first group shares its vote equally.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot; None: 1 each.

    Returns:
        Scores are the voter weight of first places.
    """
    profile = read_counted(ballots, candidates, weights)
    first = profile.places == 0
    sharing = first.sum(axis=1)
    votes = [Fraction(0)] * len(profile.candidates)
    for size in np.unique(sharing).tolist():
        group = sharing == size
        for i, weight in enumerate((profile.weights[group] @ first[group]).tolist()):
            votes[i] += Fraction(weight, size) * profile.unit
    scores = {name: float(vote) for name, vote in zip(profile.candidates, votes, strict=True)}
    return Consensus("plurality", ranked_by(profile.candidates, votes), scores)
