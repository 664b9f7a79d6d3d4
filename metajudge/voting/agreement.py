"""How voters agree: correlations of their preferences, what skill explains of them, and what it does not.

Every pair of candidates of every vote is an item, on which a voter says +1, -1 or 0. If voters err independently given
the truth, the correlation of two of them is the product of their correlations with the truth; so three voters are
enough to estimate each one's (the triplet method: Fu, Chen, Sala, Hooper, Fatahalian and Ré, "Fast and three-rious",
2020), and agreement beyond that product is a sign of copying or of a shared bias. What **all** voters share, or half of
them, cannot be distinguished from the truth without labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.voting.ballots import Ballot, Ballots, Profile, Unranked, Weight, read_profile, whole_weights
from metajudge.voting.consensus import Consensus
from metajudge.voting.pairwise import check_choice, pair_counts, reachable
from metajudge.voting.rules import borda_of

CLIQUE_EXCESS = 0.5
"""Correlation of two voters' errors from which they are reported as a clique."""

COPIES = 0.95
"""Agreement from which two voters may be copies of each other."""

COPIES_APART = 0.3
"""How much less copies agree with the others than with each other."""

FEW_PAIRS = 100
"""Fewer compared pairs than this make every statement about two voters uncertain."""


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """What voters say on every pair.

    Attributes:
        voters: names.
        signs: [voters, pairs] 1, -1 or 0.
        seen: [voters, pairs] whether the voter compared the pair.
    """

    voters: tuple[str, ...]
    signs: Floats
    seen: Bools

    def correlations(self) -> Floats:
        """[voters, voters] tau-b over the pairs both compared, 1 on the diagonal; 0 where undefined."""
        squares = self.signs**2
        seen = self.seen.astype(np.float64)
        scale = np.sqrt((squares @ seen.T) * (seen @ squares.T))
        shared = self.signs @ self.signs.T
        tau = np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0)
        np.fill_diagonal(tau, 1.0)
        return tau


def voter_preferences(ballots: Mapping[str, Mapping[str, Ballot]], *, unranked: Unranked = "ignore") -> Preferences:
    """Preferences of voters over many questions.

    Args:
        ballots: voter -> question -> ranking; a voter may lack questions.
        unranked: as for the voting rules, within each question.

    Raises:
        InputError: fewer than two voters, no question, or a bad ballot.
    """
    check_choice("unranked", unranked, ("below", "ignore"))
    _check_nested(ballots)
    if len(ballots) < 2:
        raise InputError("agreement takes at least two voters")
    if not any(ballots.values()):
        raise InputError("no voter ranked anything: agreement takes at least one question")
    voters = tuple(ballots)
    questions = dict.fromkeys(question for rankings in ballots.values() for question in rankings)
    signs: list[Floats] = []
    seen: list[Bools] = []
    for question in questions:
        there = [i for i, voter in enumerate(voters) if question in ballots[voter]]
        try:
            profile = read_profile([ballots[voters[i]][question] for i in there])
        except InputError as error:
            raise InputError(f"question {question!r}: {error}") from None
        some, compared = _signs(profile, unranked)
        signs.append(np.zeros((len(voters), some.shape[1])))
        seen.append(np.zeros((len(voters), some.shape[1]), dtype=bool))
        signs[-1][there], seen[-1][there] = some, compared
    return Preferences(voters, np.concatenate(signs, axis=1), np.concatenate(seen, axis=1))


def _check_nested(ballots: object) -> None:
    """The one argument here that is no plain sequence of rankings, as the rules take it: easily mistaken."""
    if not isinstance(ballots, Mapping) or not all(isinstance(one, Mapping) for one in ballots.values()):
        raise InputError("agreement takes a mapping of voters to their rankings: {voter: {question: ranking}}")


def _signs(profile: Profile, unranked: Unranked) -> tuple[Floats, Bools]:
    first, second = np.triu_indices(len(profile.candidates), 1)
    signs = np.sign(profile.places[:, second] - profile.places[:, first]).astype(np.float64)
    if unranked == "below":
        return signs, np.ones(signs.shape, dtype=bool)
    seen = profile.ranked[:, first] & profile.ranked[:, second]
    return signs * seen, seen


def skills(correlations: Floats) -> Floats | None:
    """[voters] estimated correlation of each with the truth, in [0, 1]; None for fewer than three voters.

    The median over all pairs of others of ``sqrt(r_uv r_uw / r_vw)``, so that one clique does not decide it. It takes
    for granted that most voters are better than chance.
    """
    count = len(correlations)
    if count < 3:
        return None
    found = np.zeros(count)
    for voter in range(count):
        others = [other for other in range(count) if other != voter]
        first, second = np.array(list(combinations(others, 2))).T
        product = correlations[voter, first] * correlations[voter, second]
        between = correlations[first, second]
        usable = between > 0
        estimates = np.sqrt(np.clip(product[usable], 0, None) / between[usable])
        found[voter] = min(1.0, float(np.median(estimates))) if len(estimates) else 0.0
    return found


@dataclass(frozen=True, slots=True)
class Alike:
    """Two voters: how they agree, and how much of it their skill does not explain."""

    first: str
    second: str
    agreement: float
    excess: float
    pairs: int


