"""What human decisions taught a policy: corrections of the number it decides on."""

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from metajudge.rubric.model import Name, Weight
from metajudge.types.frozen import Frozen
from metajudge.types.interval import Range, exact

_LARGEST_ODDS = 1e9
"""Probabilities nearer to 0 or 1 than this are moved here before their log-odds are taken."""


class Recalibration(Frozen):
    """``logit p' = intercept + slope * logit p`` (Platt, 1999): keeps the order of probabilities."""

    intercept: Annotated[float, Field(allow_inf_nan=False)]
    slope: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    def apply(self, probability: float) -> float:
        """The corrected probability."""
        odds = math.log(_LARGEST_ODDS)
        if 0.0 < probability < 1.0:
            odds = min(max(math.log(probability / (1.0 - probability)), -odds), odds)
        elif probability <= 0.0:
            odds = -odds
        corrected = self.intercept + self.slope * odds
        return exact(1.0 / (1.0 + math.exp(-min(max(corrected, -700.0), 700.0))))


class Adjustment(Frozen):
    """Corrections that are made before a policy's bands are looked at.

    Attributes:
        recalibration: of the probability, for policies over one.
        offsets: criterion -> what is added to its score, which stays on the scale; for policies over a score.
        weights: criterion -> weight in place of the rubric's, normalised over the criteria scored.
        confidence: recalibration of the confidence that judges state, on people's decisions or labels.
    """

    recalibration: Recalibration | None = None
    offsets: dict[Name, Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=dict)
    weights: dict[Name, Weight] = Field(default_factory=dict)
    confidence: Recalibration | None = Field(default=None, exclude_if=lambda given: given is None)

    def apply(self, value: float, scale: Range, criteria: Mapping[str, float], weights: Mapping[str, float]) -> float:
        """The corrected value.

        Args:
            value: score or probability as it was found.
            criteria: criterion -> score; if empty, offsets and weights change nothing.
            weights: criterion -> the weight it had in ``value``.
        """
        if self.recalibration is not None:
            value = self.recalibration.apply(value)
        known = {name: score for name, score in criteria.items() if name in (self.weights or weights)}
        if not known or not (self.offsets or self.weights):
            return exact(value)
        moved = {n: min(max(s + self.offsets.get(n, 0.0), scale.low), scale.high) for n, s in known.items()}
        if self.weights:
            total = sum(self.weights[name] for name in moved)
            return exact(sum(self.weights[name] * score for name, score in moved.items()) / total)
        total = sum(weights[name] for name in moved)
        change = sum(weights[name] * (moved[name] - known[name]) for name in moved) / total
        return exact(min(max(value + change, scale.low), scale.high))
