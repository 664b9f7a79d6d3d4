"""A policy on vetted judgments: what it decides on, and how far a panel's agents agree.

The confidence of a verdict's decision is the agreement of the agents who gave a score, by one of two rules:

- ``same_side``: the share of them on the more frequent side of the threshold, ``max(k, m - k) / m`` where ``k`` of
  ``m`` agents score above it (strictly, as acceptance does); from 1/2 to 1. Agents' weights play no part.
- ``range``: ``1 - (max S_i - min S_i) / (high - low)`` of the rubric's scale, which the policy's ``scale`` states;
  from 0 to 1. For policies over a score alone.

With fewer than two scores there is no agreement: the policy's rules for a missing confidence decide. In a discussion
the agents' revised scores count.
"""

import math
from collections.abc import Mapping

from metajudge.decision.deciding import decide_adjusted
from metajudge.decision.policy import Policy
from metajudge.types.assessment import Assessment
from metajudge.types.decision import Absent, Decision
from metajudge.types.interval import exact


def decide_verdict(policy: Policy, assessment: Assessment, weights: Mapping[str, float] | None = None) -> Decision:
    """What a policy says about a vetted judgment.

    Args:
        weights: criterion -> weight of the panel's rubric, which a policy with learned offsets weighs them by.

    Raises:
        InputError: a score off the policy's scale, which is then not the scale of the panel's rubric.
    """
    value, agreement = value_of(policy, assessment), agreement_of(policy, assessment)
    return decide_adjusted(policy, value, agreement, criteria_of(assessment), weights or {})


def criteria_of(assessment: Assessment) -> dict[str, float]:
    """Criterion -> mean score over the agents who scored it, in order of appearance."""
    scores: dict[str, list[float]] = {}
    for agent in assessment.agents:
        for name, criterion in (agent.criteria or {}).items():
            if criterion.score is not None:
                scores.setdefault(name, []).append(criterion.score)
    return {name: math.fsum(given) / len(given) for name, given in scores.items()}


def value_of(policy: Policy, assessment: Assessment) -> float | Absent:
    """The number a policy decides on: the assessment's probability or final score."""
    if policy.basis == "probability":
        if assessment.probability is not None:
            return assessment.probability
        marks = ", ".join(assessment.probability_marks)
        return Absent(marks or "the judgment was vetted without a calibration (vet --calibration FILE)")
    if assessment.final_score is not None:
        return assessment.final_score
    if assessment.failure is not None:
        return Absent(f"{assessment.failure.kind}: {assessment.failure.message}")
    return Absent("asking stopped early, once the decision was certain")


def agreement_of(policy: Policy, assessment: Assessment) -> float | Absent:
    """The agents' agreement by the policy's rule, see the module."""
    scores = [agent.score for agent in assessment.agents if agent.score is not None]
    if len(scores) < 2:
        return Absent(
            f"agreement needs two agents with a score, and there {'is' if len(scores) == 1 else 'are'} {len(scores)}"
        )
    if policy.agreement == "range":
        return min(max(1 - (max(scores) - min(scores)) / policy.scale.width, 0.0), 1.0)
    above = sum(exact(score) > exact(assessment.threshold) for score in scores)
    return max(above, len(scores) - above) / len(scores)
