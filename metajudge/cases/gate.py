"""The gate of a case: a relevance that decides whether the case is judged to its end."""

from metajudge.cases.case import Case
from metajudge.cases.result import GateResult, StageResult
from metajudge.decision import Decision, Gate, Policy, Range
from metajudge.errors import InputError
from metajudge.types import Action, DecisionInputs


def stated_gate(gate: Gate, case: Case) -> GateResult:
    """The gate's result for the number its stage states.

    Raises:
        InputError: it is no number from 0 to 1, or context and output state different ones.
    """
    stage = case.stage(gate.stage)
    holders = [] if stage is None else [one for one in (stage.context, stage.output) if isinstance(one, dict)]
    found = [holder[gate.field] for holder in holders if gate.field in holder]
    where = f"case {case.id!r}: {gate.field} of stage {gate.stage!r}"
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{where} must be a number from 0 to 1, not {value!r}")
    if not found:
        return _missing(gate, f"stage {gate.stage!r} states no {gate.field}")
    if found[0] != found[-1]:
        raise InputError(f"{where} is {found[0]} in its context and {found[-1]} in its output: state it in one of them")
    return GateResult(stage=gate.stage, value=float(found[0]), step=gate.step_for(float(found[0])).step)


def scored_gate(gate: Gate, stage: StageResult, scale: Range) -> GateResult:
    """The gate's result for its stage's weighted score."""
    if stage.weighted_score is None:
        return _missing(gate, "no score" if stage.failure is None else stage.failure.message)
    value = round((stage.weighted_score - scale.low) / scale.width, 9)
    return GateResult(stage=gate.stage, value=value, step=gate.step_for(value).step)


def ended(gate: GateResult | None) -> bool:
    """Whether the gate ends the case, so that its other stages are not judged."""
    return gate is not None and gate.step != "go_on"


def gated_decision(policy: Policy, gate: GateResult) -> Decision:
    """The decision on a case that the gate ended: archived cases are rejected, quick reviews reviewed."""
    assert policy.cases is not None
    assert policy.cases.gate is not None
    if gate.value is None:
        words, reason = "The gate has no value.", str(gate.missing)
    else:
        words, reason = policy.cases.gate.step_for(gate.value).justification, f"relevance {gate.value:g}"
    why = f"the gate ended the case: {reason}"
    return Decision(
        action=Action.REJECT if gate.step == "archive" else Action.REVIEW,
        policy=policy.name,
        policy_digest=policy.digest,
        justification=f"{words} ({reason})",
        inputs=DecisionInputs(
            basis=policy.basis,
            confidence_rule=policy.confidence_rule,
            absent={"value": why, "confidence": why},
        ),
        gate="archive" if gate.step == "archive" else "quick_review",
    )


def _missing(gate: Gate, reason: str) -> GateResult:
    return GateResult(stage=gate.stage, value=None, step=gate.missing, missing=reason)
