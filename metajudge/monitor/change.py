"""An anytime-valid test that a mean has not risen, and what it says of the precision of kept judgments.

The increment of a question is ``x = errors - (1 - target) * kept`` over its kept judgments. While the precision of
what is kept is at least the target, each increment has a mean of at most 0 given the earlier ones, so ``prod(1 + bet
* x)`` over the questions since any start is an e-process (Waudby-Smith and Ramdas, "Estimating means of bounded
random variables by betting", 2023). :class:`ChangeTest` mixes these over bets and over starts, with weights that sum
to 1. The mixture is an e-process too: the probability that it ever reaches ``1 / delta`` is at most ``delta``
(Ville's inequality), however often one looks. It is the Shiryaev form of the e-detectors of Shin, Ramdas and Rinaldo
(2024, arXiv:2203.03532): a single start loses the wealth that a late drop would need, a mixture over starts does not.
Those authors bound the average run length; weights that sum to 1 bound the probability over all time.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import InputError
from metajudge.stats.arrays import Floats
from metajudge.stats.interval_estimate import Estimate, check_confidence

FRACTIONS: Final = (0.04, 0.08, 0.16, 0.32)
"""Bets, as shares of the largest that cannot lose everything; each has the same weight."""

_POWER: Final = 1.2
_OFFSET: Final = 30.0
"""The start before observation k (from 0) has a weight proportional to ``(k + 30) ** -1.2``."""

_SCALES: Final = tuple(np.geomspace(0.003, 0.75, 14))
"""Of the confidence sequence; each has the same weight."""


class ChangeTest:
    """An e-process against "every increment has a mean of at most 0", for a change at an unknown time.

    Memory does not grow with the number of observations.

    Args:
        bets: factors of the increments; ``1 + bet * x`` must be positive for every increment there can be.
        runs: independent sequences that are tested at once, for simulations.
    """

    def __init__(self, bets: ArrayLike, runs: int = 1) -> None:
        self._bets = np.asarray(bets, dtype=np.float64)
        self._log = np.full((runs, len(self._bets)), -np.inf)
        self._seen = 0

    def extend(self, increments: ArrayLike) -> Floats:
        """Takes further observations.

        Args:
            increments: [n] or [n, runs].

        Returns:
            The e-value after each, of the same shape.

        Raises:
            InputError: an increment with which a bet loses everything.
        """
        given = np.asarray(increments, dtype=np.float64)
        x = given.reshape(len(given), -1) if given.size else np.zeros((0, len(self._log)))
        if not len(x):
            return np.zeros(given.shape)
        factors = 1 + x[:, :, None] * self._bets
        if not (factors > 0).all():
            raise InputError("an increment is larger than declared: state the most judgments that a question may keep")
        grown = np.cumsum(np.log(factors), axis=0)  # [n, runs, bets] of the wealth since the first of these
        weights = (self._seen + np.arange(len(x)) + _OFFSET) ** -_POWER / _total()
        starts = np.log(weights)[:, None, None] - np.concatenate((np.zeros((1, *grown.shape[1:])), grown[:-1]))
        starts[0] = np.logaddexp(starts[0], self._log)
        logs = grown + np.logaddexp.accumulate(starts, axis=0)
        self._log, self._seen = logs[-1], self._seen + len(x)
        rest = _rest(np.arange(self._seen - len(x) + 1.0, self._seen + 1))
        values = np.exp(logs).mean(axis=2) + rest[:, None]
        return np.asarray(values.reshape(given.shape), dtype=np.float64)


def _rest(seen: Floats) -> Floats:
    """Weight of the starts that are still to come."""
    from scipy.special import zeta

    return np.asarray(zeta(_POWER, _OFFSET + seen) / _total(), dtype=np.float64)


@lru_cache(maxsize=1)
def _total() -> float:
    from scipy.special import zeta

    return float(zeta(_POWER, _OFFSET))


def bets_on_errors(target: float, most: float) -> Floats:
    """Bets against a precision of at least ``target`` where a question keeps at most ``most`` judgments."""
    return np.asarray(FRACTIONS) / ((1 - target) * most)


@dataclass(frozen=True, slots=True)
class Held:
    """A promise tested on audited questions.

    Attributes:
        e_value: evidence after the last question that the precision has fallen below the target; 1 without any.
        alarm: number of questions, in the order of the draw, after which it is 1 / delta for the first time; None
            while it never is.
        precision: average precision of what was kept, with its confidence sequence; None without a question.
    """

    audits: int
    e_value: float
    largest: float
    alarm: int | None
    precision: Estimate | None


def hold(
    errors: ArrayLike,
    kept: ArrayLike,
    decided: ArrayLike | None = None,
    *,
    target: float,
    delta: float,
    most: float = 1,
    confidence: float = 0.95,
) -> Held:
    """Holds a promised precision against audited questions, in the order in which they were drawn.

    Judgments that wait for a person count as right. Every increment is then at most what it will be, so the bound on
    false alarms holds in whatever order people decide, also where they take the doubtful ones first. The estimate is
    over the questions that are decided in full.

    Args:
        errors: [n] judgments known to be wrong among the kept ones of each question.
        kept: [n] judgments kept; weighted alike where judgments were audited with different probabilities.
        decided: [n] whether all of them are decided; None where all are.
        target: precision promised, in (0, 1).
        delta: probability of ever raising a false alarm, in (0, 1).
        most: the largest number of judgments a question may keep, fixed beforehand.

    Raises:
        InputError: numbers that contradict each other.
    """
    wrong, all_kept = np.asarray(errors, dtype=np.float64), np.asarray(kept, dtype=np.float64)
    if not (0 < target < 1 and 0 < delta < 1):
        raise InputError(f"target {target:g} and delta {delta:g} must lie strictly between 0 and 1")
    if not ((wrong >= 0) & (wrong <= all_kept + 1e-9) & (all_kept <= most + 1e-9)).all():
        raise InputError(f"errors must lie between 0 and the judgments kept, and these may be {most:g} at most")
    values = ChangeTest(bets_on_errors(target, most)).extend(wrong - (1 - target) * all_kept)
    reached = np.flatnonzero(values >= 1 / delta)
    full = np.ones(len(wrong), dtype=bool) if decided is None else np.asarray(decided, dtype=bool)
    estimated = (wrong[full], all_kept[full])
    return Held(
        audits=int(full.sum()),
        e_value=float(values[-1]) if len(values) else 1.0,
        largest=float(values.max(initial=1.0)),
        alarm=int(reached[0]) + 1 if len(reached) else None,
        precision=precision_sequence(*estimated, most=most, confidence=confidence) if full.any() else None,
    )


def precision_sequence(errors: ArrayLike, kept: ArrayLike, *, most: float = 1, confidence: float = 0.95) -> Estimate:
    """The average precision of what was kept so far, with an interval that is valid at every number of questions.

    The interval has every precision p for which ``sum(errors - (1 - p) * kept)`` is within a mixture of empirical
    Bernstein boundaries (Howard, Ramdas, McAuliffe and Sekhon, 2021, theorem 4, both sides at half the error). It
    speaks of the average over the audited period, also where the precision changed meanwhile; where questions keep
    several judgments that is exact for a ratio of expectations that does not change.

    Args:
        errors, kept, most: as for :func:`hold`; something must have been kept.
        confidence: that the interval holds at all times together, in (0, 1).
    """
    check_confidence(confidence)
    e, k = np.asarray(errors, dtype=np.float64) / most, np.asarray(kept, dtype=np.float64) / most
    counts = np.arange(1, len(e) + 1)
    e_off = e - (np.concatenate(([0.0], np.cumsum(e)[:-1])) + 0.1 / most) / counts
    k_off = k - (np.concatenate(([0.0], np.cumsum(k)[:-1])) + 1 / most) / counts
    allowed = np.linspace(1, 0, 2_001)  # share of errors, so that precision rises
    distance = e.sum() - allowed * k.sum()
    variance = (e_off @ e_off) - 2 * allowed * (e_off @ k_off) + allowed**2 * (k_off @ k_off)
    bound = math.log(2 / (1 - confidence))
    inside = np.maximum(_mixture(distance, variance), _mixture(-distance, variance)) <= bound
    precision = 1 - allowed
    found = 1 - float(e.sum() / k.sum())
    step = float(precision[1])
    low = max(0.0, float(precision[inside].min()) - step) if inside.any() else found
    high = min(1.0, float(precision[inside].max()) + step) if inside.any() else found
    method = "confidence sequence by question (empirical Bernstein mixture), valid at any time"
    return Estimate(found, min(low, found), max(high, found), len(e), confidence, method)


def _mixture(distance: Floats, variance: Floats) -> Floats:
    """Logarithm of the mixture over scales of ``exp(scale * distance - psi(scale) * variance)``."""
    scales = np.asarray(_SCALES)
    psi = -np.log1p(-scales) - scales
    exponents = distance[:, None] * scales - variance[:, None] * psi
    return np.asarray(np.logaddexp.reduce(exponents, axis=1) - math.log(len(scales)), dtype=np.float64)


@lru_cache(maxsize=64)
def expected_delay(
    target: float,
    fallen: float,
    delta: float,
    *,
    kept: tuple[float, ...] = (1.0,),
    most: float = 1,
    cap: int = 20_000,
    runs: int = 200,
) -> float | None:
    """Mean number of audited questions from a drop to its alarm, by simulation.

    Args:
        target: promised precision, which holds exactly before the drop.
        kept: judgments that questions keep; each question's number is drawn from these, and its judgments are right or
            wrong together, which takes longest.
        most: as for :func:`hold`.

    Returns:
        None where a tenth of the runs or more have no alarm by then.
    """
    rng = np.random.default_rng(0)
    test = ChangeTest(bets_on_errors(target, most), runs)
    found, size = np.full(runs, -1), 250
    for first in range(0, cap, size):
        each, wrong = rng.choice(np.asarray(kept), (size, runs)), rng.random((size, runs)) > fallen
        reached = test.extend(each * (wrong - (1 - target))) >= 1 / delta
        new = (found < 0) & reached.any(axis=0)
        found[new] = first + 1 + reached.argmax(axis=0)[new]
        if (found >= 0).all():
            break
    return None if np.mean(found < 0) >= 0.1 else float(np.where(found < 0, cap, found).mean())
