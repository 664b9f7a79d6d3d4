"""A plan for a cascade: which agents are asked first, how sure one must be to stop, and what that was fitted on.

Each stage turns its score into a probability that the judgment is right, by a logistic curve of its own. While the
probability lies in the band of doubt, the next stage is asked; the last stage decides by the cut. Light on purpose: the
fit is in :mod:`metajudge.calibration.cascade_fit`.
"""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from metajudge.errors import ConfigurationError
from metajudge.types import digest
from metajudge.types.frozen import Frozen

Probability = Annotated[float, Field(ge=0, le=1)]
Step = Literal["accept", "reject", "escalate"]


class CascadeStage(Frozen):
    """One stage: its agents, and the curve from their mean score to a probability."""

    agents: Annotated[tuple[str, ...], Field(min_length=1)]
    intercept: float
    slope: float

    def probability(self, score: float) -> float:
        """P(the judgment is right), from the stage's score; rounded to 1e-9."""
        z = min(700.0, max(-700.0, self.intercept + self.slope * score))
        return round(1 / (1 + math.exp(-z)), 9)


class HeldOut(Frozen):
    """What plans made on the other folds came to on each fold: neither curves nor band saw its labels.

    Attributes:
        precision: share of right ones among what the cascade keeps.
        reference_precision: the same of the last stage asked about all.
        low: lower end of the 95 % interval of the difference, cascade less last stage, questions resampled.
        high: its upper end.
        kept: judgments that the cascade keeps.
        reference_kept: judgments that the last stage keeps.
        share_of_cost: of asking the last stage about all.
    """

    precision: float
    reference_precision: float
    low: float
    high: float
    kept: int
    reference_kept: int
    share_of_cost: float


class CascadeProvenance(Frozen):
    """What a plan was fitted on, and what it came to there: probabilities out of fold, the band chosen on all labels.

    Attributes:
        left_out: labelled judgments that some stage had no score for.
        precision, kept, reference_precision, reference_kept: of the cascade, and of the last stage asked about all.
        share_of_cost: of what asking the last stage about all would cost, in ``cost_unit``.
        held_out: what plans made without a fold came to there; None in older files, and where nothing was kept.
    """

    judgments: int
    questions: int
    left_out: int
    data_digest: str
    seed: int
    folds: int
    precision: float | None
    kept: int
    reference_precision: float | None
    reference_kept: int
    share_of_cost: float
    cost_unit: Literal["dollars", "calls"]
    asked: tuple[int, ...]
    held_out: HeldOut | None = Field(default=None, exclude_if=lambda given: given is None)


class CascadePlan(Frozen):
    """Stages, the band of doubt and the cut, as kept in a JSON file.

    Attributes:
        band: probabilities within, the ends included, are doubtful: the next stage is asked.
        cut: what the last stage's probability must exceed; lies in the band.
        agents: agent -> model that it was fitted on.
        rubrics, prompts: digests it was fitted on.
        scale: ends of the scores' scale.
    """

    format: Literal[1] = 1
    stages: Annotated[tuple[CascadeStage, ...], Field(min_length=2)]
    band: tuple[Probability, Probability]
    cut: Probability
    scale: tuple[float, float] = (1.0, 5.0)
    agents: dict[str, str] = Field(default_factory=dict)
    rubrics: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    provenance: CascadeProvenance | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.band
        if not low <= self.cut <= high:
            raise ValueError(
                f"the band {low:g}..{high:g} must contain the cut {self.cut:g}, otherwise stages contradict it"
            )
        return self

    @property
    def digest(self) -> str:
        """Identity: everything that can change a decision."""
        return digest(self.model_dump(mode="json", exclude={"provenance"}))

    @property
    def threshold(self) -> float:
        """The cut on the scores' scale, as which probabilities are recorded."""
        return self.on_scale(self.cut)

    def on_scale(self, probability: float) -> float:
        """A probability as a point of the scores' scale: 0 and 1 are its ends."""
        low, high = self.scale
        return round(low + (high - low) * probability, 9)

    def step(self, stage: int, probability: float) -> Step:
        """What a stage's probability leads to."""
        low, high = self.band
        if stage == len(self.stages) - 1:
            return "accept" if probability > round(self.cut, 9) else "reject"
        if probability > round(high, 9):
            return "accept"
        return "reject" if probability < round(low, 9) else "escalate"

    def with_band(self, band: tuple[float, float] | None) -> "CascadePlan":
        """The plan with another band.

        Raises:
            ConfigurationError: one that does not contain the cut.
        """
        if band is None:
            return self
        try:
            return CascadePlan.model_validate({**self.model_dump(), "band": band, "provenance": None})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise ConfigurationError(f"cascade.band: {problem}") from None
