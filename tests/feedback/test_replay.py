import numpy as np
import pytest

from metajudge.decision.deciding import decide
from metajudge.decision.policy import Policy
from metajudge.feedback.cases import actions
from metajudge.types.decision import Absent
from tests.doubles.decided_cases import POLICY, case

SURE = Policy.model_validate(
    {
        **POLICY.model_dump(mode="json"),
        "bands": [
            {"action": "APPROVE", "value": {"at_least": 0.7}, "confidence": {"at_least": 0.8}, "justification": "x"},
            {"action": "REVIEW", "value": {"at_least": 0.7}, "confidence": {"below": 0.8}, "justification": "x"},
            {"action": "REVIEW_PRIORITY", "value": {"at_least": 0.4, "below": 0.7}, "justification": "x"},
            {"action": "REJECT", "value": {"below": 0.4}, "justification": "x"},
        ],
    }
)


@pytest.mark.parametrize("policy", [POLICY, SURE])
def test_a_replay_decides_as_the_policy_does(policy):
    rng = np.random.default_rng(0)
    values = [None, 0.4, 0.7, 0.7 - 1e-10, 0.7 - 1e-8, *rng.random(40).tolist()]
    sure = [None, 0.8, 0.8 - 1e-10, 0.2, 1.0]
    cases = [
        case(f"c{i}", probability=p, confidence=c) for i, (p, c) in enumerate((p, c) for p in values for c in sure)
    ]
    expected = [
        decide(
            policy,
            Absent("none") if one.probability is None else one.probability,
            Absent("none") if one.confidence is None else one.confidence,
        ).action.value
        for one in cases
    ]
    assert actions(policy, cases) == expected
