"""An exact finite-sample test that the judgments kept, several of a question, are right often enough.

Of question i, ``k_i >= 1`` judgments are kept and ``e_i`` of them are wrong. With ``a = 1 - target`` its excess is
``x_i = e_i - a k_i``; the precision of all kept judgments, E[k - e] / E[k], is below the target exactly where E[x] > 0.
The hypothesis tested is E[x] >= 0. Questions are independent; nothing is assumed of the judgments within one, of their
number (at most ``most``, declared) or of how number and errors hang together.

The statistic is the log-wealth of a bet against the hypothesis, ``T = sum_i g(x_i)`` with ``g(x) = log(1 - s x)``,
rounded down to a lattice; ``s`` is fixed without labels. It is the statistic of Waudby-Smith and Ramdas ("Estimating
means of bounded random variables by betting", 2023) with a constant stake. The bound ``P(T >= t) <= exp(-t)`` of
Markov is far from sharp; the bound computed here is:

    Theorem. Let x_1, ..., x_N be independent with E[x_i] >= 0 on a finite set. Then P(T >= t) <= V_N(t, 1),
    where V_0(d, p) = 1 if d <= 0 and 0 if not, V_r(d, p) = max over p' >= p of E_p'[V_{r-1}(d - g(X), p')], and
    p = 1, 2, ... numbers, in an order fixed beforehand, the two-point laws of mean 0 on the set (and the point 0).

Proof. P(T >= t) is linear in the law of each x_i, so its largest value over products of laws with mean >= 0 is taken
at extreme laws: the two-point laws of mean 0, the point 0, and points above 0, which are worse than a two-point law
since g falls. T does not depend on the order of the questions, so these may be sorted by the number of their law; a
player who may choose a law for each question, never one of a smaller number than before, can do at least as well.
With the laws sorted by their variance, the player cannot bide his time once he is ahead, which makes the bound nearly
sharp. For ``most = 1`` there is one law, and the bound is the exact binomial probability; there the number kept is
averaged over, too (below). For more judgments the same would gain nothing: the
bound of each number kept is taken at a law of its own, and together they are hardly below the level.

One judgment a question: unconditional, and exact.

Of N questions, K are kept and E of these are wrong. Given K, Clopper and Pearson's test rejects "wrong with probability
``rate`` or more" where S = P(Bin(K, rate) <= E) is small. As S takes few values, it spends less than its level: at
10 % and some forty kept, between 5 and 10 %. How many are kept is random, too, so the loss can be averaged over K
(Boschloo, "Raised conditional level of significance for the 2 x 2-table when testing the equality of two
probabilities", 1970), within an interval of the chance q to be kept (Berger and Boos, "P values maximized over a
confidence set for the nuisance parameter", 1994):

    Theorem. Let questions be independent, each kept with the same probability q and, if kept, wrong with the same
    probability of at least ``rate``. Let a_k(s) be the largest value of S that is at most s when k are kept (0 for
    none), F_q(s) = sum_k P(Bin(N, q) = k) a_k(s), and C(K) an interval that misses q with probability at most g. Then
    p = g + max over q in C(K) of F_q(S) has P(p <= u) <= u for every u.

Proof. Given K = k, S is stochastically smallest where the probability to be wrong is ``rate``, and then P(S <= s) is
a_k(s). So P(S <= s) <= F_q(s). F_q is a non-decreasing step function, hence P(F_q(S) <= u) <= u. If p <= u, then
either C(K) misses q, or F_q(S) <= u - g.

The maximum over q is bounded, not only looked up on a grid. With q = sin(x)^2, the second derivative of F by x is the
mean of a_K(s) (l'^2 + l''), l the log-likelihood, whose bracket has mean 0 and, as E l'^2 = -E l'' = 4N, a mean size of
at most 8N; as a_K(s) lies between 0 and s, it is at most 4Ns. Between two points a distance h apart, F is therefore at
most the larger of its values there plus N h^2 s / 2.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from scipy.special import bdtr, betaincinv

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices

STAKE = 0.45
"""Share of the largest possible stake that is bet."""

SIZES = (64, 100, 160, 250, 400, 640, 1000, 1600, 2500)
"""Numbers of questions up to which tables are made."""

LOWEST, HIGHEST = -1.5, 6.0
"""Log-wealth to be gained between which probabilities are computed; below, the bound is 1, above, Markov's."""

