"""What a policy decided, and on what."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from metajudge.types.frozen import Frozen, left_out

Basis = Literal["score", "probability"]
"""What a policy decides on: a score on its scale, or a probability of being correct."""

Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number from 0 to 1."""


class Action(StrEnum):
    """What is to be done with a verdict or a case."""

    APPROVE = "APPROVE"
    """Use it."""
    REVIEW = "REVIEW"
    """A person looks at it before it is used."""
    REVIEW_PRIORITY = "REVIEW_PRIORITY"
    """A person looks at it first."""
    REJECT = "REJECT"
    """Do not use it."""

    @property
    def needs_person(self) -> bool:
        """Whether a person has to review it."""
        return self in (Action.REVIEW, Action.REVIEW_PRIORITY)


@dataclass(frozen=True, slots=True)
class Absent:
    """A number that is not there, and why."""

    reason: str


class DecisionInputs(Frozen):
    """The numbers a decision is based on; each is present, or ``absent`` gives the reason why it is missing.

    Attributes:
        basis: what ``value`` is.
        value: the score (on the policy's scale) or the probability.
        confidence: in [0, 1].
        quotes: share of the quotes given as evidence that stand in the case's texts, in [0, 1]; None where the policy
            does not look at it.
        unadjusted: the value before the policy's learned corrections; None where it has none.
        stated_confidence: the confidence before the policy's calibration of it; None where it has none.
        confidence_rule: how the confidence was made, such as ``same_side``.
        absent: ``value``, ``confidence`` or ``quotes`` -> why it is missing.
    """

    basis: Basis
    value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    unadjusted: Annotated[float, Field(allow_inf_nan=False)] | None = left_out()
    confidence: Unit | None = None
    stated_confidence: Unit | None = left_out()
    quotes: Unit | None = left_out()
    confidence_rule: str
    absent: dict[Literal["value", "confidence", "quotes"], str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> "DecisionInputs":
        for name, number in (("value", self.value), ("confidence", self.confidence)):
            if (number is None) != (name in self.absent):
                raise ValueError(f"{name}: give either a number, or the reason in `absent` why it is missing")
        if self.quotes is not None and "quotes" in self.absent:
            raise ValueError("quotes: give either a number, or the reason in `absent` why it is missing")
        return self


class Decision(Frozen):
    """What a policy says about a verdict or a case.

    Attributes:
        policy: the policy's name; ``policy_digest`` is its version.
        justification: the policy's words for this band, or for what was missing.
        band: which of the policy's bands, counted from 0; None where an absent number or the gate decided.
        gate: the gate's result where it ended the case: ``archive`` or ``quick_review``.
        margin: the smallest change of value or confidence alone, as a share of its range, that would have led to
            another action; None where no number decided or no such change exists.
    """

    action: Action
    policy: str
    policy_digest: str
    justification: str
    inputs: DecisionInputs
    band: int | None = None
    gate: Literal["archive", "quick_review"] | None = None
    margin: float | None = None
