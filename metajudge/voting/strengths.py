"""Strengths with standard errors: Bradley-Terry from paired comparisons, Plackett-Luce from whole rankings.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
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
        covariance: [K, K] of the log-strengths, in the order of ``scores``.
        log_likelihood: at the maximum, without the prior.
        prior: pseudo-wins each way that were added to every pair.
    """

    standard_errors: Mapping[str, float]
    covariance: Floats = field(compare=False, repr=False)
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
        fit = _davidson(wins, draws, added)
    else:
        fit = _plain(wins + draws / 2 if ties == "half" else wins, added)
    return BradleyTerry(
        **_fields("bradley_terry", names, fit.strengths, fit.covariance),
        draw_parameter=fit.draw_parameter,
        log_likelihood=fit.log_likelihood,
        comparisons=float(wins.sum() + (0 if ties == "ignore" else draws.sum() / 2)),
        prior=prior,
    )


def _check_prior(prior: float) -> None:
    if not (prior >= 0 and np.isfinite(prior)):
        raise InputError(f"prior must be a finite number of pseudo-wins, 0 or more, not {prior}")


def _fields(rule: str, names: Sequence[str], strengths: Floats, covariance: Floats) -> dict[str, Any]:
    """What log-strengths and their covariance say of candidates."""
    return {
        "rule": rule,
        "ranking": ranked_by(names, strengths, SAME_SCORE),
        "scores": dict(zip(names, strengths.tolist(), strict=True)),
        "standard_errors": dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True)),
        "covariance": covariance,
    }


@dataclass(frozen=True, slots=True)
class _Fit:
    strengths: Floats
    covariance: Floats
    log_likelihood: float
    draw_parameter: float | None


def _plain(wins: Floats, added: Floats) -> _Fit:
    games = wins + added
    strengths = newton_strengths(games[None])[0]
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    both = games + games.T
    information = _laplacian(both * chance * (1 - chance))
    covariance = centred_inverse(information, len(wins))
    return _Fit(strengths, covariance, float((wins * np.log(chance)).sum()), None)


def newton(
    size: int,
    start: Floats,
    loss: Callable[[Floats], float],
    slopes: Callable[[Floats], tuple[Floats, Floats]],
    name: str,
) -> Floats:
    """The values with the least loss, a convex function; a step that raises it is halved.

    Args:
        size: the first so many values are log-strengths, whose level is free; it is 0 where it starts.
        start: [values].
        slopes: minus the gradient [values], and the second derivatives [values, values].
        name: of the model, for the error.

    Raises:
        InputError: it did not converge.
    """
    values, least = start, loss(start)
    for _ in range(_ROUNDS):
        gradient, information = slopes(values)
        information[:size, :size] += np.trace(information) / size**2
        step, share = np.linalg.solve(information, gradient), 1.0
        while (new := loss(values + share * step)) > least + 1e-12 * abs(least):
            share /= 2
            if share < 1e-9:
                break
        values, least = values + share * step, new
        if np.abs(step).max() <= _ACCURACY:
            return values
    raise InputError(f"{name} did not converge: some strengths are too far apart to be estimated; give a prior")


def newton_strengths(games: Floats) -> Floats:
    """Log-strengths of many tables of comparisons at once.

    Args:
        games: [tables, K, K] wins of row over column, each table strongly connected.

    Returns:
        [tables, K] log-strengths with mean 0.

    Raises:
        InputError: Newton's method did not converge (strengths beyond the range of doubles).
    """
    tables, size = games.shape[:2]
    both = games + games.swapaxes(1, 2)
    scale = both.sum(axis=(1, 2))
    target = (games.sum(axis=2) - games.sum(axis=1)) / 2
    level = scale[:, None, None] / size**2
    strengths = np.zeros((tables, size))
    loss = _loss(strengths, both, target)
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(strengths[:, None, :] - strengths[:, :, None]))
        gradient = target - (both * (chance - 0.5)).sum(axis=2)
        information = _laplacian(both * chance * (1 - chance))
        step = np.linalg.solve(information + level, gradient[..., None])[..., 0]
        strengths, loss = _damped(strengths, step, loss, both, target)
        if (np.abs(step).max(axis=1) <= _ACCURACY).all():
            break
    # Rounding may keep the steps above that where one side wins nearly always; the gradient then tells.
    if (np.abs(step).max(axis=1) <= _ACCURACY).all() or (np.abs(gradient).max(axis=1) <= 1e-15 * scale).all():
        return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))
    raise InputError("Bradley-Terry did not converge: some strengths are too far apart to be estimated; give a prior")


def centred_inverse(information: Floats, size: int) -> Floats:
    """[K, K] covariance of log-strengths whose mean is 0: the first K values of an information matrix, changed."""
    level = np.trace(information) / size  # of the information's own scale, or one would drown the other
    information[:size, :size] += level / size
    return np.asarray(np.linalg.inv(information)[:size, :size] - 1 / (level * size), dtype=np.float64)


