"""What a number of prompts can say about candidates: who may be best, who is dominated, what to choose. Pure.

Prompts are drawn with replacement, each with all of its evaluations, because repeats and cycles of one prompt are not
independent (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). All candidates are
recomputed from the same draw, so that what they have in common cancels. A resample of k prompts varies by (k - 1) / k
of what it should, and k prompts know their own variance as well as Student's t says: deviations are widened by
``sqrt(k / (k - 1)) t / z`` at the tail that is tested (Hesterberg, "What Teachers Should Know About the Bootstrap",
2015, section 4.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from metajudge.errors import ConfigurationError
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
    means, own = _means(sums), _means(table.sum(axis=0)[None, :])
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


def _means(sums: Floats) -> tuple[Floats, Floats, Floats]:
    parts = np.split(sums, 6, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return parts[0] / parts[1], parts[2] / parts[3], parts[4] / parts[5]


Standing = Literal["front", "dominated", "undecided", "not_comparable"]


@dataclass(frozen=True, slots=True)
class CandidateFigures:
    """What is known of one candidate.

    Attributes:
        quality: higher is better, for instance the mean share of Borda points.
        cost_usd, latency_s: lower is better; means over the same evaluations.
        None: not known.
    """

    name: str
    quality: float | None
    cost_usd: float | None
    latency_s: float | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The figures that are not known."""
        values = {"quality": self.quality, "cost": self.cost_usd, "latency": self.latency_s}
        return tuple(name for name, value in values.items() if value is None)


@dataclass(frozen=True, slots=True)
class ParetoStanding:
    """A candidate's position on the Pareto front.

    Attributes:
        dominated_by: candidates at least as good in all three figures and better in one, sorted; where it is undecided,
            those that may be so.
        why: why it cannot be compared, or is not decided; None where it is.
        probability: share of resampled prompts in which the surest of ``dominated_by`` dominates; None where the means
            alone were compared.
    """

    candidate: CandidateFigures
    standing: Standing
    dominated_by: tuple[str, ...] = ()
    why: str | None = None
    probability: float | None = None


def pareto_front(candidates: Sequence[CandidateFigures]) -> list[ParetoStanding]:
    """The Pareto standing of each candidate, in the order given.

    A candidate is on the front where no other is at least as good in quality, cost and latency and better in one of
    them; equals do not dominate each other. One with an unknown figure is not comparable: it neither dominates nor is
    dominated, because an unknown cost is not a cost of zero.
    """
    # Lower is better in all three, with the quality turned round.
    known = {
        one.name: (-(one.quality or 0.0), one.cost_usd or 0.0, one.latency_s or 0.0)
        for one in candidates
        if not one.unknown
    }
    found = []
    for one in candidates:
        if one.unknown:
            why = f"{' and '.join(one.unknown)} not known"
            found.append(ParetoStanding(one, "not_comparable", why=why))
            continue
        own = known[one.name]
        better = tuple(
            sorted(
                n for n, other in known.items() if other != own and all(a <= b for a, b in zip(other, own, strict=True))
            )
        )
        found.append(ParetoStanding(one, "dominated" if better else "front", better))
    return found


def front_by_prompts(candidates: Sequence[CandidateFigures], draws: Draws | None) -> list[ParetoStanding]:
    """The Pareto standing of each candidate as far as the prompts decide it, in the order given.

    *Dominated* is said where another candidate dominates it in so many resamples that, of equal candidates, any is
    called dominated with a chance of at most 5 %; *front* where no other dominates it in more than 5 % of them;
    *undecided* is the rest, and everything below :data:`~metajudge.clashes.pareto.FEWEST` prompts.

    Args:
        draws: of the same candidates; None for too few prompts.
    """
    means = pareto_front(candidates)
    if draws is None:
        why = f"fewer than {FEWEST} prompts"
        return [
            one if one.standing == "not_comparable" else replace(one, standing="undecided", why=why) for one in means
        ]
    comparable = [one.name for one in candidates if not one.unknown]
    found = []
    for one in means:
        if one.standing != "not_comparable":
            own = draws.names.index(one.candidate.name)
            rivals = [name for name in comparable if name != one.candidate.name]
            shares = {name: draws.dominates(draws.names.index(name), own) for name in rivals}
            surest = max(shares.values(), default=0.0)
            surely = tuple(sorted(name for name, share in shares.items() if share >= level_of(len(comparable))))
            named = tuple(sorted(name for name, share in shares.items() if share > LEVEL))
            if surely:
                one = ParetoStanding(one.candidate, "dominated", surely, probability=surest)
            elif not named:
                one = ParetoStanding(one.candidate, "front", probability=surest)
            else:
                one = ParetoStanding(one.candidate, "undecided", named, "the prompts do not decide it", surest)
        found.append(one)
    return found


