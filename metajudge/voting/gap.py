"""How far Borda is from Kemeny: a measure of how much the choice of a rule matters on these ballots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.voting.ballots import Ballots, Unranked, Weight, read_profile
from metajudge.voting.borda import borda_of
from metajudge.voting.consensus import Consensus
from metajudge.voting.kemeny import Kemeny, kemeny
from metajudge.voting.pairwise import Ties, pair_counts


@dataclass(frozen=True, slots=True)
class KemenyBordaGap:
    """Costs of both rules' orders on the same ballots.

    Attributes:
        kemeny: the Kemeny result.
        borda: the Borda result.
        borda_cost: what Borda's order costs; a pair it ties costs the mean of both ways.
        gap: ``borda_cost`` less the least cost, in voter weight over pairs; 0 where Borda is as good.
        relative: gap over the least cost; None where the least cost is 0.
    """

    kemeny: Kemeny
    borda: Consensus
    borda_cost: float
    gap: float
    relative: float | None


def kemeny_borda_gap(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    ties: Ties = "half",
    unranked: Unranked = "below",
    time_limit: float | None = None,
    clock: Callable[[], float] | None = None,
) -> KemenyBordaGap:
    """Compares Borda's order with the least possible disagreement.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`; all arguments and errors as for
            :func:`metajudge.voting.kemeny`.
        candidates: all names; None: those on the ballots.
        weights: one a ballot; None: 1 each.
        ties: what a ballot's tie adds to a cost.
        unranked: candidates a ballot does not name stand below the others, tied, or were not compared.
        time_limit: seconds for Kemeny.
        clock: gives the seconds by which the limit is measured.
    """
    profile = read_profile(ballots, candidates, weights)
    counts = pair_counts(profile, unranked)
    best = kemeny(profile, ties=ties, unranked=unranked, time_limit=time_limit, clock=clock)
    points = borda_of(counts)
    level = np.array([points.scores[name] for name in counts.candidates])
    # Twice the cost of row before column is the doubled weight for column over row.
    against = counts.doubled(ties).T
    upper = level[:, None] > level[None, :]
    tied = np.triu(level[:, None] == level[None, :], 1)
    cost = ((against * upper).sum() + (against + against.T)[tied].sum() / 2) / 2 * float(counts.unit)
    gap = max(0.0, float(cost) - best.cost)
    return KemenyBordaGap(
        kemeny=best, borda=points, borda_cost=float(cost), gap=gap, relative=gap / best.cost if best.cost else None
    )