def _loss(strengths: Floats, both: Floats, target: Floats) -> Floats:
    """Negative log likelihood of each table; ``log(2 cosh(x/2))`` is the symmetric half of log-sigmoid."""
    half = np.abs(strengths[:, :, None] - strengths[:, None, :]) / 2
    return np.asarray(
        (both * (half + np.log1p(np.exp(-2 * half)))).sum(axis=(1, 2)) / 2 - (target * strengths).sum(axis=1)
    )


def _damped(strengths: Floats, step: Floats, loss: Floats, both: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Takes each table's Newton step, halved until it does not make things worse."""
    share = np.ones((len(strengths), 1))
    for _ in range(30):
        moved = strengths + share * step
        new = _loss(moved, both, target)
        worse = new > loss + 1e-12 * np.abs(loss)
        if not worse.any():
            break
        share[worse] /= 2
    return moved, new


def _laplacian(weights: Floats) -> Floats:
    """[..., K, K] the matrix with the row sums on the diagonal and the weights, negated, beside it."""
    laplacian = -weights
    rows = np.arange(weights.shape[-1])
    laplacian[..., rows, rows] += weights.sum(axis=-1)
    return laplacian


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


def _davidson(wins: Floats, draws: Floats, added: Floats) -> _Fit:
    """Newton over the log-strengths and the log of the draw parameter together."""
    size = len(wins)
    games, upper = wins + added, np.triu(np.ones((size, size), dtype=bool), 1)
    values = newton(
        size,
        np.zeros(size + 1),
        lambda values: _davidson_loss(values, games, draws, upper),
        lambda values: _davidson_slopes(values, games, draws),
        "Bradley-Terry with draws",
    )
    strengths = values[:size] - values[:size].mean()
    _, information = _davidson_slopes(values, games, draws)
    covariance = centred_inverse(information, size)
    likelihood = -_davidson_loss(values, wins, draws, upper)
    return _Fit(strengths, covariance, likelihood, float(np.exp(values[size])))


def _davidson_terms(values: Floats) -> tuple[Floats, Floats]:
    """[K, K] P(row beats column) and P(draw)."""
    strengths, log_nu = values[:-1], values[-1]
    half = (strengths[:, None] - strengths[None, :]) / 2
    top = np.maximum(np.abs(half), log_nu)
    win, lose, draw = np.exp(half - top), np.exp(-half - top), np.exp(log_nu - top)
    whole = win + lose + draw
    return win / whole, draw / whole


def _davidson_loss(values: Floats, games: Floats, draws: Floats, upper: Bools) -> float:
    win, draw = _davidson_terms(values)
    with np.errstate(divide="ignore"):
        lost = np.where(games > 0, games * np.log(win), 0).sum()
        level = np.where(upper & (draws > 0), draws * np.log(draw), 0).sum()
    return -float(lost + level)


def _davidson_slopes(values: Floats, games: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """Gradient [K + 1] and observed information [K + 1, K + 1]; a pair's outcomes score +1/2, -1/2 and 0."""
    size = len(games)
    both = games + games.T + draws
    win, draw = _davidson_terms(values)
    lead = (win - win.T) / 2
    gradient = np.append(((games - games.T) / 2 - both * lead).sum(axis=1), (draws - both * draw).sum() / 2)
    spread = both * ((win + win.T) / 4 - lead**2)
    np.fill_diagonal(spread, 0)
    information = np.zeros((size + 1, size + 1))
    information[:size, :size] = _laplacian(spread)
    mixed = -(both * lead * draw)
    np.fill_diagonal(mixed, 0)
    information[:size, size] = information[size, :size] = mixed.sum(axis=1)
    level = both * draw * (1 - draw)
    np.fill_diagonal(level, 0)
    information[size, size] = level.sum() / 2
    return gradient, information


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
    sets, chosen, held = _choices(profile, unranked)
    pairs = prior * (1 - np.eye(len(profile.candidates)))
    counts = pair_counts(profile, unranked)
    tied = pair_counts(profile, "ignore").tied
    check_connected((counts.prefer + tied + pairs) > 0, profile.candidates, "Plackett-Luce")
    strengths = newton(
        len(pairs),
        np.zeros(len(pairs)),
        lambda values: _choice_loss(values, sets, chosen, held, pairs),
        lambda values: _choice_slopes(values, sets, chosen, held, pairs),
        "Plackett-Luce",
    )
    strengths -= strengths.mean()
    _, information = _choice_slopes(strengths, sets, chosen, held, pairs)
    return PlackettLuce(
        **_fields("plackett_luce", profile.candidates, strengths, centred_inverse(information, len(pairs))),
        log_likelihood=-_choice_loss(strengths, sets, chosen, held, np.zeros_like(pairs)),
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


def _choice_loss(strengths: Floats, sets: Bools, chosen: Floats, held: Floats, pairs: Floats) -> float:
    """Negative log likelihood, with the prior's pseudo-wins as Bradley-Terry comparisons."""
    top = strengths.max()
    choices = held @ (np.log(sets @ np.exp(strengths - top)) + top) - chosen @ strengths
    gaps = strengths[None, :] - strengths[:, None]
    return float(choices + (pairs * np.logaddexp(0, gaps)).sum())


def _choice_slopes(
    strengths: Floats, sets: Bools, chosen: Floats, held: Floats, pairs: Floats
) -> tuple[Floats, Floats]:
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
