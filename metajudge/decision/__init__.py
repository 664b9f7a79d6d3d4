"""Decision policies: bands over a score or a probability and a confidence, and what they say."""

from metajudge.decision.bands import Band, Outcome
from metajudge.decision.deciding import decide, decide_adjusted
from metajudge.decision.interval import Interval, Range
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
from metajudge.decision.policy import Missing, Policy, check_rubric
from metajudge.decision.profile import CasePlan, Gate, GateStep, Profile, StagePlan, category_key
from metajudge.decision.verdicts import agreement_of, criteria_of, decide_verdict, value_of
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs

__all__ = [
    "BUILTIN_POLICIES",
    "DEFAULT_CASE_POLICY",
    "VERIFIED_POLICY",
    "Absent",
    "Action",
    "Band",
    "CasePlan",
    "Decision",
    "DecisionInputs",
    "Gate",
    "GateStep",
    "Interval",
    "Missing",
    "Outcome",
    "Policy",
    "Profile",
    "Range",
    "StagePlan",
    "agreement_of",
    "case_rubric",
    "category_key",
    "check_rubric",
    "criteria_of",
    "decide",
    "decide_adjusted",
    "decide_verdict",
    "list_policies",
    "load_policy",
    "parse_draft",
    "parse_policy",
    "value_of",
]
