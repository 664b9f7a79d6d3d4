"""Plackett-Luce: strengths from whole rankings, read as choices one after the other.

The first is chosen among all, the second among the rest, and so on, each with probability in proportion to
``e^strength`` (Plackett, "The analysis of permutations", 1975; Luce, "Individual choice behavior", 1959). The
likelihood is concave in the log-strengths and has one maximum where the comparisons are strongly connected (Hunter, "MM
algorithms for generalized Bradley-Terry models", 2004, assumption 1); Newton's method finds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.voting.ballots import Ballots, Profile, Unranked, Weight, read_counted, read_profile
from metajudge.voting.bradley_terry import centred_inverse, newton
from metajudge.voting.consensus import SAME_SCORE, Consensus, ranked_by
from metajudge.voting.pairwise import check_choice, check_connected, pair_counts

TiedChoices: TypeAlias = Literal["breslow", "refuse"]
"""What a tied group is: each member chosen from the same set (Breslow, "Covariance analysis of censored survival data",
1974; the likelihood of a ranking is Cox's partial likelihood), or an error."""


@dataclass(frozen=True, slots=True)
class PlackettLuce(Consensus):
    """Strengths with standard errors; ``scores`` are the log-strengths, their mean 0.

    Attributes:
        standard_errors: of the log-strengths under the constraint that their mean is 0, from the observed information,
            for independent ballots.
        covariance: [K, K] of the log-strengths, in the order of ``scores``.
        log_likelihood: at the maximum, without the prior.
        choices: voter weight of all choices used.
        prior: pseudo-wins each way that were added to every pair.
    """

    standard_errors: Mapping[str, float]
    covariance: Floats = field(compare=False, repr=False)
    log_likelihood: float
    choices: float
    prior: float


def plackett_luce(
    ballots: Ballots,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    ties: TiedChoices = "breslow",
    unranked: Unranked = "ignore",
    prior: float = 0.0,
) -> PlackettLuce:
    """Ranks by Plackett-Luce strengths.

    Args:
        ballots: see :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors.
        candidates: all names; None: those on the ballots.
        weights: one a ballot, counted as that many ballots; None: 1 each.
        ties: how tied groups enter; an approximation that is good for few ties.
        unranked: candidates a ballot does not name were not there to be chosen (the default), or were there and not
            chosen, which says nothing about their order among themselves (a top-k list).
        prior: pseudo-wins each way added to every pair, for ballots that are not strongly connected.

    Raises:
        InputError: bad ballots; a tie with ``ties="refuse"``; fewer than two candidates; candidates that no ballots
            join, or of whom some never came after the others (without a prior).
    """
    check_choice("ties", ties, ("breslow", "refuse"))
    check_choice("unranked", unranked, ("below", "ignore"))
    if not (prior >= 0 and np.isfinite(prior)):
        raise InputError(f"prior must be a finite number of pseudo-wins, 0 or more, not {prior}")
    profile = (
        read_counted(ballots, candidates, weights) if ties == "breslow" else read_profile(ballots, candidates, weights)
    )
    if ties == "refuse":
        _refuse_ties(profile)
    sets, chosen, held = _choices(profile, unranked)
    pairs = prior * (1 - np.eye(len(profile.candidates)))
    counts = pair_counts(profile, unranked)
    tied = pair_counts(profile, "ignore").tied
    check_connected((counts.prefer + tied + pairs) > 0, profile.candidates, "Plackett-Luce")
    strengths = newton(
        len(pairs),
        np.zeros(len(pairs)),
        lambda values: _loss(values, sets, chosen, held, pairs),
        lambda values: _slopes(values, sets, chosen, held, pairs),
        "Plackett-Luce",
    )
    strengths -= strengths.mean()
    _, information = _slopes(strengths, sets, chosen, held, pairs)
    covariance = centred_inverse(information)
    names = profile.candidates
    return PlackettLuce(
        rule="plackett_luce",
        ranking=ranked_by(names, strengths, SAME_SCORE),
        scores=dict(zip(names, strengths.tolist(), strict=True)),
        standard_errors=dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True)),
        covariance=covariance,
        log_likelihood=-_loss(strengths, sets, chosen, held, np.zeros_like(pairs)),
        choices=float(held.sum()),
        prior=prior,
    )


def _refuse_ties(profile: Profile) -> None:
    size = len(profile.candidates)
    for number, row in enumerate(profile.places):
        named = row[row < size]
        if len(np.unique(named)) < len(named):
            raise InputError(f"ballot {number} has a tie, which Plackett-Luce does not allow: use ties='breslow'")


def _choices(profile: Profile, unranked: Unranked) -> tuple[Bools, Floats, Floats]:
    """Every choice from at least two: [choices, K] its set, [K] weight by which each was chosen, [choices] weight."""
    size = len(profile.candidates)
    places, ranked = profile.places, profile.ranked
    weights = profile.weights * float(profile.unit)
    last = places.max(axis=1, where=ranked, initial=-1)
    sets: list[Bools] = []
    held: list[Floats] = []
    chosen = np.zeros(size)
    for place in range(int(last.max()) + 1):
        there = places >= place
        if unranked == "ignore":
            there &= ranked
        taken = (places == place) & ranked
        made = there.sum(axis=1) > 1
        chosen += weights[made] @ taken[made]
        sets.append(there[made & taken.any(axis=1)])
        held.append((weights * taken.sum(axis=1))[made & taken.any(axis=1)])
    return _merged(np.concatenate(sets), chosen, np.concatenate(held))


def _merged(sets: Bools, chosen: Floats, held: Floats) -> tuple[Bools, Floats, Floats]:
    """Choices from the same set as one: the likelihood needs only who was chosen how often, and from which sets."""
    if not len(sets):
        return sets, chosen, held
    packed = np.packbits(sets, axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    merged = np.bincount(group.ravel(), weights=held, minlength=len(first))
    return sets[first], chosen, np.asarray(merged, dtype=np.float64)


def _loss(strengths: Floats, sets: Bools, chosen: Floats, held: Floats, pairs: Floats) -> float:
    """Negative log likelihood, with the prior's pseudo-wins as Bradley-Terry comparisons."""
    top = strengths.max()
    choices = held @ (np.log(sets @ np.exp(strengths - top)) + top) - chosen @ strengths
    gaps = strengths[None, :] - strengths[:, None]
    return float(choices + (pairs * np.logaddexp(0, gaps)).sum())


def _slopes(strengths: Floats, sets: Bools, chosen: Floats, held: Floats, pairs: Floats) -> tuple[Floats, Floats]:
    """Gradient [K] and observed information [K, K]."""
    odds = sets * np.exp(strengths - strengths.max())
    chance = odds / odds.sum(axis=1, keepdims=True)
    expected = held @ chance
    information = np.diag(expected) - (chance * held[:, None]).T @ chance
    win = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    both = (pairs + pairs.T) * win * (1 - win)
    information += np.diag(both.sum(axis=1)) - both
    prior = pairs.sum(axis=1) - ((pairs + pairs.T) * win).sum(axis=1)
    return chosen - expected + prior, information
