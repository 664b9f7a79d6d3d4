"""What judging would take is what the run then asks; settings of vetting alone do not disturb it."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.judging.run import estimate_judging, grade_items, judge_items
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.session import Session
from tests.doubles.judging import item, verdict

ITEMS = [item(f"i{number}") for number in range(3)]
TWO = panel_config({"agents": [{"model": "openai:gpt-4o-mini"}, {"model": "anthropic:claude-sonnet-4-5"}]})


@pytest.mark.parametrize(
    ("options", "grade", "calls"),
    [({}, False, 12), ({"orders": "given"}, False, 6), ({"with_reference": True}, False, 12), ({}, True, 12)],
)
async def test_as_many_calls_as_the_run_makes(options, grade, calls):
    found = estimate_judging(TWO, ITEMS, grade=grade, **options)
    models = [ScriptedModel(lambda _request: verdict("A>B"), name=name) for name in ("one", "two")]
    async with Session(models) as session:
        await (grade_items if grade else judge_items)(session, ITEMS, **options)
    first_asked = [request for model in models for request in model.requests if len(request.messages) == 1]
    assert (found.calls, found.judgments) == (calls, calls) == (len(first_asked), calls)
    assert found.cost_usd > 0


def test_a_panel_for_vetting_is_no_obstacle_and_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    panel = panel_config(
        {
            "strategy": "majority_vote",
            "agents": [{"name": name, "model": "openai:gpt-4o", "role": "r"} for name in "ab"],
        }
    )
    assert estimate_judging(panel, ITEMS).by_agent.keys() == {"a", "b"}


def test_two_judges_of_one_name_are_refused():
    panel = panel_config({"agents": [{"model": "openai:gpt-4o"}] * 2})
    with pytest.raises(ConfigurationError, match="given more than once"):
        estimate_judging(panel, ITEMS)
