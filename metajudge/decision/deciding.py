"""From a value and a confidence to a decision."""

from collections.abc import Mapping, Sequence

from metajudge.decision.bands import Band, Outcome, margin
from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs
from metajudge.types.interval import UNIT, Range, exact


def decide(
    policy: Policy, value: float | Absent, confidence: float | Absent, quotes: float | Absent | None = None
) -> Decision:
    """What a policy says about a value with a confidence, compared after rounding to 1e-9.

    Where a number is absent, none takes its place: without a value ``missing.value`` decides. Without a confidence
    ``without_confidence`` does where the policy has such bands; else an action that every confidence would lead to
    stands, and where it depends on the confidence ``missing.confidence`` decides. Without quotes, an action that every
    share of verified quotes would lead to stands, else ``missing.quotes`` decides.

    Args:
        value: the score on the policy's scale, or the probability.
        confidence: in [0, 1].
        quotes: share of verified quotes, in [0, 1]; not looked at where the policy's bands do not.

    Raises:
        InputError: a value off the scale, or a confidence or share outside 0..1.
    """
    share = _share(policy, quotes)
    inputs = _inputs(policy, value, confidence, share)
    if isinstance(value, Absent):
        return _missing(policy, policy.missing.value, inputs, f"no {policy.basis}: {value.reason}")
    at, sure = exact(value), None if isinstance(confidence, Absent) else exact(confidence)
    found = None if share is None or isinstance(share, Absent) else exact(share)
    bands = bands_for(policy, confidence)
    own = bands is policy.bands
    possible = [(index, band) for index, band in enumerate(bands) if band.contains(at, sure, found)]
    if len({band.action for _, band in possible}) > 1:
        return _undecided(policy, confidence, share, bands, inputs)
    index, band = possible[0]
    whole = (sure is None and own) or isinstance(share, Absent)  # an absent number that does not matter here
    near = None if whole else margin(bands, policy.scale, at, sure, found)
    return _decision(
        policy, band.action, band.justification, inputs, index if own and len(possible) == 1 else None, near
    )


def decide_adjusted(
    policy: Policy,
    value: float | Absent,
    confidence: float | Absent,
    criteria: Mapping[str, float],
    weights: Mapping[str, float],
    quotes: float | Absent | None = None,
) -> Decision:
    """The same, after the corrections that the policy learned from human decisions, where it has any.

    Args:
        criteria: criterion -> score that ``value`` was computed from; empty if missing.
        weights: criterion -> weight it had in ``value``.
        quotes: see :func:`decide`.
    """
    learned = policy.adjustment
    if learned is None:
        return decide(policy, value, confidence, quotes)
    before: dict[str, float] = {}
    if not isinstance(value, Absent):
        _require(value, policy.scale, policy.basis, policy)
        before["unadjusted"] = value
        value = learned.apply(value, policy.scale, criteria, weights)
    if learned.confidence is not None and not isinstance(confidence, Absent):
        _require(confidence, UNIT, "confidence", policy)
        before["stated_confidence"] = confidence
        confidence = learned.confidence.apply(confidence)
    decision = decide(policy, value, confidence, quotes)
    return decision.model_copy(update={"inputs": decision.inputs.model_copy(update=before)})


def bands_for(policy: Policy, confidence: float | Absent) -> tuple[Band, ...]:
    """The bands that are looked at: those for where there is no confidence, if the policy has them and it is absent."""
    return policy.without_confidence if isinstance(confidence, Absent) and policy.without_confidence else policy.bands


def _share(policy: Policy, quotes: float | Absent | None) -> float | Absent | None:
    """The share of verified quotes, as far as the policy looks at it."""
    if not policy.uses_quotes:
        return None
    return Absent("no quotes are known") if quotes is None else quotes


def _undecided(
    policy: Policy,
    confidence: float | Absent,
    quotes: float | Absent | None,
    bands: Sequence[Band],
    inputs: DecisionInputs,
) -> Decision:
    """The decision where an absent number would matter: the confidence's rule goes first where both are absent."""
    if isinstance(confidence, Absent) and bands is policy.bands:
        return _missing(policy, policy.missing.confidence, inputs, f"no confidence: {confidence.reason}")
    assert isinstance(quotes, Absent), "bands cover every point once"
    return _missing(policy, policy.missing.quotes, inputs, f"no verified quotes: {quotes.reason}")


def _inputs(
    policy: Policy, value: float | Absent, confidence: float | Absent, quotes: float | Absent | None
) -> DecisionInputs:
    absent = {}
    if isinstance(value, Absent):
        absent["value"] = value.reason
    else:
        _require(value, policy.scale, policy.basis, policy)
    if isinstance(confidence, Absent):
        absent["confidence"] = confidence.reason
    else:
        _require(confidence, UNIT, "confidence", policy)
    if isinstance(quotes, Absent):
        absent["quotes"] = quotes.reason
    elif quotes is not None:
        _require(quotes, UNIT, "share of verified quotes", policy)
    return DecisionInputs(
        basis=policy.basis,
        value=None if isinstance(value, Absent) else value,
        confidence=None if isinstance(confidence, Absent) else min(max(confidence, 0.0), 1.0),
        quotes=None if isinstance(quotes, Absent) else quotes,
        confidence_rule=policy.confidence_rule,
        absent=absent,
    )


def _require(number: float, axis: Range, what: str, policy: Policy) -> None:
    if isinstance(number, bool) or not axis.contains(number):  # not a number is outside as well
        raise InputError(f"{what} {number!r} lies outside {axis}: policy {policy.name!r} cannot decide on it")


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
