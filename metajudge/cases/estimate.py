"""What judging cases would take, without sending anything."""

from collections.abc import Sequence

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge
from metajudge.decision import Policy
from metajudge.panels.config import PanelConfig
from metajudge.rubric import Rubric
from metajudge.runs.estimate import CRITERION_TOKENS, Estimate, prices_of, size_of
from metajudge.session import Session


def estimate_cases(config: PanelConfig, policy: Policy, rubric: Rubric, cases: Sequence[Case]) -> Estimate:
    """What it takes to have agents judge cases, should no gate end one.

    Raises:
        ConfigurationError: agents that make no sense together (no key is needed).
    """
    models = Session.for_estimate(config).models()
    plan = policy.cases
    assert plan is not None, "checked when the policy was chosen"
    judges = [CaseJudge(one.name, one.model, one.parameters, one.prompt_version, plan) for one in models]
    prices = prices_of(config.agents)
    estimate = Estimate.at(prices)
    for case in cases:
        estimate.judgments += 1
        for stage in plan.stages:
            given = case.stage(stage.name)
            if given is None:
                continue
            for judge in judges:
                size = size_of(judge.request(case, given, stage, rubric.only(stage.criteria)))
                estimate.add(judge.name, prices, size, CRITERION_TOKENS * len(stage.criteria))
    return estimate
