"""How good probabilities are: reliability, Brier score, log loss, area under the curve, precision at a coverage."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.stats.bootstrap import bootstrap_mean, drawn_weights
from metajudge.stats.clustered import clustered_proportion
from metajudge.types.figure import Figure
from metajudge.types.frozen import Frozen
from metajudge.types.interval import Range

CLIP = 1e-3
"""Probabilities nearer to 0 or 1 count as this in the log loss: one bold error must not decide everything."""

BINS = 10
RESAMPLES = 1000
_CELLS = 400_000


class Resampled(Figure):
    """A figure, stored as ``estimate``, with a 95 % percentile interval over resampled questions if enough."""

    model_config = ConfigDict(serialize_by_alias=True)

    value: float = Field(alias="estimate")


class ReliabilityBin(Range):
    """Judgments with a probability in [low, high): their mean probability, and how many were right (95 % Wilson)."""

    n: int
    probability: float
    right: float
    right_low: float
    right_high: float


class Quality(Frozen):
    """Quality of probabilities on n judgments of some questions.

    Attributes:
        base: share of right judgments.
        brier: mean squared difference of probability and outcome.
        log_loss: mean negative log likelihood, probabilities clipped to [.001, .999].
        auc: probability that a right judgment has the higher score, ties one half; None where one class is missing.
        precision_at: coverage in percent -> share of right ones among the best so many, ties with their expected share.
    """

    n: int
    questions: int
    base: float
    brier: Resampled
    log_loss: Resampled
    auc: Resampled | None
    precision_at: dict[str, float]
    reliability: tuple[ReliabilityBin, ...]


def quality(probabilities: Floats, correct: Bools, questions: Sequence[str], seed: int) -> Quality:
    """Measures probabilities [n] against outcomes [n]; intervals resample whole questions."""
    rng = np.random.default_rng([seed, 3])
    squared = (probabilities - correct) ** 2
    return Quality(
        n=len(probabilities),
        questions=len(set(questions)),
        base=float(correct.mean()),
        brier=_mean(squared, questions, rng),
        log_loss=_mean(log_losses(probabilities, correct), questions, rng),
        auc=_auc(probabilities, correct, questions, rng),
        precision_at={str(share): precision_at(probabilities, correct, share / 100) for share in (80, 60, 40)},
        reliability=reliability_bins(probabilities, correct, questions),
    )


def log_losses(probabilities: Floats, correct: Bools) -> Floats:
    """[n] negative log likelihood of each outcome."""
    clipped = np.clip(probabilities, CLIP, 1 - CLIP)
    return np.asarray(-np.log(np.where(correct, clipped, 1 - clipped)))


def precision_at(scores: Floats, correct: Bools, coverage: float) -> float:
    """Share of right ones among the best ``coverage`` of the scores; a tie at the edge counts with its mean."""
    count = max(1, round(coverage * len(scores)))
    rounded = np.round(scores, 9)
    edge = np.sort(rounded)[::-1][count - 1]
    above, tied = rounded > edge, rounded == edge
    return float((correct[above].sum() + (count - above.sum()) * correct[tied].mean()) / count)


def reliability_bins(
    probabilities: Floats, correct: Bools, questions: Sequence[str], bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width, each with an interval by question; empty ones are left out."""
    of = np.array(questions, dtype=str)
    place = np.minimum((probabilities * bins).astype(np.intp), bins - 1)
    found = []
    for index in np.unique(place):
        mine = place == index
        right = clustered_proportion(correct[mine], of[mine])
        found.append(
            ReliabilityBin(
                low=index / bins,
                high=(index + 1) / bins,
                n=int(mine.sum()),
                probability=float(probabilities[mine].mean()),
                right=right.estimate,
                right_low=right.low,
                right_high=right.high,
            )
        )
    return tuple(found)


def auc(scores: Floats, correct: Bools) -> float | None:
    """Area under the ROC curve; None where one class is missing."""
    ranked = _Ranked(scores, correct, np.zeros(len(scores), dtype=np.intp))
    found = ranked.area(np.ones((1, 1)))[0]
    return float(found) if np.isfinite(found) else None


class _Ranked:
    """How many right and wrong rows each cluster has at each distinct score, from the lowest score up.

    Args:
        scores: [n].
        correct: [n].
        clusters: [n] number of each row's cluster, from 0.
    """

    def __init__(self, scores: Floats, correct: Bools, clusters: Indices) -> None:
        from scipy.sparse import coo_array

        distinct, rank = np.unique(scores, return_inverse=True)
        shape = (len(distinct), int(clusters.max(initial=0)) + 1)
        self.groups = len(distinct)
        self.right, self.wrong = (
            coo_array((np.ones(chosen.sum()), (rank.ravel()[chosen], clusters[chosen])), shape=shape).tocsr()
            for chosen in (correct, ~correct)
        )

    def area(self, weights: "NDArray[np.floating[Any] | np.integer[Any]]") -> Floats:
        """AUC under each row of cluster weights [resamples, clusters]; NaN where a class has no weight."""
        drawn = np.ascontiguousarray(weights.T, dtype=np.float64)
        positive, negative = self.right @ drawn, self.wrong @ drawn
        total = positive.sum(axis=0) * negative.sum(axis=0)
        below = np.cumsum(negative, axis=0)
        negative /= 2
        below -= negative
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.einsum("gr,gr->r", positive, below) / total)


def _auc(scores: Floats, correct: Bools, questions: Sequence[str], rng: np.random.Generator) -> Resampled | None:
    estimate = auc(scores, correct)
    if estimate is None:
        return None
    names, place = np.unique(np.array(questions, dtype=str), return_inverse=True)
    if len(names) < 2:
        return Resampled(estimate=estimate)
    ranked = _Ranked(scores, correct, place.ravel())
    step = max(1, _CELLS // ranked.groups)
    values = np.concatenate([ranked.area(weights) for weights in drawn_weights(len(names), RESAMPLES, rng, step)])
    low, high = np.quantile(values[np.isfinite(values)], [0.025, 0.975])
    return Resampled(estimate=estimate, low=float(low), high=float(high))


def _mean(values: Floats, questions: Sequence[str], rng: np.random.Generator) -> Resampled:
    if len(set(questions)) < 2:
        return Resampled(estimate=float(values.mean()))
    found = bootstrap_mean(values, questions, rng=rng, resamples=RESAMPLES)
    return Resampled(estimate=found.estimate, low=found.low, high=found.high)
