"""A change of policy in words."""

from metajudge.decision.adjustment import Adjustment
from metajudge.decision.policy import Policy


def describe_change(before: Policy, after: Policy) -> str:
    """What is different, in one line."""
    changes = []
    for old, new in zip(before.bands, after.bands, strict=False):
        if old.value != new.value:
            changes.append(f"{new.action.value}: {before.basis} {old.value} becomes {new.value}")
    was, now = before.adjustment or Adjustment(), after.adjustment or Adjustment()
    if now.recalibration != was.recalibration and now.recalibration is not None:
        fitted = now.recalibration
        changes.append(f"probabilities recalibrated: logit p' = {fitted.intercept:+.3g} + {fitted.slope:.3g} logit p")
    moved = {name: value for name, value in now.offsets.items() if was.offsets.get(name) != value}
    if moved:
        changes.append("offsets " + ", ".join(f"{name} {value:+.3g}" for name, value in moved.items()))
    if now.weights != was.weights and now.weights:
        changes.append("weights " + ", ".join(f"{name} {value:.3g}" for name, value in now.weights.items()))
    return "; ".join(changes) or "no change"
