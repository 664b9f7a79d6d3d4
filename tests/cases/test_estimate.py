"""What judging cases would take, against what it takes."""

import pytest

from metajudge.cases.run import estimate_cases, judge_cases
from metajudge.decision import case_rubric
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.session import Session
from tests.cases.panels import RISK
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, reply

CASES = [flood("a"), flood("b", type="regulatory")]


async def test_as_many_calls_as_a_run_sends():
    config = panel_config({"agents": [{"name": name, "model": "openai:gpt-4o-mini"} for name in "xy"]})
    estimate = estimate_cases(config, RISK, case_rubric(RISK), CASES)

    def script(request):
        return reply(ANALYSIS if "completeness" in request.system else RELEVANCE)

    models = [ScriptedModel(script, name=name) for name in "xy"]
    async with Session(models, panel=config) as session:
        await judge_cases(session, CASES, policy=RISK)
    assert estimate.calls == sum(len(model.requests) for model in models) == 8
    assert estimate.judgments == 2


def test_no_agent_is_refused():
    with pytest.raises(ConfigurationError, match="no model to ask"):
        estimate_cases(panel_config({"agents": []}), RISK, case_rubric(RISK), CASES)
