"""From a value and a confidence to a decision."""

from collections.abc import Mapping

from metajudge.decision.bands import Band, Outcome, margin
from metajudge.decision.interval import UNIT, Range, exact
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs


def decide(policy: Policy, value: float | Absent, confidence: float | Absent) -> Decision:
    """What a policy says about a value with a confidence, compared after rounding to 1e-9.

    Where a number is absent, none takes its place: without a value ``missing.value`` decides. Without a confidence
    ``without_confidence`` does where the policy has such bands; else an action that every confidence would lead to
    stands, and where it depends on the confidence ``missing.confidence`` decides.

    Args:
        value: the score on the policy's scale, or the probability.
        confidence: in [0, 1].

    Raises:
        InputError: a value off the scale, or a confidence outside 0..1.
    """
    inputs = _inputs(policy, value, confidence)
    if isinstance(value, Absent):
        return _missing(policy, policy.missing.value, inputs, f"no {policy.basis}: {value.reason}")
    if isinstance(confidence, Absent):
        return _unsure(policy, value, confidence, inputs)
    at, sure = exact(value), exact(confidence)
    index = next(i for i, band in enumerate(policy.bands) if band.contains(at, sure))
    near = margin(policy.bands, policy.scale, at, sure)
    return _banded(policy, policy.bands[index], index, inputs, near)


def decide_adjusted(
    policy: Policy,
    value: float | Absent,
    confidence: float | Absent,
    criteria: Mapping[str, float],
    weights: Mapping[str, float],
) -> Decision:
    """The same, after the corrections that the policy learned from human decisions, where it has any.

    Args:
        criteria: criterion -> score that ``value`` was computed from; empty if missing.
        weights: criterion -> weight it had in ``value``.
    """
    if policy.adjustment is None or isinstance(value, Absent):
        return decide(policy, value, confidence)
    _require(value, policy.scale, policy.basis, policy)
    decision = decide(policy, policy.adjustment.apply(value, policy.scale, criteria, weights), confidence)
    return decision.model_copy(update={"inputs": decision.inputs.model_copy(update={"unadjusted": value})})


def _unsure(policy: Policy, value: float, confidence: Absent, inputs: DecisionInputs) -> Decision:
    at = exact(value)
    if policy.without_confidence:
        band = next(band for band in policy.without_confidence if band.value.contains(at))
        near = margin(policy.without_confidence, policy.scale, at, None)
        return _banded(policy, band, None, inputs, near)
    possible = [(i, band) for i, band in enumerate(policy.bands) if band.value.contains(at)]
    if len({band.action for _, band in possible}) == 1:
        index, band = possible[0]
        return _banded(policy, band, index if len(possible) == 1 else None, inputs, None)
    return _missing(policy, policy.missing.confidence, inputs, f"no confidence: {confidence.reason}")


def _inputs(policy: Policy, value: float | Absent, confidence: float | Absent) -> DecisionInputs:
    absent = {}
    if isinstance(value, Absent):
        absent["value"] = value.reason
    else:
        _require(value, policy.scale, policy.basis, policy)
    if isinstance(confidence, Absent):
        absent["confidence"] = confidence.reason
    else:
        _require(confidence, UNIT, "confidence", policy)
    return DecisionInputs(
        basis=policy.basis,
        value=None if isinstance(value, Absent) else value,
        confidence=None if isinstance(confidence, Absent) else min(max(confidence, 0.0), 1.0),
        confidence_rule=policy.confidence_rule,
        absent=absent,
    )


def _require(number: float, axis: Range, what: str, policy: Policy) -> None:
    if isinstance(number, bool) or not axis.contains(number):  # not a number is outside as well
        raise InputError(f"{what} {number!r} lies outside {axis}: policy {policy.name!r} cannot decide on it")


def _banded(policy: Policy, band: Band, index: int | None, inputs: DecisionInputs, near: float | None) -> Decision:
    return _decision(policy, band.action, band.justification, inputs, index, near)


def _missing(policy: Policy, outcome: Outcome, inputs: DecisionInputs, reason: str) -> Decision:
    return _decision(policy, outcome.action, f"{outcome.justification} ({reason})", inputs)


def _decision(
    policy: Policy,
    action: Action,
    justification: str,
    inputs: DecisionInputs,
    index: int | None = None,
    near: float | None = None,
) -> Decision:
    return Decision(
        action=action,
        policy=policy.name,
        policy_digest=policy.digest,
        justification=justification,
        inputs=inputs,
        band=index,
        margin=near,
    )
