"""Copeland: how many others a candidate beats by majority (Copeland, 1951)."""

from collections.abc import Sequence

import numpy as np

from metajudge.voting.ballots import Ballots, Unranked, Weight, read_counted
from metajudge.voting.consensus import Consensus, ranked_by
from metajudge.voting.pairwise import pair_counts


def copeland(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    unranked: Unranked = "below",
) -> Consensus:
    """Ranks by the number of candidates beaten in a majority contest, plus half for each contest that is level.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot; None: 1 each.
        unranked: candidates a ballot does not name stand below the others, tied, or were not compared.

    Returns:
        Scores are the contests won plus half of those level.
    """
    counts = pair_counts(read_counted(ballots, candidates, weights), unranked)
    signs = np.sign(counts.margins)
    won = (signs.sum(axis=1) + len(signs) - 1) / 2
    scores = dict(zip(counts.candidates, won.tolist(), strict=True))
    return Consensus("copeland", ranked_by(counts.candidates, won), scores)
