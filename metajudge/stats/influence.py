"""Figures with the influence of every question on them, so that differences and averages keep what is paired.

A figure is its estimate and, for each question, by how much that question moves it; the influences sum to zero. Its
variance is the sum of their squares, the influence of a difference is the difference of the influences, and figures
of several runs on the same questions keep what they have in common (the linearised, cluster-robust variance).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.interval_estimate import Estimate, check_confidence


@dataclass(frozen=True, slots=True)
class Effect(Estimate):
    """An estimate with an interval by question.

    Attributes:
        estimate: the figure.
        low: lower end of the interval.
        high: upper end of the interval.
        n: observations.
        confidence: nominal coverage, in (0, 1).
        method: how the interval was made.
        error: standard error.
        clusters: questions.
        p_value: two-sided, of the hypothesis that the figure is 0.
    """

    error: float
    clusters: int
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """A figure and what each question adds to it.

    Attributes:
        estimate: the figure.
        by_question: question -> its influence.
        n: observations.
        most: the influence of one more question that pointed fully to one side; it is added to the variance, so that a
            figure in which few questions differ is not taken as known exactly.
        df: degrees of freedom of its t distribution.
    """

    estimate: float
    by_question: Mapping[str, float]
    n: int
    most: float
    df: int

    @property
    def error(self) -> float:
        """Standard error by question: ``sqrt(k / (k - 1) * sum of squared influences + most^2)``."""
        k = len(self.by_question)
        spread = math.fsum(value * value for value in self.by_question.values())
        return math.sqrt(spread * k / (k - 1) + self.most**2) if k > 1 else math.inf

    def minus(self, other: "Influence") -> "Influence":
        """The difference of two figures over the same observations."""
        return combined([self, other], [1.0, -1.0])

    def effect(self, confidence: float = 0.95) -> Effect:
        """The estimate with its t interval.

        Raises:
            InputError: one question alone, or a confidence out of range.
        """
        check_confidence(confidence)
        if self.df < 1 or len(self.by_question) < 2:
            raise InputError("an interval by question needs at least two questions of each kind")
        error = self.error
        reach = float(stdtrit(self.df, (1 + confidence) / 2)) * error
        p_value = 2 * float(stdtr(self.df, -abs(self.estimate) / error)) if error else 1.0
        return Effect(
            estimate=self.estimate,
            low=self.estimate - reach,
            high=self.estimate + reach,
            n=self.n,
            confidence=confidence,
            method="t interval by question, linearised",
            error=error,
            clusters=len(self.by_question),
            p_value=min(1.0, p_value),
        )


def combined(figures: Sequence[Influence], weights: Sequence[float]) -> Influence:
    """A weighted sum of figures; a question that one of them lacks has no influence on that one.

    Raises:
        InputError: no figures, or another number of weights.
    """
    if not figures or len(figures) != len(weights):
        raise InputError(f"{len(figures)} figures and {len(weights)} weights: give each figure its weight")
    parts: dict[str, float] = {}
    for figure, weight in zip(figures, weights, strict=True):
        for question, value in figure.by_question.items():
            parts[question] = parts.get(question, 0.0) + weight * value
    return Influence(
        estimate=math.fsum(weight * one.estimate for one, weight in zip(figures, weights, strict=True)),
        by_question=parts,
        n=max(one.n for one in figures),
        most=max(abs(weight) * one.most for one, weight in zip(figures, weights, strict=True)),
        df=min(one.df for one in figures),
    )


def covariances(figures: Sequence[Influence]) -> Floats:
    """[m, m] covariances of figures that share questions; each variance has its ``most`` squared added."""
    names = sorted({question for one in figures for question in one.by_question})
    k = len(names)
    table = np.array([[one.by_question.get(name, 0.0) for name in names] for one in figures])
    spread = table @ table.T * (k / (k - 1) if k > 1 else np.inf)
    return np.asarray(spread + np.diag([one.most**2 for one in figures]))


def area(scores: ArrayLike, right: ArrayLike, questions: Sequence[str]) -> Influence:
    """The area under the ROC curve: the probability that a right one scores above a wrong one, ties one half.

    DeLong, DeLong and Clarke-Pearson (1988); by cluster Obuchowski, "Nonparametric analysis of clustered ROC curve
    data" (1997). Degrees of freedom: questions with a right one, or with a wrong one if fewer, less 1.

    Args:
        scores: [n], finite.
        right: [n] 0 or 1.
        questions: [n] the question of each.

    Raises:
        InputError: unequal lengths, a score that is not finite, or none that is right, or none that is wrong.
    """
    values, correct = _checked(scores, right, questions)
    ones, zeros = int(correct.sum()), int((~correct).sum())
    if not ones or not zeros:
        raise InputError(f"{ones} are right and {zeros} wrong: an area needs both")
    _, place = np.unique(values.round(9), return_inverse=True)
    rank = place.ravel()
    groups = int(rank.max()) + 1
    of_right = np.bincount(rank[correct], minlength=groups)
    of_wrong = np.bincount(rank[~correct], minlength=groups)
    below = (np.cumsum(of_wrong) - of_wrong / 2) / zeros  # of a right one: the share of wrong ones below it
    above = (ones - np.cumsum(of_right) + of_right / 2) / ones  # of a wrong one: the share of right ones above it
    estimate = float(of_right @ below) / ones
    moved = np.where(correct, (below[rank] - estimate) / ones, (above[rank] - estimate) / zeros)
    of = np.asarray(questions, dtype=object)
    df = min(len(set(of[correct])), len(set(of[~correct]))) - 1
    return Influence(estimate, _by_question(moved, questions), len(values), 1 / min(ones, zeros), df)


def mean(values: ArrayLike, questions: Sequence[str], *, reach: float = 1.0) -> Influence:
    """The mean of values.

    Args:
        values: [n], finite.
        questions: [n] the question of each.
        reach: by how much a single value may lie from the mean.

    Raises:
        InputError: no values, unequal lengths, or a value that is not finite.
    """
    every, _ = _checked(values, np.zeros(len(questions)), questions)
    if not len(every):
        raise InputError("there are no values to average")
    estimate = float(every.mean())
    parts = _by_question((every - estimate) / len(every), questions)
    return Influence(estimate, parts, len(every), reach / len(every), len(parts) - 1)


def log_ratio(amount: ArrayLike, count: ArrayLike, questions: Sequence[str]) -> Influence:
    """The logarithm of ``sum(amount) / sum(count)``, such as dollars by verdicts kept.

    Args:
        amount: [n], at least 0.
        count: [n], at least 0.
        questions: [n] the question of each.

    Raises:
        InputError: a sum of 0, unequal lengths, or a value that is not finite.
    """
    amounts, _ = _checked(amount, np.zeros(len(questions)), questions)
    counts, _ = _checked(count, np.zeros(len(questions)), questions)
    over, under = float(amounts.sum()), float(counts.sum())
    if over <= 0 or under <= 0:
        raise InputError(f"a ratio of {over:g} to {under:g} has no logarithm")
    parts = _by_question(amounts / over - counts / under, questions)
    return Influence(math.log(over / under), parts, len(amounts), 1 / under, len(parts) - 1)


def _checked(values: ArrayLike, right: ArrayLike, questions: Sequence[str]) -> tuple[Floats, Bools]:
    found, correct = np.asarray(values, dtype=np.float64), np.asarray(right, dtype=bool)
    if found.ndim != 1 or not len(found) == len(correct) == len(questions):
        raise InputError(f"{len(found)} values, {len(correct)} outcomes and {len(questions)} questions: give one each")
    if not np.isfinite(found).all():
        raise InputError("a value is not finite: leave out observations without one, and count them")
    return found, correct


def _by_question(moved: Floats, questions: Sequence[str]) -> dict[str, float]:
    names, place = np.unique(np.asarray(questions, dtype=str), return_inverse=True)
    sums = np.bincount(place.ravel(), weights=moved, minlength=len(names))
    return dict(zip(names.tolist(), sums.tolist(), strict=True))
