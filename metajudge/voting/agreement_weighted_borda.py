"""Borda with voters weighted by how well they agree with the others, learned from the same ballots, without labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.voting.agreement import joined, near_copies, profile_preferences
from metajudge.voting.ballots import Ballots, Profile, Unranked, Weight, read_profile, whole_weights
from metajudge.voting.borda import borda_of
from metajudge.voting.consensus import Consensus
from metajudge.voting.pairwise import pair_counts


@dataclass(frozen=True, slots=True)
class WeightedBorda(Consensus):
    """Borda points under learned weights.

    Attributes:
        voter_weights: one a ballot, as used; their mean is 1 (before ``weights``).
        capped: numbers of the ballots whose weight was held at the cap.
        cliques: numbers of ballots that nearly copy each other and agree much less with the rest. They raise each
            other's weight: with one, prefer plain Borda or Kemeny, or leave all but one of the clique out.
        learned: False where no ballot agrees with the others (or there are fewer than three): all weigh the same.
    """

    voter_weights: tuple[float, ...]
    capped: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    learned: bool

    @property
    def warning(self) -> str | None:
        """What to know before trusting the weights, None where there is nothing."""
        if self.cliques:
            groups = "; ".join(", ".join(map(str, clique)) for clique in self.cliques)
            return f"ballots {groups} agree as copies do and may have raised each other's weight: check them"
        return None if self.learned else "no weights could be learned: every ballot counts the same"


def agreement_weighted_borda(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    unranked: Unranked = "below",
    cap: float = 2.0,
) -> WeightedBorda:
    """Ranks by Borda points, each ballot weighted by its mean agreement with the others.

    The agreement of two ballots is Kendall's tau-b over the pairs both compare; a mean below 0 counts as 0. One step,
    not repeated to a fixed point: repeating would hand the vote to the largest group that agrees with itself.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot, multiplied with those learned, and counted in the means; None: 1 each.
        unranked: candidates a ballot does not name stand below the others, tied, or were not compared.
        cap: no learned weight is above this many times their mean; at least 1.

    Returns:
        Scores are the weighted points.
    """
    if not cap >= 1:
        raise InputError(f"cap must be at least 1 (a weight no larger than the mean), not {cap}")
    profile = read_profile(ballots, candidates, weights)
    agreement = profile_preferences(profile, unranked).correlations()
    means = _mean_with_others(agreement, profile.weights.astype(np.float64))
    learned = len(means) > 2 and bool((means > 0).any())
    found = _capped(means, cap) if learned else np.ones(len(means))
    result = borda_of(pair_counts(_reweighted(profile, found), unranked))
    return WeightedBorda(
        rule="agreement_weighted_borda",
        ranking=result.ranking,
        scores=result.scores,
        voter_weights=tuple(found.tolist()),
        capped=tuple(np.flatnonzero(found >= cap - 1e-9).tolist()) if learned else (),
        cliques=_cliques(agreement),
        learned=learned,
    )


def _mean_with_others(agreement: Floats, weights: Floats) -> Floats:
    """[ballots] mean agreement with the other ballots, rounded so that equals stay equal."""
    others = weights[None, :] * (1 - np.eye(len(weights)))
    total = others.sum(axis=1)
    means = np.divide((agreement * others).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(np.round(np.maximum(means, 0.0), 9))


def _capped(means: Floats, cap: float) -> Floats:
    """Weights in proportion to the means, their mean 1, none above the cap; what is cut off goes to the others."""
    weights: Floats = np.asarray(means / means.mean())
    held = np.zeros(len(weights), dtype=bool)
    while (weights[~held] > cap + 1e-12).any():
        held |= weights > cap + 1e-12
        free = ~held & (means > 0)
        if not free.any():
            return np.asarray(np.round(np.where(held, cap, 0.0), 9))
        weights = np.where(held, cap, means / means[free].sum() * (len(means) - cap * held.sum()))
    return np.asarray(np.round(weights, 9))


def _reweighted(profile: Profile, found: Floats) -> Profile:
    kept = np.flatnonzero(found > 0)
    products = [int(profile.weights[i]) * profile.unit for i in kept]
    exact = [weight * Fraction(str(found[i])) for weight, i in zip(products, kept, strict=True)]
    whole, unit, precise = whole_weights(exact, len(kept))
    return Profile(profile.candidates, profile.places[kept], whole, unit, profile.exact and precise)


def _cliques(agreement: Floats) -> tuple[tuple[int, ...], ...]:
    names = [str(i) for i in range(len(agreement))]
    return tuple(tuple(map(int, group)) for group in joined(names, near_copies(agreement)))