WITHIN = 2.0
"""Default of how much quality may be given up, in percent of the best candidate's."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a candidate may take.

    Attributes:
        cost_usd: mean dollars of an answer, at most; None for no limit.
        latency_s: mean seconds of an answer, at most; None for no limit.
        within: percent of the best quality that may be given up, in [0, 100].

    Raises:
        ConfigurationError: a limit that is not above 0, or ``within`` out of range.
    """

    cost_usd: float | None = None
    latency_s: float | None = None
    within: float = WITHIN

    def __post_init__(self) -> None:
        for name, value in (("cost", self.cost_usd), ("latency", self.latency_s)):
            if value is not None and not 0 < value < float("inf"):
                raise ConfigurationError(f"a limit of {name} must be above 0, not {value:g}")
        if not 0 <= self.within <= 100:
            raise ConfigurationError(f"within {self.within:g} % makes no sense: give 0 to 100")

    def words(self) -> str:
        """The limits as a phrase."""
        found = [] if self.cost_usd is None else [f"at most ${self.cost_usd:g} an answer"]
        found += [] if self.latency_s is None else [f"at most {self.latency_s:g} s"]
        return " and ".join(found) or "no limit"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen.

    Attributes:
        chosen: the cheapest within reach of the best; several where they cost the same; none where none is eligible.
        best: of those within the limits, the highest quality.
        excluded: candidate -> why it is not within the limits.
        probability: share of resampled prompts in which the choice keeps the limits and is within reach of the best
            eligible candidate; None for too few prompts, or without one single choice.
    """

    limits: Limits
    chosen: tuple[str, ...]
    best: str | None
    excluded: dict[str, str]
    probability: float | None

    def sentence(self) -> str:
        """The choice in words."""
        out = "; ".join(f"{name}: {why}" for name, why in sorted(self.excluded.items()))
        left = f" Not eligible: {out}." if out else ""
        if self.best is None:
            return f"With {self.limits.words()}: no candidate is eligible.{left}"
        what = f"the cheapest within {self.limits.within:g} % of the best ({self.best}) is {' and '.join(self.chosen)}"
        sure = ""
        if self.probability is not None:
            sure = f", in {self.probability:.0%} of resampled prompts"
        elif len(self.chosen) == 1:
            sure = ", too few prompts to say how surely"
        return f"With {self.limits.words()}: {what}{sure}.{left}"


def choose(figures: Sequence[CandidateFigures], limits: Limits, draws: Draws | None = None) -> Choice:
    """Chooses by the means: of those within the limits and near the best of them, the cheapest.

    A candidate whose cost is not known cannot be the cheapest, and is within no limit of cost; likewise for latency.

    Args:
        draws: of the same candidates, see :func:`metajudge.clashes.pareto.draws_of`.
    """
    excluded = {one.name: why for one in figures if (why := _excluded(one, limits)) is not None}
    eligible = [one for one in figures if one.name not in excluded]
    if not eligible:
        return Choice(limits, (), None, excluded, None)
    top = max(one.quality or 0.0 for one in eligible)
    best = " and ".join(one.name for one in eligible if (one.quality or 0.0) == top)
    near = [one for one in eligible if (one.quality or 0.0) >= top * (1 - limits.within / 100)]
    least = min(one.cost_usd or 0.0 for one in near)
    chosen = tuple(sorted(one.name for one in near if (one.cost_usd or 0.0) == least))
    probability = None
    if draws is not None and len(chosen) == 1:
        probability = _probability(chosen[0], [one.name for one in eligible], limits, draws)
    return Choice(limits, chosen, best, excluded, probability)


def _excluded(one: CandidateFigures, limits: Limits) -> str | None:
    if one.quality is None:
        return "no verdict ranks it"
    if one.cost_usd is None:
        return "its cost is not known"
    if limits.cost_usd is not None and one.cost_usd > limits.cost_usd:
        return f"${one.cost_usd:.4g} an answer"
    if limits.latency_s is not None and one.latency_s is None:
        return "its latency is not known"
    if limits.latency_s is not None and one.latency_s is not None and one.latency_s > limits.latency_s:
        return f"{one.latency_s:.3g} s an answer"
    return None


def _probability(chosen: str, eligible: Sequence[str], limits: Limits, draws: Draws) -> float:
    places = [draws.names.index(name) for name in eligible]
    own = draws.names.index(chosen)
    best = np.nanmax(draws.quality[:, places], axis=1)
    holds = draws.quality[:, own] >= best * (1 - limits.within / 100)
    if limits.cost_usd is not None:
        holds &= draws.cost[:, own] <= limits.cost_usd
    if limits.latency_s is not None:
        holds &= draws.latency[:, own] <= limits.latency_s
    return float(holds.mean())
