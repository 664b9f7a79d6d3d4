"""Panels over the shipped policy for risks, and changes of it."""

from datetime import UTC, datetime

from metajudge.cases.panel import CasePanel
from metajudge.decision import Policy, case_rubric, load_policy
from tests.doubles.cases import scored

NOW = datetime(2026, 1, 31, 14, 23, 45, tzinfo=UTC)


RISK = load_policy("risk_analysis")


def panel(*judges, policy=RISK, rubric=None):
    return CasePanel(judges or (scored(),), policy, rubric or case_rubric(RISK))


def with_plan(**changes):
    data = RISK.model_dump(mode="json")
    return Policy.model_validate({**data, "cases": {**data["cases"], **changes}})
