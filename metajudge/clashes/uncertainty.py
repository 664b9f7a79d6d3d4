"""What a number of prompts can say about candidates: who may be best, who is dominated, how many more are needed. Pure.

Prompts are drawn with replacement, each with all of its evaluations, because repeats and cycles of one prompt are not
independent (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). All candidates are
recomputed from the same draw, so that what they have in common cancels. A resample of k prompts varies by (k - 1) / k
of what it should, and k prompts know their own variance as well as Student's t says: deviations are widened by
``sqrt(k / (k - 1)) t / z`` at the tail that is tested (Hesterberg, "What Teachers Should Know About the Bootstrap",
2015, section 4.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from metajudge.stats.arrays import Floats
from metajudge.stats.bootstrap import drawn_weights
from metajudge.stats.interval_estimate import CONFIDENCE, Estimate, normal_quantile

RESAMPLES = 4000
SEED = 20_260_101
FEWEST = 8
"""Prompts below which nothing is tested: with seven of equal candidates one side wins all with probability .016."""
LEVEL = 0.05
"""Chance of calling any candidate dominated by one of equal quality; shared among all pairs (Bonferroni)."""
POWER = 0.8
MOST_NEEDED = 100_000


@dataclass(frozen=True, slots=True)
class Observed:
    """Sums and counts by prompt, [prompts, candidates] each: of shares of points, dollars and seconds.

    A candidate's mean is the sum of its sums by the sum of its counts; cost and latency of a candidate for which one is
    not known count nowhere (all counts 0).
    """

    names: tuple[str, ...]
    quality: tuple[Floats, Floats]
    cost: tuple[Floats, Floats]
    latency: tuple[Floats, Floats]

    @property
    def prompts(self) -> int:
        """Prompts with a verdict that ranks a candidate."""
        return int((self.quality[1].sum(axis=1) > 0).sum())


@dataclass(frozen=True, slots=True)
class Draws:
    """Means of every candidate in every resample, [resamples, candidates] each; NaN where there is none."""

    names: tuple[str, ...]
    prompts: int
    quality: Floats
    cost: Floats
    latency: Floats

    def best(self) -> dict[str, float]:
        """Candidate -> share of the resamples in which its quality is the highest; equal ones share the draw."""
        quality = np.nan_to_num(self.quality, nan=-1.0)
        top = quality >= quality.max(axis=1, keepdims=True) - 1e-12
        shares = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(self.names, map(float, shares), strict=True))

    def dominates(self, one: int, other: int) -> float:
        """Share of resamples in which a candidate is at least as good in all three figures and better in one."""
        better = self.quality[:, one] - self.quality[:, other]
        cheaper = self.cost[:, other] - self.cost[:, one]
        faster = self.latency[:, other] - self.latency[:, one]
        found = np.stack([better, cheaper, faster])
        return float(((found >= 0).all(axis=0) & (found > 0).any(axis=0)).mean())


@dataclass(frozen=True, slots=True)
class Lead:
    """How far the best candidate is ahead of the next one, paired by prompt.

    Attributes:
        difference: mean over prompts with both of the difference of their shares of points, with its t interval.
        needed: prompts at which a true difference of this size is found with a power of 80 % (two-sided, 5 %); None
            where no difference is observed.
        detectable: the smallest true difference that so many prompts find with that power.
    """

    first: str
    second: str
    difference: Estimate
    needed: int | None
    detectable: float

    @property
    def ahead(self) -> bool:
        """Whether the interval excludes that they are equal."""
        return self.difference.low > 0

    def sentence(self) -> str:
        """What was found, and what it would take to know more."""
        found = self.difference
        figures = f"by {found.estimate:.3f} [{found.low:.3f} to {found.high:.3f}] on {found.n} prompts"
        if self.ahead:
            return f"{self.first} is ahead of {self.second} {figures}"
        power = f"with 80 % power, {found.n} prompts find a difference of {self.detectable:.3f}"
        if self.needed is None:
            return f"{self.first} and {self.second} have the same mean on {found.n} prompts: {power}"
        more = max(0, self.needed - found.n)
        count = f"more than {MOST_NEEDED:,}" if self.needed >= MOST_NEEDED else f"about {more:,} more"
        return (
            f"{self.first} leads {self.second} {figures}, which does not separate them: {count} prompts are needed to "
            f"confirm a difference of this size ({power})"
        )

    def to_json(self) -> dict[str, Any]:
        """All of it, and the sentence, as plain data."""
        found, who = self.difference, {"first": self.first, "second": self.second}
        figures = {"difference": found.estimate, "low": found.low, "high": found.high, "prompts": found.n}
        more = {"needed": self.needed, "detectable": self.detectable, "sentence": self.sentence()}
        return {**who, **figures, **more}


def draws_of(observed: Observed, *, resamples: int = RESAMPLES, seed: int = SEED) -> Draws | None:
    """Resamples the prompts; None below :data:`FEWEST`."""
    k = observed.prompts
    if k < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    rows = len(observed.quality[0])
    table = np.hstack([*observed.quality, *observed.cost, *observed.latency])
    sums = np.concatenate([weights @ table for weights in drawn_weights(rows, resamples, rng)])
    tail = min(0.025, 1 - level_of(len(observed.names)))  # where a domination is read off
    width = math.sqrt(k / (k - 1)) * float(-stdtrit(k - 1, tail)) / normal_quantile(1 - 2 * tail)
    means, own = _means(sums, len(observed.names)), _means(table.sum(axis=0)[None, :], len(observed.names))
    quality, cost, latency = (at + width * (found - at) for found, at in zip(means, own, strict=True))
    return Draws(observed.names, k, quality, cost, latency)


def level_of(candidates: int) -> float:
    """The share of resamples from which on one candidate is said to dominate another, for the whole table to hold."""
    pairs = max(1, candidates * (candidates - 1) // 2)
    return 1 - LEVEL / pairs


def lead_of(names: Sequence[str], shares: Mapping[str, Mapping[str, float]]) -> Lead | None:
    """How far the best candidate is ahead of the next one; None below :data:`FEWEST` prompts with both.

    Args:
        names: candidates, best first.
        shares: candidate -> prompt -> its mean share of points there.
    """
    if len(names) < 2:
        return None
    first, second = names[0], names[1]
    both = sorted(set(shares[first]) & set(shares[second]))
    n = len(both)
    if n < FEWEST:
        return None
    gaps = np.array([shares[first][one] - shares[second][one] for one in both])
    difference = float(gaps.mean())
    # At least the spread of a single prompt that went otherwise: equal gaps are no certainty.
    spread = max(float(gaps.std(ddof=1)), 1 / math.sqrt(n))
    reach = float(-stdtrit(n - 1, 0.025)) * spread / math.sqrt(n)
    factor = normal_quantile(0.95) + normal_quantile(2 * POWER - 1)
    needed = None if abs(difference) < 1e-9 else min(MOST_NEEDED, math.ceil((factor * spread / difference) ** 2))
    low, high = max(-1.0, difference - reach), min(1.0, difference + reach)
    found = Estimate(difference, low, high, n, CONFIDENCE, "paired t interval")
    return Lead(first, second, found, needed, min(1.0, factor * spread / math.sqrt(n)))


def _means(sums: Floats, candidates: int) -> tuple[Floats, Floats, Floats]:
    parts = np.split(sums, 6, axis=1)
    assert parts[0].shape[1] == candidates
    with np.errstate(invalid="ignore", divide="ignore"):
        return parts[0] / parts[1], parts[2] / parts[3], parts[4] / parts[5]
