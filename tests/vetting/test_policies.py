"""Panels and policies that do not go together: said before anything is asked."""

import pytest

from metajudge.decision import load_policy
from metajudge.panels.building import build_vetter
from metajudge.panels.config import panel_config
from metajudge.providers.stack import Resources
from metajudge.vetting.policies import mismatch


def panel(**given):
    config = panel_config({"agents": [{"model": "openai:a"}, {"model": "openai:b"}], **given})
    return build_vetter(config, Resources(key_for=lambda _spec: "not-sent"), early_exit=False).default


@pytest.mark.parametrize(
    ("policy", "given", "calibrated", "said"),
    [
        ("verdict_score", {}, False, None),
        ("verdict_score", {"strategy": "majority_vote"}, False, "strategy majority_vote gives votes"),
        ("verdict_score", {"strategy": "panel_discussion"}, False, "strategy panel_discussion gives votes"),
        ("verdict_score", {"strategy": "panel_discussion", "discussion": {"aggregate": "average"}}, False, None),
        ("verdict", {}, False, "there is no calibration: every decision is REVIEW_PRIORITY"),
        ("verdict", {"strategy": "majority_vote"}, True, None),
    ],
)
def test_a_pair_whose_decisions_would_mean_little_is_named_with_what_to_do(policy, given, calibrated, said):
    found = mismatch(load_policy(policy), [panel(**given)], calibrated=calibrated)
    assert (found is None) if said is None else (said in found and "(give " in found)
