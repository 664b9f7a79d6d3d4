"""Cases that made-up people decided, under a policy over a probability."""

import numpy as np

from metajudge.decision.policy import Policy
from metajudge.feedback.cases import DecidedCase, replayed
from metajudge.reviews.review import HumanDecision, PolicyUsed

POLICY = Policy.model_validate(
    {
        "name": "careful",
        "title": "Made up",
        "description": "Three bands over a probability.",
        "basis": "probability",
        "bands": [
            {"action": "APPROVE", "value": {"at_least": 0.7}, "justification": "likely right"},
            {"action": "REVIEW", "value": {"at_least": 0.4, "below": 0.7}, "justification": "doubtful"},
            {"action": "REJECT", "value": {"below": 0.4}, "justification": "likely wrong"},
        ],
    }
)

SCORES = Policy.model_validate(
    {
        **POLICY.model_dump(mode="json"),
        "name": "scored",
        "basis": "score",
        "scale": {"low": 1, "high": 5},
        "bands": [
            {"action": "APPROVE", "value": {"at_least": 4.0}, "justification": "good"},
            {"action": "REVIEW", "value": {"at_least": 3.0, "below": 4.0}, "justification": "doubtful"},
            {"action": "REJECT", "value": {"below": 3.0}, "justification": "bad"},
        ],
    }
)


def said(case_id, outcome, reviewer="ada", **changes):
    return HumanDecision(review_id=case_id, reviewer=reviewer, outcome=outcome, decided_at=1.0, **changes)


def case(case_id="c1", action="APPROVE", right=True, **changes):
    """A case whose reviewer approves it where it is right."""
    outcome = "cannot_tell" if right is None else "approve" if right else "reject"
    fields = {"question": f"q-{case_id}", "decisions": (said(case_id, outcome),)}
    used = PolicyUsed(name=POLICY.name, digest=POLICY.digest)
    return DecidedCase(
        **{
            "case_id": case_id,
            "action": action,
            "right": right,
            "policy": used.name,
            "policy_digest": used.digest,
            **fields,
            **changes,
        }
    )


def crowd(n, seed, noise=0.1, policy=POLICY, bias=0.0):
    """[n] cases; right with the stated probability (less ``bias``), people err with ``noise``; None: pure noise."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        p = float(rng.beta(3, 1.5))
        right = rng.random() < (0.5 if noise is None else p - bias)
        if noise is not None and rng.random() < noise:
            right = not right
        name = f"c{number}"
        found.append(case(name, right=bool(right), question=f"q{number // 2}", probability=round(p, 6)))
    return replayed(policy, found)