UNITS = 24
"""Units of the lattice that the largest credit has at most; four for each judgment where that is fewer."""

MOST_LAWS = 60_000
"""Laws times questions of a table; where every pair (errors, kept) would need more, excesses are rounded up to fewer
points, which is conservative."""

MOST_WORK = 1_500_000_000
"""Cells computed at most for one table; beyond, Markov's bound is used."""

SLACK = 1e-12

MISSED = 1e-5
"""Probability with which the interval of the chance to be kept may miss it."""

STEPS = np.geomspace(1e-3, 0.4, 600)
"""Conditional p-values for which the theorem's are computed; others are rounded up to one of these. Below the first
and above the last, the conditional ones are used."""

PRECISION = 0.001
"""By this share of S at most the bound between two points of q may exceed the values there."""

MOST_QUESTIONS = 1000
"""Of more questions the conditional p-values are used: there is little to be gained."""


def question_p_values(errors: Indices, kept: Indices, target: float, most: int, credited: int | None = None) -> Floats:
    """Upper bounds of the p-values of "precision of all kept judgments < target", one for each threshold.

    Args:
        errors: [..., questions, thresholds] wrong ones among the kept judgments of each question.
        kept: [..., questions, thresholds] judgments kept of each question, 0 to ``most``.
        target: precision, in (0, 1).
        most: judgments of one question that may be kept at most, declared beforehand.
        credited: right judgments of a question for which there is credit at most, fixed beforehand; None for all.

    Returns:
        [..., thresholds]; 1 where nothing is kept.

    Raises:
        InputError: a question keeps more judgments than declared.
    """
    if kept.size and int(kept.max()) > most:
        raise InputError(
            f"a question keeps {int(kept.max())} judgments, more than the {most} declared for the test "
            "(most_per_question): nothing can be promised of such questions"
        )
    number = (kept > 0).sum(axis=-2)
    if most == 1:
        return binomial_p_values(errors.sum(axis=-2), number, errors.shape[-2], 1 - target)
    table = step_table(most, round(target, 12), steps_limit(errors.shape[-2]), STAKE, min(credited or most, most))
    return np.where(number > 0, table.p_values(number, table.credit[errors, kept].sum(axis=-2)), 1.0)


@dataclass(frozen=True, slots=True)
class StepTable:
    """Bounds of P(T >= t) for one declared size and target.

    Attributes:
        credit: [most + 1, most + 1] lattice score of a question by (errors, kept); 0 where nothing is kept.
        step: log-wealth of one unit of the lattice.
        lowest: total of the first column of ``bounds``, in units.
        bounds: [questions + 1, totals]; None where Markov's bound alone is used.
    """

    credit: Indices
    step: float
    lowest: int
    bounds: Floats | None

    def p_values(self, number: Indices, totals: Indices) -> Floats:
        """Bounds for totals [n] over numbers of questions [n]."""
        markov = np.exp(np.minimum(-self.step * totals, 0.0))
        if self.bounds is None:
            return np.asarray(markov)
        column = totals - self.lowest
        inside = (column >= 0) & (column < self.bounds.shape[1])
        exact = self.bounds[number, np.clip(column, 0, self.bounds.shape[1] - 1)]
        return np.asarray(np.minimum(np.where(inside, exact + SLACK, 1.0 * (column < 0) + markov), 1.0))


def steps_limit(number: int) -> int:
    """The largest number of questions for which the table of ``number`` questions is made."""
    return next((limit for limit in SIZES if number <= limit), 2 ** int(np.ceil(np.log2(max(number, 1)))))


