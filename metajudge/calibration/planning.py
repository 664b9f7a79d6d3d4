"""How many labels a guarantee takes, before any is there."""

import math

import numpy as np
from scipy.special import bdtr, ndtri

from metajudge.calibration.procedures import MAIN_SHARE, Counts, check_promise, fewest_kept
from metajudge.errors import InputError

MOST_LABELS = 200_000
"""A guarantee that takes more is refused: labelling so many is impractical, and rates are not known that precisely."""


def plan(
    target: float, delta: float, rate: float, *, coverage: float = 1.0, power: float = 0.8, share: float = MAIN_SHARE
) -> int:
    """How many labelled questions the threshold of a guarantee will take, those of the fit not counted.

    Args:
        target: precision to guarantee.
        delta: probability of failure allowed.
        rate: precision expected of what is kept; must lie above the target.
        coverage: share of the questions expected to be kept.
        power: probability with which the threshold is to pass.
        share: of delta, with which the threshold is tested; by default that of the default procedure's first start.

    Returns:
        The smallest number of questions from which on the test passes with that power (at the expected share kept).

    Raises:
        InputError: an argument out of range, or a rate that is not above the target.
    """
    check_promise(target, delta)
    for name, value in (("coverage", coverage), ("power", power)):
        if not 0 < value <= 1 or (name == "power" and value == 1):
            raise InputError(f"{name} must lie between 0 and 1, not {value:g}")
    if not target < rate <= 1:
        raise InputError(
            f"rate is the precision expected of what is kept, and must lie above the target {target:g}; it is {rate:g}"
        )
    level = delta * share
    about = _normal_labels(target, level, rate, power)
    if about > MOST_LABELS:
        raise InputError(
            f"a rate of {rate:g} is too close to the target {target:g}: it would take more than {MOST_LABELS:,} labels"
        )
    kept = fewest_kept(target, level)
    while kept < 8 * MOST_LABELS:
        numbers = np.arange(kept, 2 * kept)
        allowed = _errors_allowed(numbers, target, level)
        enough = (allowed >= 0) & (bdtr(np.maximum(allowed, 0), numbers, 1 - rate) >= power)
        # Power rises in saw teeth: take the number from which on it stays.
        tail = np.flatnonzero(~enough)
        if not len(tail) or tail[-1] < len(numbers) // 2:
            first = numbers[0] if not len(tail) else numbers[tail[-1] + 1]
            return math.ceil(int(first) / coverage)
        kept = 2 * kept
    raise InputError(f"a rate of {rate:g} is too close to the target {target:g} to plan for")


def with_fit(number: int, share: float) -> int:
    """Labelled questions in all, where ``number`` are for the threshold and a share of all goes into the fit.

    Raises:
        InputError: share outside [0, 1).
    """
    if not 0 <= share < 1:
        raise InputError(f"share must lie in 0..1, below 1, not {share:g}: the threshold needs questions of its own")
    return math.ceil(number / (1 - share) - 1e-9)


def _normal_labels(target: float, level: float, rate: float, power: float) -> float:
    """Labels by the normal approximation, to know beforehand whether the exact search is worth while."""
    spread = ndtri(1 - level) * math.sqrt(target * (1 - target)) + ndtri(power) * math.sqrt(rate * (1 - rate))
    return (max(float(spread), 0.0) / (rate - target)) ** 2


def _errors_allowed(numbers: Counts, target: float, level: float) -> Counts:
    """The largest number of errors with which the exact test passes at each number kept; -1 for none."""
    from scipy.stats import binom

    allowed = binom.ppf(level, numbers, 1 - target).astype(np.int64)
    return np.asarray(np.where(bdtr(allowed, numbers, 1 - target) <= level, allowed, allowed - 1))
