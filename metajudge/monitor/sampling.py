"""Which judgments to send to people next, and the precision of what is kept from few labels and many probabilities.

Each judgment is drawn by itself with a probability that is known before anybody looks at it, so every estimate may
weigh by its inverse (Horvitz and Thompson, 1952) and stays unbiased whatever the purpose of the draw was. What is
drawn more often is what the purpose gains most from (Zrnic and Candes, "Active statistical inference", 2024,
arXiv:2403.03208).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.monitor.drift import Decision
from metajudge.stats.arrays import Floats
from metajudge.stats.association import score_interval
from metajudge.stats.corrected_rates import Predicted
from metajudge.stats.interval_estimate import check_confidence
from metajudge.types import digest

FLOOR = 0.1
"""Every candidate's chance is at least this share of the mean chance: weights stay bounded."""


class Purpose(StrEnum):
    """What labels are for."""

    CERTIFY = "certify"
    """A guaranteed threshold: candidates at or above the threshold, all with the same chance, as its test needs."""
    REFIT = "refit"
    """A new fit: uncertain judgments, and judges and categories with few labels so far."""
    DRIFT = "drift"
    """The monitor: kept judgments, the likelier wrong ones more often."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A judgment to label, with the probability with which it was to be drawn."""

    candidate: Decision
    inclusion: float


def pick(
    candidates: Sequence[Decision],
    purpose: Purpose,
    budget: int,
    *,
    labelled: Sequence[tuple[str, str | None]] = (),
    at_least: float = 0.0,
    seed: int = 0,
) -> list[Pick]:
    """Draws judgments to label; the expected number is the budget.

    Args:
        candidates: with a probability; the draw depends on their contents and the seed alone.
        budget: labels to be had, at least 1.
        at_least: for :attr:`Purpose.CERTIFY`, the lowest threshold that is to be tested.

    Raises:
        InputError: a budget below 1.
    """
    if budget < 1:
        raise InputError(f"a budget of {budget} labels draws nothing: give at least 1")
    ordered = sorted(candidates, key=lambda one: one.content)  # sums, and so chances, do not depend on the order given
    least = at_least - 1e-9 if purpose is Purpose.CERTIFY else 0.0
    wanted = [
        one for one in ordered if (one.kept or purpose is not Purpose.DRIFT) and (one.probability or 0.0) >= least
    ]
    if not wanted:
        return []
    chances = _chances(_gains(wanted, purpose, Counter(labelled)), budget)
    drawn = [
        Pick(one, float(chance))
        for one, chance in zip(wanted, chances, strict=True)
        if int(digest(["label", purpose.value, seed, one.content])[:13], 16) / 16**13 < chance  # a uniform draw
    ]
    return sorted(drawn, key=lambda one: (one.candidate.probability or 0.0, one.candidate.judgment_id))


def _gains(wanted: Sequence[Decision], purpose: Purpose, labelled: Counter[tuple[str, str | None]]) -> Floats:
    p = np.array([one.probability for one in wanted], dtype=np.float64)
    if purpose is Purpose.CERTIFY:
        return np.ones(len(p))
    if purpose is Purpose.DRIFT:
        return np.asarray(np.sqrt(1 - p), dtype=np.float64)
    had = np.array([labelled[one.judge, one.category] for one in wanted])
    return np.asarray(np.sqrt(p * (1 - p)) / np.sqrt(1 + had), dtype=np.float64)


def _chances(gains: Floats, budget: int) -> Floats:
    """Proportional to the gains, between the floor and 1, with the budget as their sum."""
    if budget >= len(gains):
        return np.ones(len(gains))
    gains = gains + FLOOR * max(float(gains.mean()), 1e-12)
    full = np.zeros(len(gains), dtype=bool)
    while True:
        chances = np.where(full, 1.0, gains * (budget - full.sum()) / gains[~full].sum())
        if not (over := (chances > 1) & ~full).any():
            return np.asarray(chances, dtype=np.float64)
        full |= over


def precision_estimate(
    right: ArrayLike,
    probabilities: ArrayLike,
    inclusion: ArrayLike,
    unlabelled: ArrayLike,
    questions: Sequence[str] | Sequence[int],
    *,
    confidence: float = 0.95,
) -> Predicted:
    """The precision of the kept judgments from the labelled ones and the probabilities of all.

    ``mean_labelled(right - w * p) + w * mean_all(p)``, where the labelled count with the inverse of their inclusion
    probability (Angelopoulos, Duchi and Zrnic, 2023, with the weights of Zrnic and Candes, 2024). The weight w makes
    the variance least and lies in [0, 1]; the interval is a score interval with the standard error by question.

    Args:
        right: [n] whether people judge the verdict right, 0 or 1.
        probabilities: [n] calibrated probabilities of the same judgments.
        inclusion: [n] with which probability each was to be labelled, in (0, 1].
        unlabelled: [N] probabilities of the kept judgments without a label.
        questions: [n + N] the question of each, labelled ones first.
        confidence: nominal coverage, in (0, 1).

    Raises:
        InputError: fewer than two labels, unequal lengths, or numbers out of range.
    """
    check_confidence(confidence)
    y, f, chance, rest = (np.asarray(one, dtype=np.float64) for one in (right, probabilities, inclusion, unlabelled))
    n, size = len(y), len(y) + len(rest)
    if n < 2 or len(f) != n or len(chance) != n or len(questions) != size:
        raise InputError(
            f"{n} labels, {len(f)} probabilities, {len(questions)} questions: give two labels or more, alike"
        )
    if not all(((part >= 0) & (part <= 1)).all() for part in (y, f, rest)) or not ((chance > 0) & (chance <= 1)).all():
        raise InputError("labels and probabilities must lie in [0, 1], inclusion probabilities in (0, 1]")
    weight = 1 / chance / (1 / chance).sum()
    everything = np.concatenate((f, rest))
    codes = np.unique(np.asarray(questions), return_inverse=True)[1].ravel()

    def by_question(labelled: Floats, all_kept: Floats) -> Floats:
        return np.asarray(
            np.bincount(codes, weights=np.concatenate((labelled, np.zeros(len(rest)))) + all_kept), dtype=np.float64
        )

    of_labels = by_question(weight * (y - weight @ y), np.zeros(size))
    shared = by_question(weight * (f - weight @ f), -(everything - everything.mean()) / size)
    spread = float(shared @ shared)
    power = min(1.0, max(0.0, float(of_labels @ shared) / spread)) if spread > 1e-20 else 0.0  # less is rounding
    estimate = float(weight @ (y - power * f)) + power * float(everything.mean())
    clusters = len(np.unique(codes[:n]))
    residual = of_labels - power * shared
    error = math.sqrt(float(residual @ residual) * clusters / (clusters - 1)) if clusters > 1 else math.inf
    effective = min(clusters, 1 / float(weight @ weight))
    low, high = score_interval(estimate, error, max(1, clusters - 1), effective, confidence)
    method = "prediction-powered precision, weighted by inverse inclusion, score interval by question"
    return Predicted(min(1.0, max(0.0, estimate)), low, high, n, confidence, method, power, error, clusters)
