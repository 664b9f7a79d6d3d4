"""Strengths with standard errors: Bradley-Terry from paired comparisons, Plackett-Luce from whole rankings.

Both are conditional logit models (McFadden, "Conditional logit analysis of qualitative choice behavior", 1974): choices
from sets, with probabilities in proportion to ``e^utility``. A comparison is a choice of two; with Davidson's draws of
three, the draw having the mean utility of the two and ``log nu``.

``P(a beats b) = e^a / (e^a + e^b)`` (Bradley and Terry, "Rank analysis of incomplete block designs", 1952). Draws
count as half a win each, are left out, or have a probability of their own in proportion to ``nu * e^((a + b) / 2)``
(Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", 1970). The
likelihood is concave in the log-strengths, so Newton's method finds its one maximum; it exists only where the
comparisons are strongly connected (see :func:`metajudge.voting.pairwise.check_connected`).

Plackett-Luce reads a ranking as choices one after the other: the first is chosen among all, the second among the rest,
and so on, each with probability in proportion to ``e^strength`` (Plackett, "The analysis of permutations", 1975; Luce,
"Individual choice behavior", 1959). Its likelihood is concave, too, and has one maximum where the comparisons are
strongly connected (Hunter, "MM algorithms for generalized Bradley-Terry models", 2004, assumption 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Ints
from metajudge.voting.ballots import Ballots, Profile, Unranked, Weight, read_counted, read_profile
from metajudge.voting.consensus import SAME_SCORE, Consensus, ranked_by
from metajudge.voting.pairwise import PairCounts, check_choice, check_connected, pair_counts

Draws: TypeAlias = Literal["half", "ignore", "davidson"]
"""What a draw is: half a win each, nothing, or an outcome with a parameter of its own."""

TiedChoices: TypeAlias = Literal["breslow", "refuse"]
"""What a tied group is: each member chosen from the same set (Breslow, "Covariance analysis of censored survival data",
1974; the likelihood of a ranking is Cox's partial likelihood), or an error."""

_ROUNDS = 100
_ACCURACY = 1e-10


@dataclass(frozen=True, slots=True)
class Strengths(Consensus):
    """Strengths with standard errors; ``scores`` are the log-strengths, their mean 0.

    Attributes:
        standard_errors: of the log-strengths under the constraint that their mean is 0, from the inverse of the
            observed information.
        log_likelihood: at the maximum, without the prior.
        prior: pseudo-wins each way that were added to every pair.
    """

    standard_errors: Mapping[str, float]
    log_likelihood: float
    prior: float


@dataclass(frozen=True, slots=True)
class BradleyTerry(Strengths):
    """Strengths from comparisons.

    The standard errors treat every comparison as independent: pairs taken from one ranking are not, so for whole
    rankings resample ballots instead.

    Attributes:
        draw_parameter: Davidson's nu; None where draws have no parameter.
        comparisons: voter weight of all comparisons used.
    """

    draw_parameter: float | None
    comparisons: float

    def win_probability(self, first: str, second: str) -> float:
        """P(first beats second), given that they do not draw."""
        return float(1 / (1 + np.exp(self.scores[second] - self.scores[first])))


def bradley_terry(
    ballots: Ballots | PairCounts,
    *,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    ties: Draws = "half",
    unranked: Unranked = "ignore",
    prior: float = 0.0,
) -> BradleyTerry:
    """Ranks by Bradley-Terry strengths.

    Args:
        ballots: rankings, of which every pair is a comparison (two candidates for a plain vote); see
            :func:`metajudge.voting.read_profile`, also for ``candidates``, ``weights`` and their errors. Or counts, as
            from :func:`metajudge.voting.count_votes`.
        candidates: all names; None: those on the ballots.
        weights: one a ballot, counted as that many ballots; None: 1 each.
        ties: ``half`` a win each, ``ignore`` them, or ``davidson`` for a draw parameter.
        unranked: candidates a ballot does not name were not compared (the default here, as votes name two), or lost to
            those named and drew with each other.
        prior: pseudo-wins each way added to every pair, for comparisons that are not strongly connected; 0 for plain
            maximum likelihood. Strengths then depend on it: report it.

    Raises:
        InputError: bad ballots; fewer than two candidates; candidates that no comparisons join, or of whom some never
            lost to the others (without a prior); ``davidson`` without draws, or with draws alone.
    """
    check_choice("ties", ties, ("half", "ignore", "davidson"))
    _check_prior(prior)
    if not isinstance(ballots, PairCounts):
        counts = pair_counts(read_counted(ballots, candidates, weights), unranked)
    elif candidates is None and weights is None:
        counts = ballots
    else:
        raise InputError("counts already have candidates and weights: give them when counting the votes")
    names, unit = counts.candidates, float(counts.unit)
    wins: Floats = np.asarray(counts.prefer * unit, dtype=np.float64)
    draws: Floats = np.asarray(counts.tied * unit, dtype=np.float64)
    added = prior * (1 - np.eye(len(wins)))
    check_connected(wins + added + (0 if ties == "ignore" else draws) > 0, names, "Bradley-Terry")
    if ties == "davidson":
        _check_draws(wins + added, draws, names)
        made = choices_of_three(wins, draws)
        fitted = choices_of_three(wins + added, draws)
    else:
        games = wins + draws / 2 if ties == "half" else wins
        made, fitted = choices_of_two(games), choices_of_two(games + added)
    values = fitted.most_likely("Bradley-Terry")
    return BradleyTerry(
        **_fields("bradley_terry", names, values, fitted),
        draw_parameter=float(np.exp(values[-1])) if ties == "davidson" else None,
        log_likelihood=-made.loss(values),
        comparisons=float(wins.sum() + (0 if ties == "ignore" else draws.sum() / 2)),
        prior=prior,
    )


def _check_prior(prior: float) -> None:
    if not (prior >= 0 and np.isfinite(prior)):
        raise InputError(f"prior must be a finite number of pseudo-wins, 0 or more, not {prior}")


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Choices from sets of alternatives, with utilities that are linear in the parameters.

    Attributes:
        design: [alternatives, parameters] the first parameters are the log-strengths of the candidates, whose level is
            free.
        sets: [choices, most in a set] the alternatives to choose from, filled up with the number of alternatives.
        chosen: [alternatives] weight by which each was chosen.
        held: [choices] weight of the choices from each set.
        candidates: how many.
    """

    design: Floats
    sets: Ints
    chosen: Floats
    held: Floats
    candidates: int

    def loss(self, values: Floats) -> float:
        """Negative log likelihood."""
        utility = self.design @ values
        top, odds = self._odds(utility)
        return float(self.held @ (top + np.log(odds.sum(axis=1))) - self.chosen @ utility)

    def slopes(self, values: Floats) -> tuple[Floats, Floats]:
        """Gradient of the log likelihood [parameters] and observed information [parameters, parameters]."""
        _, odds = self._odds(self.design @ values)
        chance = odds / odds.sum(axis=1, keepdims=True)
        rows = np.vstack([self.design, np.zeros(self.design.shape[1])])
        mean = sum(share[:, None] * rows[members] for share, members in zip(chance.T, self.sets.T, strict=True))
        weight = (chance * self.held[:, None]).ravel()
        expected = np.bincount(self.sets.ravel(), weights=weight, minlength=len(rows))[:-1]
        # Without the threads that a product of matrices starts, which cost more than these sums.
        information = np.einsum("ai,a,aj->ij", self.design, expected, self.design)
        information -= np.einsum("ci,cj->ij", mean * self.held[:, None], mean)
        return (self.chosen - expected) @ self.design, information

    def _odds(self, utility: Floats) -> tuple[Floats, Floats]:
        """[choices] largest utility of each set; [choices, most in a set] ``e^utility`` over that of the largest."""
        within = np.append(utility, -np.inf)[self.sets]
        top = within.max(axis=1)
        return top, np.exp(within - top[:, None])

    def most_likely(self, model: str) -> Floats:
        """The values with the least loss, by Newton's method, a step that raises it halved; log-strengths have mean 0.

        Raises:
            InputError: it did not converge.
        """
        size = self.candidates
        values = np.zeros(self.design.shape[1])
        least, scale = self.loss(values), float(self.held.sum())
        for _ in range(_ROUNDS):
            gradient, information = self.slopes(values)
            information[:size, :size] += np.trace(information) / size**2
            step, share = np.linalg.solve(information, gradient), 1.0
            while (new := self.loss(values + share * step)) > least + 1e-12 * abs(least) and share > 1e-9:
                share /= 2
            values, least = values + share * step, new
            # Rounding may keep the steps large where one side wins nearly always; the gradient then tells.
            if np.abs(step).max() <= _ACCURACY or np.abs(gradient).max() <= 1e-15 * scale:
                values[:size] -= values[:size].mean()
                return values
        raise InputError(f"{model} did not converge: some strengths are too far apart to be estimated; give a prior")

    def covariance(self, values: Floats) -> Floats:
        """[K, K] of the log-strengths, under the constraint that their mean is 0."""
        size, (_, information) = self.candidates, self.slopes(values)
        level = np.trace(information) / size  # of the information's own scale, or one would drown the other
        information[:size, :size] += level / size
        return np.asarray(np.linalg.inv(information)[:size, :size] - 1 / (level * size), dtype=np.float64)


def choices_of_two(games: Floats) -> Choices:
    """Comparisons as choices from pairs; games are [K, K], wins of row over column."""
    pairs = np.argwhere(np.triu(games + games.T, 1))
    held = (games + games.T)[pairs[:, 0], pairs[:, 1]]
    return Choices(np.eye(len(games)), pairs, games.sum(axis=1), held, len(games))


def choices_of_three(games: Floats, draws: Floats) -> Choices:
    """Comparisons that may end in a draw; both are [K, K], draws symmetric."""
    size, both = len(games), games + games.T + draws
    pairs = np.argwhere(np.triu(both, 1))
    first, second = pairs.T
    each, places = np.eye(size, size + 1), np.arange(len(pairs))
    drawn = (each[first] + each[second]) / 2
    drawn[:, size] = 1.0
    sets, chosen = np.column_stack([pairs, size + places]), np.append(games.sum(axis=1), draws[first, second])
    return Choices(np.vstack([each, drawn]), sets, chosen, both[first, second], size)


def _fields(rule: str, names: Sequence[str], values: Floats, fitted: Choices) -> dict[str, Any]:
    """What log-strengths say of candidates."""
    strengths, errors = values[: len(names)], np.sqrt(np.diag(fitted.covariance(values)))
    return {
        "rule": rule,
        "ranking": ranked_by(names, strengths, SAME_SCORE),
        "scores": dict(zip(names, strengths.tolist(), strict=True)),
        "standard_errors": dict(zip(names, errors.tolist(), strict=True)),
    }


def _check_draws(wins: Floats, draws: Floats, candidates: Sequence[str]) -> None:
    """Refuses comparisons that an ever larger draw parameter explains ever better.

    With ``nu = e^(t/2)`` a win says ``a - b >= t`` and a draw ``|a - b| <= t`` as t grows; that strengths can keep all
    of it, and the likelihood has no maximum, unless some cycle of comparisons has more wins than draws (a negative
    cycle of a system of difference constraints).
    """
    if not draws.any():
        raise InputError("ties='davidson' needs draws, and there are none: use ties='half'")
    if not wins.any():
        raise InputError("every comparison is a draw: the strengths are equal and the draw parameter is infinite")
    steps = np.where(wins > 0, -1.0, np.where(draws > 0, 1.0, np.inf))
    np.fill_diagonal(steps, 0)
    for via in range(len(candidates)):
        np.minimum(steps, steps[:, via, None] + steps[None, via, :], out=steps)
        if (np.diag(steps) < 0).any():
            return
    raise InputError(
        "no cycle of comparisons has more wins than draws (such as a beats b, b beats a), so the draw parameter is "
        "infinite: add comparisons, give a prior above 0, or use ties='half'"
    )


@dataclass(frozen=True, slots=True)
class PlackettLuce(Strengths):
    """Strengths from rankings; the standard errors are for independent ballots.

    Attributes:
        choices: voter weight of all choices used.
    """

    choices: float


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
    _check_prior(prior)
    profile = (
        read_counted(ballots, candidates, weights) if ties == "breslow" else read_profile(ballots, candidates, weights)
    )
    if ties == "refuse":
        _refuse_ties(profile)
    made = _choices(profile, unranked)
    added = prior * (1 - np.eye(made.candidates))
    counts = pair_counts(profile, unranked)
    tied = pair_counts(profile, "ignore").tied
    check_connected((counts.prefer + tied + added) > 0, profile.candidates, "Plackett-Luce")
    fitted = made
    if prior:
        more = choices_of_two(added)
        wide = np.pad(more.sets, ((0, 0), (0, made.candidates - 2)), constant_values=made.candidates)
        sets, held = np.vstack([made.sets, wide]), np.append(made.held, more.held)
        fitted = replace(made, sets=sets, chosen=made.chosen + more.chosen, held=held)
    values = fitted.most_likely("Plackett-Luce")
    return PlackettLuce(
        **_fields("plackett_luce", profile.candidates, values, fitted),
        log_likelihood=-made.loss(values),
        choices=float(made.held.sum()),
        prior=prior,
    )


def _refuse_ties(profile: Profile) -> None:
    size = len(profile.candidates)
    for number, row in enumerate(profile.places):
        named = row[row < size]
        if len(np.unique(named)) < len(named):
            raise InputError(f"ballot {number} has a tie, which Plackett-Luce does not allow: use ties='breslow'")


def _choices(profile: Profile, unranked: Unranked) -> Choices:
    """Every choice from at least two; those from the same set are one, as the likelihood needs no more."""
    size = len(profile.candidates)
    places, ranked = profile.places, profile.ranked
    weights = profile.weights * float(profile.unit)
    last = places.max(axis=1, where=ranked, initial=-1)
    chosen, sets, held = np.zeros(size), [np.zeros((0, size), dtype=bool)], [np.zeros(0)]
    for place in range(int(last.max()) + 1):
        there = (places >= place) & (ranked | (unranked == "below"))
        taken = (places == place) & ranked
        made = (there.sum(axis=1) > 1) & taken.any(axis=1)
        chosen += weights[made] @ taken[made]
        sets.append(there[made])
        held.append((weights * taken.sum(axis=1))[made])
    different, group = np.unique(np.concatenate(sets), axis=0, return_inverse=True)
    together = np.zeros(len(different))
    np.add.at(together, group.ravel(), np.concatenate(held))
    return Choices(np.eye(size), np.where(different, np.arange(size), size), chosen, together, size)
