"""What tips a decision: each sentence is true when its number is changed."""

import re

import pytest

from metajudge.decision import load_policy
from tests.cases.panels import NOW, RISK, panel, with_plan
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, scored


async def judged(relevance=RELEVANCE, analysis=ANALYSIS, policy=RISK, **changes):
    return await panel(scored(relevance, analysis), policy=policy).judge(flood(**changes), now=NOW)


@pytest.mark.parametrize("policy", [RISK, with_plan(overall_score="lowest_stage", overall_confidence="lowest_stage")])
@pytest.mark.parametrize("score", [9, 8, 6])
async def test_one_number_changed_as_a_sentence_says_gives_its_action_and_a_nearer_one_does_not(policy, score):
    tables = {"relevance": RELEVANCE, "analysis": dict.fromkeys(ANALYSIS, (score, 0.86))}
    result = await judged(**tables, policy=policy)
    found = [
        re.match(r"Score of (\w+) \((\w+)\) (\S+): at (\S+) the action would be (\w+)\.", tip) for tip in result.tips
    ]
    (match,) = [one for one in found if one is not None] or [None]
    if match is None:
        assert "No change of one criterion's score alone leads to another action." in result.tips
        return
    name, stage, old, new, action = match.groups()
    key = "relevance" if stage == "relevance_check" else "analysis"

    async def with_score(value):
        table = {**tables[key], name: (value, tables[key][name][1])}
        return (await judged(**{**tables, key: table}, policy=policy)).action

    assert await with_score(int(new)) == action != result.action
    nearer = int(new) + (1 if int(new) < float(old) else -1)
    assert await with_score(nearer) == result.action


async def test_quotes_tip_a_decision_where_the_policy_looks_at_them():
    policy = load_policy("risk_analysis_verified")
    judge = scored(evidence=("Stock lasts 14 days",), relevance=RELEVANCE)
    result = await panel(judge, policy=policy).judge(flood(), now=NOW)
    assert result.action == "REVIEW_PRIORITY"  # the first stage's text does not have the words
    assert any(tip.startswith("Share of verified quotes 0.6667: at 0.75 or above") for tip in result.tips)
    assert "67 % of quotes verified" in result.reasoning