@dataclass(frozen=True, slots=True)
class VoterIndependence:
    """How many independent voters a panel is worth.

    Attributes:
        voters: names.
        effective: ``n / (1 + (n - 1) r)`` with r the mean correlation of errors, at least 0 (Kish's design effect): n
            for independent voters, 1 for copies of one.
        mean_error_correlation: r, before it is held at 0.
        skills: voter -> correlation with the truth: estimated from agreement alone, or measured where it was given.
        pairs: every two voters.
        cliques: groups joined by an excess of at least :data:`CLIQUE_EXCESS`; without a truth also near copies, whose
            skill cannot be distinguished from mutual agreement; their errors then count as shared.
        from_truth: whether errors were measured against given rankings.
        caution: why to distrust the figures, None where nothing is known.
    """

    voters: tuple[str, ...]
    effective: float
    mean_error_correlation: float
    skills: Mapping[str, float]
    pairs: tuple[Alike, ...]
    cliques: tuple[tuple[str, ...], ...]
    from_truth: bool
    caution: str | None


def voter_independence(
    ballots: Mapping[str, Mapping[str, Ballot]],
    *,
    truth: Mapping[str, Ballot] | None = None,
    unranked: Unranked = "ignore",
) -> VoterIndependence:
    """Estimates how far voters' errors are shared, and names cliques.

    Args:
        ballots: voter -> question -> ranking.
        truth: question -> true ranking. With it errors are measured, and pairs that all find hard count as shared
            errors; without, they are what three voters' agreements do not explain, and what all share stays invisible.
        unranked: as for the voting rules.

    Raises:
        InputError: fewer than three voters (two with a truth), or a bad ballot.
    """
    _check_nested(ballots)
    names = tuple(ballots)
    if truth is None:
        preferences = voter_preferences(ballots, unranked=unranked)
        return _independence(preferences, preferences.correlations(), None)
    reserved = "\0truth"
    everything = voter_preferences({**ballots, reserved: truth}, unranked=unranked)
    correlations = everything.correlations()
    preferences = Preferences(names, everything.signs[:-1], everything.seen[:-1])
    return _independence(preferences, correlations[:-1, :-1], correlations[:-1, -1])


def _independence(preferences: Preferences, agreement: Floats, known: Floats | None) -> VoterIndependence:
    voters = preferences.voters
    estimated = skills(agreement) if known is None else known
    if estimated is None:
        raise InputError(f"{len(voters)} voters may agree, but nothing shows who errs: give at least three, or a truth")
    excess = error_correlations(agreement, estimated)
    if known is None:
        excess = np.where(near_copies(agreement), agreement, excess)
    seen = preferences.seen.astype(np.int64)
    shared = seen @ seen.T
    pairs = tuple(
        Alike(voters[u], voters[v], float(agreement[u, v]), float(excess[u, v]), int(shared[u, v]))
        for u, v in combinations(range(len(voters)), 2)
    )
    mean = float(np.mean([pair.excess for pair in pairs]))
    fewest = min(pair.pairs for pair in pairs)
    few = f"two of the voters share only {fewest} pairs; {FEW_PAIRS} are needed" if fewest < FEW_PAIRS else None
    return VoterIndependence(
        voters=voters,
        effective=len(voters) / (1 + (len(voters) - 1) * max(mean, 0.0)),
        mean_error_correlation=mean,
        skills=dict(zip(voters, estimated.tolist(), strict=True)),
        pairs=pairs,
        cliques=joined(voters, excess >= CLIQUE_EXCESS),
        from_truth=known is not None,
        caution=few,
    )


def error_correlations(agreement: Floats, skill: Floats) -> Floats:
    """[voters, voters] partial correlation given the truth: agreement beyond the product of skills, in [-1, 1].

    1 on the diagonal; 0 for a voter without errors.
    """
    expected = skill[:, None] * skill[None, :]
    room = np.sqrt(np.clip(1 - skill**2, 0, None))
    scale = room[:, None] * room[None, :]
    excess = np.divide(agreement - expected, scale, out=np.zeros_like(agreement), where=scale > 1e-6)
    excess = np.clip(excess, -1.0, 1.0)
    np.fill_diagonal(excess, 1.0)
    return np.asarray(excess)


def near_copies(agreement: Floats) -> Bools:
    """[voters, voters] pairs that agree almost always, and much less with the others.

    Where all voters agree with each other, none counts as a copy.
    """
    alike = agreement >= COPIES
    count = (~alike).sum(axis=1)
    mean = np.divide((agreement * ~alike).sum(axis=1), count, out=np.ones(len(agreement)), where=count > 0)
    apart = (agreement - np.maximum(mean[:, None], mean[None, :])) >= COPIES_APART
    found = alike & apart
    np.fill_diagonal(found, False)
    return np.asarray(found)


def joined(names: Sequence[str], linked: Bools) -> tuple[tuple[str, ...], ...]:
    """Groups of two or more that links join, directly or through others."""
    reach = reachable(linked | linked.T)
    groups = {tuple(np.flatnonzero(row).tolist()) for row in reach}
    return tuple(tuple(names[i] for i in group) for group in sorted(groups) if len(group) > 1)


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
    names = tuple(map(str, range(len(profile.places))))
    agreement = Preferences(names, *_signs(profile, unranked)).correlations()
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
        cliques=tuple(tuple(map(int, group)) for group in joined(names, near_copies(agreement))),
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