@lru_cache(maxsize=64)
def step_table(most: int, target: float, limit: int, share: float, credited: int) -> StepTable:
    """The table for up to ``limit`` questions with up to ``most`` judgments each; see the module's theorem.

    Args:
        most: at least 1.
        target: in (0, 1).
        limit: as :func:`steps_limit` gives it.
        share: of the largest possible stake.
        credited: right judgments of a question for which there is credit at most, 1 to ``most``.
    """
    stake = share / (most * target)
    excess = _excess(most, 1 - target, credited, max(MOST_LAWS // limit, 40))
    points = np.unique(excess[~np.isnan(excess)])
    laws = _laws(points)
    step = float(np.log1p(-stake * points[0])) / min(4 * credited, UNITS)
    width = int((HIGHEST - LOWEST) / step) + 1
    gains = np.floor(np.log1p(-stake * points) / step + 1e-9).astype(np.intp)
    place = np.searchsorted(points, np.nan_to_num(excess, nan=points[0]))
    credit = np.where(np.isnan(excess), 0, gains[place])
    lowest = int(LOWEST / step)
    bounds = None
    if limit * width * len(laws) <= MOST_WORK:
        bounds = _bounds(limit, gains, laws, step, np.arange(lowest, lowest + width))
    return StepTable(credit, step, lowest, bounds)


def _excess(most: int, rate: float, credited: int, laws: int) -> Floats:
    """[most + 1, most + 1] excess by (errors, kept), never below that of the credited; nan if impossible.

    Of more points than make so many laws it is rounded up to fewer: even steps below 0, growing ones above.
    """
    errors, kept = np.meshgrid(np.arange(most + 1), np.arange(most + 1), indexing="ij")
    excess = np.maximum(np.round(errors - rate * kept, 12), round(-rate * credited, 12))
    excess = np.where((kept >= 1) & (errors <= kept), excess, np.nan)
    points = np.unique(excess[~np.isnan(excess)])
    below, above = points[points < 0], points[points >= 0]
    if len(below) * len(above) <= laws:
        return np.asarray(excess)
    falls = below if len(below) <= 4 else np.linspace(-rate * credited, 0, min(credited, round(laws**0.5)) + 1)[:-1]
    rises = np.geomspace(0.5 * (1 - rate), most * (1 - rate), max(laws // len(falls), 4))
    points = np.round([*falls, 0.0, *rises], 12)
    place = np.minimum(np.searchsorted(points, np.nan_to_num(excess) - 1e-9), len(points) - 1)
    return np.asarray(np.where(np.isnan(excess), np.nan, points[place]))


_Law: TypeAlias = tuple[float, int, int, float]
"""A two-point law of mean 0: its variance, both points by their places, and the probability of the first."""


def _laws(points: Floats) -> list[_Law]:
    """The extreme laws of mean 0 on the points, the least variable first."""
    low, high = np.flatnonzero(points < 0), np.flatnonzero(points >= 0)
    return sorted(
        (float(-points[i] * points[j]), int(i), int(j), float(points[j] / (points[j] - points[i])))
        for i in low
        for j in high
        if points[j] > 0 or i == 0
    )


def _bounds(limit: int, gains: Indices, laws: list[_Law], step: float, totals: Indices) -> Floats:
    """[limit + 1, totals] the theorem's bound by number of questions and total to be gained."""
    edge, width = int(np.abs(gains).max()), len(totals)
    value = np.zeros((len(laws), width + 2 * edge))
    value[:, :edge] = 1.0
    value[:, edge:-edge] = totals <= 0
    beyond = totals[-1] + 1 + np.arange(edge)
    markov = np.minimum(np.exp(-step * np.concatenate([totals, beyond])), 1.0)
    value[:, -edge:] = np.where(beyond <= 0, 1.0, 0.0)
    found = np.empty((limit + 1, width))
    found[0] = value[0, edge:-edge]
    best, other = np.empty(width), np.empty(width)
    for number in range(1, limit + 1):
        best.fill(0.0)
        for at in range(len(laws) - 1, -1, -1):
            (_, first, second, weight), row = laws[at], value[at]
            low, high = edge - int(gains[first]), edge - int(gains[second])
            np.multiply(row[high : high + width], 1 - weight, out=other)
            other += weight * row[low : low + width]
            np.maximum(best, other, out=best)
            row[edge:-edge] = best
            row[-edge:] = markov[width:]
        np.minimum(best, markov[:width], out=found[number])
    return found


def binomial_p_values(wrong: Indices, kept: Indices, questions: int, rate: float) -> Floats:
    """P-values of "the judgments kept are wrong with probability ``rate`` or more", one judgment a question.

    Args:
        wrong: [...] wrong ones among the kept.
        kept: [...] questions kept.
        questions: all questions, kept or not.
        rate: in (0, 1).

    Returns:
        [...]; 1 where nothing is kept. Valid each by itself, where the questions are drawn independently from one
        population and whether one is kept depends on its score alone.
    """
    rate = round(rate, 12)
    given = np.where(kept > 0, bdtr(wrong.astype(np.float64), np.maximum(kept, 1), rate), 1.0)
    inside = (given >= STEPS[0]) & (given <= STEPS[-1])
    if questions > MOST_QUESTIONS or not inside.any():
        return np.asarray(given)
    place = np.minimum(np.searchsorted(STEPS, given), len(STEPS) - 1)
    return np.where(inside, _table(questions, rate)[kept, place], given)


def fewest_passing(questions: int, rate: float, level: float) -> int | None:
    """The fewest of so many questions that pass at a level without an error; None where not even all do."""
    kept = np.arange(questions + 1)
    passing = binomial_p_values(np.zeros_like(kept), kept, questions, rate) <= level
    return int(np.argmax(passing)) if passing.any() else None


@lru_cache(maxsize=32)  # of 5 MB each at most
def _table(questions: int, rate: float) -> Floats:
    """[questions + 1, steps] the theorem's p-value by the number kept and S."""
    from scipy.stats import binom  # imported where it is used: it takes half a second

    kept = np.arange(questions + 1)
    points = int(np.ceil(np.pi / 2 / np.sqrt(2 * PRECISION / questions)))
    chance = np.sin(np.linspace(0, np.pi / 2, points + 1)) ** 2
    values = binom.pmf(kept, questions, chance[:, None]) @ _attained(questions, rate) + PRECISION * STEPS
    low = np.where(kept > 0, betaincinv(np.maximum(kept, 1), questions - kept + 1, MISSED / 2), 0.0)
    high = np.where(kept < questions, betaincinv(kept + 1, np.maximum(questions - kept, 1), 1 - MISSED / 2), 1.0)
    first = np.maximum(np.searchsorted(chance, low, side="right") - 1, 0)
    last = np.minimum(np.searchsorted(chance, high), points)
    found = np.array([values[a : b + 1].max(axis=0) for a, b in zip(first, last, strict=True)])
    # Smaller conditional p-values are taken as they are: none of these may pass before they do.
    return np.asarray(np.maximum(found, STEPS[0]) + MISSED)


def _attained(questions: int, rate: float) -> Floats:
    """[questions + 1, steps] the largest conditional p-value of so many kept that is at most each step."""
    from scipy.stats import binom

    attained = np.zeros((questions + 1, len(STEPS)))
    highest = binom.ppf(STEPS[-1], np.arange(questions + 1), rate).astype(int) + 1
    for kept, most in enumerate(highest.tolist()[1:], start=1):
        levels = np.append(0.0, bdtr(np.arange(min(most, kept) + 1, dtype=np.float64), kept, rate))
        attained[kept] = levels[np.searchsorted(levels, STEPS, side="right") - 1]
    return attained
