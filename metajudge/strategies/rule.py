"""Which rule decides on a judgment, and from which number on: one decision a record.

In this order: a policy where one is named; with a calibration P, the probability of being right, unless a threshold was
typed, which is the score's; of free evidence alone the share of peers that agree, except on pairs; else the score.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.scoring.formulas import DECIMALS, exceeds
from metajudge.stats.arrays import Bools
from metajudge.types.assessment import Assessment, CutFrom, DecidedBy, Status
from metajudge.types.decision import Action, Decision

PROBABILITY_CUT: Final = 0.9
"""P from which on a judgment is kept where nothing else says so."""

AGREEMENT_CUT: Final = 0.75
"""The share of peers that agree from which on a verdict is kept: two peers who both agree reach it, one does not.
`python -m metajudge.benchmarks.free_evidence` measures other cuts."""

_NAMES: Final = {"typed": "as given", "promise": "the promise's threshold", "default": "the default"}


@dataclass(frozen=True, slots=True)
class Rule:
    """What decides on a judgment.

    Attributes:
        by: see :class:`~metajudge.types.assessment.Assessment`.
        cut: in the unit of the rule; None of a policy, which has bands, and of agreement of both orders.
    """

    by: DecidedBy
    cut: float | None = None
    cut_from: CutFrom | None = None

    def keeps(self, values: ArrayLike) -> Bools:
        """Whether values pass the cut, both rounded to 1e-9: scores lie strictly above it, P and shares from it on."""
        assert self.cut is not None, "a policy decides by its bands"
        if self.by == "score":
            return exceeds(values, self.cut)
        return np.asarray(np.asarray(values, dtype=np.float64).round(DECIMALS) >= round(self.cut, DECIMALS))

    def __str__(self) -> str:
        """The rule as it follows "kept": its cut, and in brackets where that comes from."""
        if self.cut is None:
            return "by agreement of both orders" if self.by == "agreement" else "by the policy"
        origin = f" ({_NAMES[self.cut_from]})" if self.cut_from in _NAMES else ""
        match self.by:
            case "probability":
                return f"from P {self.cut:.4g} on{origin}"
            case "agreement":
                return f"by agreement, from a share of {self.cut:g} of the peers on{origin}"
        return f"above {self.cut:g} by the score{origin}"


POLICY: Final = Rule("policy", None, "policy")

SAME_IN_BOTH_ORDERS: Final = Rule("agreement")
"""Of a judge alone: its verdict is the same in both orders."""


def own_rule(threshold: float, *, typed: bool, by_agreement: bool = False) -> Rule:
    """What decides without a calibration and a policy.

    Args:
        typed: whether it was given, and is not the strategy's own.
        by_agreement: whether there is free evidence alone, on a verdict that is no pair.
    """
    if by_agreement and not typed:
        return Rule("agreement", AGREEMENT_CUT, "default")
    return Rule("score", threshold, "typed" if typed else "default")


def calibrated_rule(own: Rule, *, policy: bool, cut: float | None, promised: float | None) -> Rule:
    """What decides with a calibration.

    Args:
        promised: the threshold of the stored promise that covers the judgment.
    """
    if policy:
        return POLICY
    if own.by == "score" and own.cut_from == "typed":
        return own
    if cut is not None:
        return Rule("probability", cut, "typed")
    if promised is not None:
        return Rule("probability", promised, "promise")
    return Rule("probability", PROBABILITY_CUT, "default")


def check_cut(cut: float | None, *, calibrated: bool, policy: bool) -> None:
    """Refuses a typed cut in P that nothing could be compared with, or that stands beside another rule.

    Raises:
        ConfigurationError: with what is missing, or what to leave out.
    """
    if cut is None:
        return
    if not calibrated:
        raise ConfigurationError(
            f"cut {cut:g} is a probability of being right, and without a calibration there is none: give --calibration "
            "FILE, too, or --threshold for the score"
        )
    if policy:
        raise ConfigurationError(
            f"cut {cut:g} and a policy are two rules for one decision: leave one out (a policy's bands are its cuts)"
        )


def decided(rule: Rule, *, kept: bool | None) -> dict[str, object]:
    """The fields of an assessment that a rule has decided on."""
    return {
        "status": Status.ASSESSED,
        "accepted": kept,
        "failure": None,
        "decided_by": rule.by,
        "cut": rule.cut,
        "cut_from": rule.cut_from,
    }


def undecided() -> dict[str, object]:
    """The fields of an assessment that no rule could decide on."""
    return {"accepted": None, "decided_by": None, "cut": None, "cut_from": None}


def ruled(assessment: Assessment, decision: Decision) -> Assessment:
    """An assessment with a policy's decision, which says what is kept; what people are to decide is undecided yet."""
    kept = {Action.APPROVE: True, Action.REJECT: False}.get(decision.action)
    update = {**decided(POLICY, kept=kept), "decision": decision}
    failure = assessment.failure
    if failure is not None and not (failure.kind is FailureKind.NO_EVIDENCE and decision.inputs.value is not None):
        update |= {"status": assessment.status, "failure": failure}
    return assessment.model_copy(update=update)


def rule_of(assessment: Assessment) -> Rule | None:
    """What decided on a judgment; of a record of version 0.2, which does not name it, what it follows from."""
    if assessment.decided_by is not None:
        return Rule(assessment.decided_by, assessment.cut, assessment.cut_from)
    if assessment.decision is not None:
        return POLICY
    if assessment.accepted is None:
        return None
    if assessment.guarantee is not None:
        return Rule("probability", assessment.guarantee.threshold, "promise")
    if assessment.probability_threshold is not None:
        return Rule("probability", assessment.probability_threshold)
    return Rule("score", assessment.threshold)
