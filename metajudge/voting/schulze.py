"""Schulze: who has the stronger chain of majorities.

Schulze, "A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent single-winner election
method", 2011.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from metajudge.stats.arrays import Ints
from metajudge.voting.ballots import Ballots, Unranked, Weight, read_counted
from metajudge.voting.consensus import Consensus, layered, places_below
from metajudge.voting.pairwise import PairCounts, check_choice, pair_counts

Strength: TypeAlias = Literal["margins", "winning_votes"]
"""How strong a majority is: its lead, or its votes."""


def schulze(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    unranked: Unranked = "below",
    strength: Strength = "margins",
) -> Consensus:
    """Ranks by strongest paths: a is ranked above b where the strongest chain from a to b beats that from b to a.

    A chain of majority wins is as strong as its weakest. "Stands above" is transitive but may leave candidates
    incomparable; the first group are all candidates with none above them (the Schulze winners), the next those
    whom only earlier groups stand above, and so on.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot; None: 1 each.
        unranked: candidates a ballot does not name stand below the others, tied, or were not compared.
        strength: ``margins`` (the default) or ``winning_votes``; they differ only with ties or unranked candidates.

    Returns:
        Scores are the number of candidates in lower groups.
    """
    check_choice("strength", strength, ("margins", "winning_votes"))
    counts = pair_counts(read_counted(ballots, candidates, weights), unranked)
    paths = strongest_paths(counts, strength)
    ranking = layered(counts.candidates, paths > paths.T)
    return Consensus("schulze", ranking, places_below(ranking))


def strongest_paths(counts: PairCounts, strength: Strength = "margins") -> Ints:
    """[K, K] strength of the strongest chain of majority wins from row to column, 0 if missing."""
    margins = counts.margins
    paths = np.where(margins > 0, margins if strength == "margins" else counts.prefer, 0)
    for via in range(len(paths)):
        np.maximum(paths, np.minimum(paths[:, via, None], paths[None, via, :]), out=paths)
    np.fill_diagonal(paths, 0)
    return paths
