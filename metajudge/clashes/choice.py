"""The cheapest candidate that is nearly as good as the best one, within limits of cost and latency. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metajudge.clashes.pareto import CandidateFigures
from metajudge.clashes.uncertainty import Draws
from metajudge.errors import ConfigurationError

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
        draws: of the same candidates, see :func:`metajudge.clashes.uncertainty.draws_of`.
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
