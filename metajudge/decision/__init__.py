"""Decision policies: bands over a score or a probability and a confidence, and what they say."""

from metajudge.decision.deciding import decide, decide_adjusted, decide_verdict
from metajudge.decision.load import (
    BUILTIN_POLICIES,
    DEFAULT_CASE_POLICY,
    VERIFIED_POLICY,
    case_rubric,
    list_policies,
    load_policy,
    parse_draft,
    parse_policy,
)
from metajudge.decision.policy import Policy
from metajudge.decision.profile import CasePlan, Gate, Profile, StagePlan
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs
from metajudge.types.interval import Range

__all__ = [
    "BUILTIN_POLICIES",
    "DEFAULT_CASE_POLICY",
    "VERIFIED_POLICY",
    "Absent",
    "Action",
    "CasePlan",
    "Decision",
    "DecisionInputs",
    "Gate",
    "Policy",
    "Profile",
    "Range",
    "StagePlan",
    "case_rubric",
    "decide",
    "decide_adjusted",
    "decide_verdict",
    "list_policies",
    "load_policy",
    "parse_draft",
    "parse_policy",
]
