"""Figures of findings: a number with its interval and n, or the reason it is missing; and correlations of places."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import figure as types
from metajudge.types.frozen import Finite


class Figure(types.Figure):
    """A number with an interval where one was requested and is defined, or the reason it is missing.

    Attributes:
        n: questions (or what the figure's owner says) behind it.
    """

    n: int = 0
    absent: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.value is None) == (self.absent is None):
            raise ValueError("a figure has either a value or a reason for its absence")
        return self


class Distribution(Finite):
    """How a figure is distributed over questions; quartiles interpolate linearly between order statistics.

    Attributes:
        n: questions with a value; ``undefined`` counts those without one, by reason.
        median: with a bootstrap interval over questions.
        iqr: upper less lower quartile.
    """

    n: int
    undefined: dict[str, int] = Field(default_factory=dict)
    median: Figure
    mean: Figure
    lower_quartile: Figure
    upper_quartile: Figure
    iqr: Figure


def distribution(values: Floats, defined: Bools, why: Mapping[str, int], weights: "Resamples | None") -> Distribution:
    """Median, quartiles and mean of the values that are defined.

    Args:
        values: [Q]; ``defined`` [Q] says which count.
        why: reasons of the others.
        weights: resamples of the questions for the median's interval, None for none.
    """
    kept = values[defined]
    n = len(kept)
    if not n:
        most = max(why, key=lambda reason: why[reason]) if why else "there is no question"
        absent = Figure(n=0, absent=most)
        figures = dict.fromkeys(("median", "mean", "lower_quartile", "upper_quartile", "iqr"), absent)
        return Distribution(n=0, undefined=dict(why), **figures)
    lower, middle, upper = (float(q) for q in np.quantile(kept, [0.25, 0.5, 0.75]))
    low, high = (None, None) if weights is None else weights.interval(*weights.medians(values, defined))
    return Distribution(
        n=n,
        undefined=dict(why),
        median=Figure(value=middle, low=low, high=high, n=n),
        mean=Figure(value=float(kept.mean()), n=n),
        lower_quartile=Figure(value=lower, n=n),
        upper_quartile=Figure(value=upper, n=n),
        iqr=Figure(value=upper - lower, n=n),
    )


_KEPT_WEIGHTS = 1 << 23


class Resamples:
    """Questions drawn with replacement, as many as there are; the same draws for every figure, so that they compare.

    Args:
        questions: how many there are.
        draws: resamples, 0 for no intervals.
        rng: the only source of randomness.
        confidence: nominal coverage of the intervals.
    """

    def __init__(self, questions: int, draws: int, rng: np.random.Generator, confidence: float = 0.95) -> None:
        self.confidence = confidence
        self.tails = ((1 - confidence) / 2, (1 + confidence) / 2)
        self.drawn = rng.integers(0, questions, size=(draws if questions > 1 else 0, questions))
        self._counted: Floats | None = None

    def interval(self, resampled: Floats, defined: Bools | None = None) -> tuple[float | None, float | None]:
        """Percentiles of resampled values [draws]; (None, None) where there are none."""
        kept = resampled if defined is None else resampled[defined]
        if not len(kept):
            return None, None
        low, high = np.quantile(kept, self.tails)
        return float(low), float(high)

    def medians(self, values: Floats, defined: Bools) -> tuple[Floats, Bools]:
        """[draws] medians of the values of the drawn questions that are defined, and whether any was."""
        chosen = np.where(defined, values, np.inf)[self.drawn]  # what is not defined goes to the end
        chosen.sort(axis=1)
        count = defined[self.drawn].sum(axis=1)
        last = np.maximum(count - 1, 0)
        rows = np.arange(len(chosen))
        there = count > 0
        with np.errstate(invalid="ignore"):
            middle = (chosen[rows, last // 2] + chosen[rows, (last + 1) // 2]) / 2
        return np.where(there, middle, 0.0), there

    def means(self, values: Floats, defined: Bools) -> tuple[Floats, Bools]:
        """[draws, ...] means over the drawn questions of values [Q, ...], and whether any was defined."""
        draws, questions = self.drawn.shape
        weights = self._weights()
        flat, there = (a.reshape(questions, -1).astype(np.float64) for a in (np.where(defined, values, 0.0), defined))
        total, count = weights @ flat, weights @ there
        shape = (draws, *values.shape[1:])
        means = np.where(count > 0, total / np.maximum(count, 1), 0.0)
        return means.reshape(shape), (count > 0).reshape(shape)

    def _weights(self) -> Floats:
        """[draws, questions] how often each was drawn; kept where it is small."""
        if self._counted is not None:
            return self._counted
        draws, questions = self.drawn.shape
        at = self.drawn + np.arange(draws)[:, None] * questions
        weights = np.bincount(at.ravel(), minlength=at.size).reshape(draws, questions).astype(np.float64)
        if weights.size <= _KEPT_WEIGHTS:
            self._counted = weights
        return weights


def mean_figure(values: Floats, defined: Bools, weights: Resamples, absent: str) -> Figure:
    """The mean over questions [Q] with its interval, or the reason given."""
    n = int(defined.sum())
    if not n:
        return Figure(n=0, absent=absent)
    low, high = weights.interval(*weights.means(values, defined))
    return Figure(value=round(float(values[defined].mean()), 12) + 0.0, low=low, high=high, n=n)


Measure: TypeAlias = Literal["pearson", "kendall"]
MEASURES: tuple[Measure, ...] = ("pearson", "kendall")

DEFINED, TOO_FEW, CONSTANT, CONSTANT_REFERENCE = range(4)
REASONS = {
    TOO_FEW: "fewer than two models in common",
    CONSTANT: "all models share one place, so no correlation is defined",
    CONSTANT_REFERENCE: "the reference puts all models in one place, so no correlation is defined",
}
_DIGITS = 9
"""Places are compared after rounding: means of optima carry float noise."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of N rankings with one reference each.

    Attributes:
        values: [N] in [-1, 1]; 0 where not defined, so look at ``defined`` first.
        states: [N] :data:`DEFINED` or why there is no value, see :data:`REASONS`.
    """

    values: Floats
    states: Indices

    @property
    def defined(self) -> Bools:
        """[N]: whether there is a value."""
        return np.asarray(self.states == DEFINED)

    def why(self) -> dict[str, int]:
        """How many have no value, by reason."""
        counts = Counter(int(state) for state in self.states if state != DEFINED)
        return {REASONS[state]: count for state, count in sorted(counts.items())}


def correlate(
    places: Floats, there: Bools, reference: Floats, measure: Measure, known: Bools | bool = True
) -> Correlations:
    """Correlates rankings with references over the models both of them place.

    Pearson's correlation of places is Spearman's rho with ties; tau-b divides by the geometric mean of the pairs that
    are not tied in each of the two (Kendall, 1945).

    Args:
        places: [N, K]; ``there`` [N, K] says which models are placed.
        reference: [K] or [N, K]; ``known`` [K] or [N, K] likewise, by default all.
    """
    both = there & known
    one, other = np.round(places, _DIGITS), np.broadcast_to(np.round(reference, _DIGITS), places.shape)
    products, first, second = (_sums_pearson if measure == "pearson" else _sums_kendall)(one, other, both)
    states = np.full(len(places), DEFINED, dtype=np.intp)
    states[first <= 1e-12] = CONSTANT
    states[second <= 1e-12] = CONSTANT_REFERENCE
    states[both.sum(axis=1) < 2] = TOO_FEW
    defined = states == DEFINED
    scale = np.sqrt(np.where(defined, first * second, 1.0))
    values = np.clip(np.where(defined, products / scale, 0.0), -1.0, 1.0)
    return Correlations(np.round(values, 12) + 0.0, states)  # no -0 and no 0.9999999999999999


def _sums_pearson(one: Floats, other: Floats, both: Bools) -> tuple[Floats, Floats, Floats]:
    count = np.maximum(both.sum(axis=1, keepdims=True), 1)
    x, y = (np.where(both, v - np.sum(v * both, axis=1, keepdims=True) / count, 0.0) for v in (one, other))
    return np.sum(x * y, axis=1), np.sum(x * x, axis=1), np.sum(y * y, axis=1)


def _sums_kendall(one: Floats, other: Floats, both: Bools) -> tuple[Floats, Floats, Floats]:
    left, right = np.triu_indices(one.shape[1], 1)
    pairs = both[:, left] & both[:, right]
    x, y = (np.sign(v[:, left] - v[:, right]) * pairs for v in (one, other))
    return np.sum(x * y, axis=1), np.sum(x * x, axis=1), np.sum(y * y, axis=1)
