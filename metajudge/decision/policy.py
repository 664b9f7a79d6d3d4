"""A decision policy: bands over a score or a probability and a confidence, identified by its content."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, model_validator

from metajudge.decision.bands import Band, Outcome, problems
from metajudge.decision.profile import CasePlan
from metajudge.errors import PolicyError
from metajudge.files.yaml_documents import did_you_mean, name_list
from metajudge.rubric.model import Name, Rubric, Text, Weight
from metajudge.types.decision import Basis
from metajudge.types.digests import digest
from metajudge.types.frozen import Frozen, left_out
from metajudge.types.interval import Interval, Range, exact

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
    confidence: Recalibration | None = left_out()

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


Agreement = Literal["same_side", "range"]
"""How the agreement of a panel's agents is measured, see :func:`metajudge.decision.deciding.agreement_of`."""

_NO_QUOTES = Outcome(justification="There is no quote to verify, so a person decides.")


class Missing(Frozen):
    """What is done where a number is missing; never is another number put in its place.

    Attributes:
        value: where there is no score or probability.
        confidence: where there is no confidence and the action depends on it.
        quotes: where no quote was given and the action depends on the share that is verified.
    """

    value: Outcome = Outcome(justification="There is no value to decide on, so a person decides.")
    confidence: Outcome = Outcome(justification="There is no confidence to decide with, so a person decides.")
    quotes: Outcome = Field(default=_NO_QUOTES, exclude_if=lambda given: given == _NO_QUOTES)


class ReviewRule(Frozen):
    """How people review what the policy sends to them.

    Attributes:
        labels: whether their decisions are to become labels, for a calibration or a test of a promise.
        blind: whether they decide before the machine's result is shown. None: where decisions become labels, that is
            with ``labels``, and for what is drawn at random from the approved and the rejected.
    """

    labels: bool = False
    blind: bool | None = None

    def is_blind(self, *, audited: bool) -> bool:
        """Whether a review is decided blind.

        Args:
            audited: whether it was drawn at random.
        """
        return (self.labels or audited) if self.blind is None else self.blind


NO_RULE = ReviewRule()


class Policy(Frozen):
    """Which scores or probabilities, with which confidence, are approved, reviewed or rejected.

    Attributes:
        basis: what the bands' ``value`` is.
        scale: lowest and highest value: of the score, or 0 and 1 for a probability.
        agreement: for verdicts, how the agents' agreement is measured; it is their confidence.
        bands: cover the whole scale and all confidences, without overlap.
        without_confidence: bands over the value alone for where there is no confidence; none: ``missing.confidence``.
        cases: how cases are judged; None for a policy over verdicts alone.
        adjustment: corrections of the value, learned from human decisions.
        review: how people review what it sends to them.
    """

    version: Literal[1] = Field(default=1, description="Version of this file format.")
    name: Name
    title: Text
    description: Text
    basis: Basis
    scale: Range = Range()
    agreement: Agreement = "same_side"
    bands: Annotated[tuple[Band, ...], Field(min_length=1)]
    without_confidence: tuple[Band, ...] = ()
    missing: Missing = Missing()
    cases: CasePlan | None = None
    adjustment: Adjustment | None = left_out("Corrections learned from human decisions.")
    review: ReviewRule = Field(
        default=NO_RULE,
        exclude_if=lambda given: given == NO_RULE,
        description="How people review what the policy sends to them.",
    )

    @model_validator(mode="after")
    def _check(self) -> "Policy":
        if self.basis == "probability" and (self.scale.low, self.scale.high) != (0, 1):
            raise ValueError(f"scale: a probability goes from 0 to 1, not {self.scale}")
        if self.basis == "probability" and self.cases is not None:
            raise ValueError("cases: a case has a score, not a probability; use basis: score")
        if self.basis == "probability" and self.agreement == "range":
            raise ValueError(
                "agreement: 'range' needs the scores' scale, which a policy over probability does not state"
            )
        _check_bands(self.bands, "bands", self.basis, self.scale)
        if self.uses_quotes and self.cases is None:
            raise ValueError("bands: quotes: only cases have quotes to verify; remove it, or add a section `cases`")
        if self.without_confidence:
            for index, band in enumerate(self.without_confidence):
                if not band.confidence.whole:
                    raise ValueError(f"without_confidence[{index}].confidence: remove it; confidence is missing here")
            _check_bands(self.without_confidence, "without_confidence", self.basis, self.scale)
        return self

    @cached_property
    def digest(self) -> str:
        """The version: digest of the whole content."""
        return digest(self.model_dump(mode="json"))

    @property
    def uses_quotes(self) -> bool:
        """Whether a band looks at the share of verified quotes."""
        return any(not band.quotes.whole for band in (*self.bands, *self.without_confidence))

    @property
    def confidence_rule(self) -> str:
        """How the confidence it looks at is made, for records."""
        return f"agreement:{self.agreement}" if self.cases is None else f"cases:{self.cases.overall_confidence}"


def check_rubric(policy: Policy, rubric: Rubric) -> None:
    """Checks that a policy's cases can be judged by a rubric.

    Raises:
        PolicyError: a criterion that the rubric lacks, or another scale; with every problem found.
    """
    plan = policy.cases
    if plan is None:
        return
    known = [criterion.name for criterion in rubric.criteria]
    where = f"policy {policy.name!r}"
    found = [
        f"{where}: stages[{index}].criteria: the rubric {rubric.name!r} has no criterion {name!r}; it has "
        f"{name_list(known)}{did_you_mean(name, known)}"
        for index, stage in enumerate(plan.stages)
        for name in stage.criteria
        if name not in known
    ]
    if policy.uses_quotes and "evidence" not in rubric.asks:
        found.append(f"{where}: bands look at quotes, but the rubric {rubric.name!r} does not ask for evidence")
    if rubric.kind != "criteria":
        found.append(f"{where}: cases need a rubric of kind 'criteria'; {rubric.name!r} is {rubric.kind}")
    if (exact(policy.scale.low), exact(policy.scale.high)) != (exact(rubric.scale.low), exact(rubric.scale.high)):
        found.append(f"{where}: scale {policy.scale} is not the rubric's ({rubric.scale}); write the same in both")
    if found:
        raise PolicyError("\n".join(found))


def _check_bands(bands: tuple[Band, ...], where: str, basis: str, scale: Range) -> None:
    for index, band in enumerate(bands):
        _check_bounds(band.value, f"{where}[{index}].value", scale)
        _check_bounds(band.confidence, f"{where}[{index}].confidence", Range())
        _check_bounds(band.quotes, f"{where}[{index}].quotes", Range())
    found = problems(bands, scale)
    if found:
        raise ValueError("; ".join(f"{where}: {problem.describe(basis)}" for problem in found))


def _check_bounds(interval: Interval, where: str, axis: Range) -> None:
    for bound in interval.bounds:
        if not axis.contains(bound):
            raise ValueError(f"{where}: {bound:.10g} lies outside {axis}")
    if interval.below is not None and exact(interval.below) == exact(axis.low):
        raise ValueError(f"{where}: nothing lies below {axis.low:g}; raise `below` or leave it out")
