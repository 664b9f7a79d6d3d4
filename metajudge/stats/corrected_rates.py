"""A rate from few labels and many verdicts: Rogan and Gladen's correction and prediction-powered inference.

Both take labels as a random part of the items. The first needs the errors of the judge to be those of the labelled
items (within each class); the second needs the labelled items to be drawn as the others are.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats, Indices
from metajudge.stats.association import score_interval
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, normal_quantile

LEAST_YOUDEN = 0.1
"""Below this sensitivity + specificity - 1 the correction divides by almost nothing and is not given."""


@dataclass(frozen=True, slots=True)
class Predicted(Estimate):
    """A mean by prediction-powered inference.

    Attributes:
        estimate: labelled mean plus ``weight`` times the difference of the verdicts' means.
        weight: of the verdicts, in [0, 1].
    """

    weight: float
    error: float
    clusters: int


def prediction_powered_mean(
    labels: ArrayLike,
    verdicts: ArrayLike,
    unlabelled: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weight: float | None = None,
) -> Predicted:
    """The mean of what people would say, from their labels and the verdicts on all items.

    ``mean(labels) + weight * (mean(unlabelled) - mean(verdicts))`` with the weight that makes its variance least
    (Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference", 2023, arXiv:2311.01453), cut to
    [0, 1]. With one observation a cluster the standard error is that of the paper with n - 1 in place of n. The
    interval is Wilson's for shares: with ``p (1 - p) / error^2`` in place of n and Student's t in place of the normal
    quantile. The normal interval of the paper covers too little at rates near 0 and 1 with 50 labels.

    Args:
        labels: [n] what people say, in [0, 1].
        verdicts: [n] what the judge says on the same items, in [0, 1].
        unlabelled: [N] what the judge says on other items, in [0, 1]; may be empty: the labels alone then.
        clusters: [n + N] numbers from 0, labelled ones first; None: each observation is its own.
        weight: given in place of the best one; 0 takes labels alone, 1 is the first version of the method.

    Raises:
        InputError: fewer than two labels, unequal lengths or values outside [0, 1].
    """
    y, f, g = (np.asarray(part, dtype=np.float64) for part in (labels, verdicts, unlabelled))
    n, rest = len(y), len(g)
    if n < 2 or len(f) != n:
        raise InputError(f"{n} labels and {len(f)} verdicts on them: give at least two, one verdict for each label")
    for part in (y, f, g):
        if not ((part >= 0) & (part <= 1)).all():
            raise InputError("labels and verdicts must lie in [0, 1]: 1 passes, 0 fails")
    codes = np.arange(n + rest) if clusters is None else np.asarray(clusters, dtype=np.intp)
    if len(codes) != n + rest:
        raise InputError(f"{len(codes)} clusters for {n + rest} observations: give each its cluster")
    power = (_best_weight(y, f, g) if weight is None else weight) if rest else 0.0
    rectified = y - power * f
    estimate = float(rectified.mean()) + (power * float(g.mean()) if rest else 0.0)
    scores = np.concatenate(((rectified - rectified.mean()) / n, power * (g - g.mean()) / rest if rest else g))
    error = _clustered_error(scores, codes, n)
    labelled = len(np.unique(codes[:n]))
    low, high = score_interval(estimate, error, max(1, labelled - 1), labelled)
    method = f"prediction-powered mean, weight {'tuned' if weight is None else 'given'}, score interval by question"
    return Predicted(estimate, low, high, n, CONFIDENCE, method, power, error, labelled)


def _best_weight(y: Floats, f: Floats, g: Floats) -> float:
    n, rest = len(y), len(g)
    spread = float(np.var(np.concatenate((f, g)), ddof=1))
    if spread == 0:
        return 0.0
    shared = float(np.mean((y - y.mean()) * (f - f.mean())))
    return min(1.0, max(0.0, shared / ((1 + n / rest) * spread)))


def _clustered_error(scores: Floats, codes: Indices, labelled: int) -> float:
    sums = np.bincount(np.unique(codes, return_inverse=True)[1].ravel(), weights=scores)
    k = len(np.unique(codes[:labelled]))
    return math.sqrt(float(sums @ sums) * k / (k - 1)) if k > 1 else math.inf


@dataclass(frozen=True, slots=True)
class Confused:
    """How a judge errs on labelled items.

    Attributes:
        positives: labelled items that pass by the label, as an effective number of independent ones.
        sensitivity: share of those that the judge passes, in [0, 1].
        negatives: labelled items that fail by the label, likewise.
        specificity: share of those that the judge fails, in [0, 1].
    """

    positives: float
    sensitivity: float
    negatives: float
    specificity: float


def rogan_gladen(rate: float, n: float, errors: Confused) -> Estimate | None:
    """The rate behind an observed rate, given sensitivity and specificity (Rogan and Gladen, 1978).

    ``(rate + specificity - 1) / (sensitivity + specificity - 1)``, cut to [0, 1], with the interval of Lang and
    Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity" (2014),
    which counts the uncertainty of all three.

    Args:
        rate: share that the judge passes, in [0, 1].
        n: verdicts behind ``rate``, as an effective number of independent ones, at least 1.

    Returns:
        None where sensitivity + specificity - 1 is below :data:`LEAST_YOUDEN`, or a class has no label.

    Raises:
        InputError: a share outside [0, 1] or n below 1.
    """
    if not (0 <= rate <= 1 and n >= 1 and 0 <= errors.sensitivity <= 1 and 0 <= errors.specificity <= 1):
        raise InputError(f"rate {rate:g}, n {n:g}, {errors}: shares must lie in [0, 1], n must be at least 1")
    youden = errors.sensitivity + errors.specificity - 1
    if youden < LEAST_YOUDEN or min(errors.positives, errors.negatives) < 1:
        return None
    z = normal_quantile(CONFIDENCE)
    p, size = (n * rate + z * z / 2) / (n + z * z), n + z * z
    se, sp = (
        (count * share + 1) / (count + 2)
        for count, share in ((errors.positives, errors.sensitivity), (errors.negatives, errors.specificity))
    )
    shrunk = se + sp - 1
    if shrunk <= 0:
        return None
    centre = (p + sp - 1) / shrunk
    of_se, of_sp = se * (1 - se) / (errors.positives + 2), sp * (1 - sp) / (errors.negatives + 2)
    shift = 2 * z * z * (centre * of_se - (1 - centre) * of_sp)
    spread = math.sqrt(p * (1 - p) / size + centre**2 * of_se + (1 - centre) ** 2 * of_sp) / shrunk
    low, high = (min(1.0, max(0.0, centre + shift + sign * z * spread)) for sign in (-1, 1))
    estimate = min(1.0, max(0.0, (rate + errors.specificity - 1) / youden))
    return Estimate(
        estimate, min(low, estimate), max(high, estimate), round(n), CONFIDENCE, "rogan-gladen, lang-reiczigel interval"
    )
