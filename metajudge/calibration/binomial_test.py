"""The test that the judgments kept are right often enough, one judgment a question: unconditional, and exact.

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

from functools import lru_cache

import numpy as np
from scipy.special import bdtr, betaincinv

from metajudge.stats.arrays import Floats, Indices

MISSED = 1e-5
"""Probability with which the interval of the chance to be kept may miss it."""

STEPS = np.geomspace(1e-3, 0.4, 600)
"""Conditional p-values for which the theorem's are computed; others are rounded up to one of these. Below the first
and above the last, the conditional ones are used."""

PRECISION = 0.001
"""By this share of S at most the bound between two points of q may exceed the values there."""

MOST_QUESTIONS = 1000
"""Of more questions the conditional p-values are used: there is little to be gained."""


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
