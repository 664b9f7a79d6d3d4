import pytest

from metajudge.cases.judge import CaseJudge
from metajudge.decision import case_rubric
from metajudge.errors import ModelTimeoutError
from metajudge.providers.scripted import ScriptedModel
from tests.cases.panels import NOW, RISK, panel, with_plan
from tests.doubles.cases import RELEVANCE, flood, scored


async def test_the_worked_example_9_00_and_8_47_make_8_74_and_approve():
    result = await panel().judge(flood(), now=NOW)
    relevance, analysis = result.stages
    assert relevance.weighted_score == pytest.approx(45 / 5)
    assert analysis.weighted_score == pytest.approx(80.5 / 9.5)
    assert round(analysis.weighted_score, 2) == 8.47
    assert round(result.overall_quality_score, 2) == 8.74
    assert (relevance.confidence_overall, analysis.confidence_overall) == pytest.approx((0.9325, 0.875))
    assert result.overall_confidence == pytest.approx(0.90375)
    assert result.action == result.decision.action == "APPROVE"
    assert result.metadata.weights_used == "climate"
    assert result.metadata.total_criteria_evaluated == 12
    assert result.metadata.evaluated_at == "2026-01-31T14:23:45+00:00"
    assert result.metadata.policy_digest == RISK.digest
    assert "8.737" in result.reasoning


async def test_weights_of_criteria_that_a_stage_does_not_have_are_not_divided_by():
    result = await panel().judge(flood(), now=NOW)
    assert result.stages[0].weighted_score != pytest.approx(45 / 9.5)
    assert sum(result.stages[0].weights.values()) == pytest.approx(1)
    assert set(result.stages[0].weights) == set(RELEVANCE)


@pytest.mark.parametrize(("kind", "expected"), [("regulatory", 54.8 / 6.0), ("geopolitical", 46.8 / 5.2)])
async def test_the_type_chooses_the_weights(kind, expected):
    result = await panel().judge(flood(type=kind), now=NOW)
    assert result.stages[0].weighted_score == pytest.approx(expected)
    assert result.metadata.weights_used == kind


async def test_several_judges_combine_by_plain_mean_and_stay_visible():
    low = {name: (score - 2, 0.5) for name, (score, _) in RELEVANCE.items()}
    result = await panel(scored(name="one"), scored(low, name="two")).judge(flood(), now=NOW)
    first = result.stages[0]
    assert first.criteria["traceability"].score == 9
    assert first.criteria["traceability"].confidence == pytest.approx(0.74)
    assert first.weighted_score == pytest.approx(8.0)
    assert [one.weighted_score for one in first.judges] == pytest.approx([9.0, 7.0])
    assert first.criteria["traceability"].comment == "one: About traceability.\ntwo: About traceability."


async def test_several_judges_combine_by_the_lowest_where_the_policy_says_so():
    low = {name: (score - 2, 0.5) for name, (score, _) in RELEVANCE.items()}
    judges = (scored(name="one"), scored(low, name="two"))
    result = await panel(*judges, policy=with_plan(judges="lowest")).judge(flood(), now=NOW)
    assert result.stages[0].weighted_score == pytest.approx(7.0)
    assert result.stages[0].confidence_overall == pytest.approx(0.5)


async def test_the_lowest_stage_decides_where_the_policy_says_so():
    policy = with_plan(overall_score="lowest_stage", overall_confidence="lowest_stage")
    result = await panel(policy=policy).judge(flood(), now=NOW)
    assert result.overall_quality_score == pytest.approx(80.5 / 9.5)
    assert result.overall_confidence == pytest.approx(0.875)
    assert result.action == "REVIEW"
    assert result.metadata.rules["overall_score"] == "lowest_stage"


async def test_a_majority_of_judges_carries_a_stage_and_half_of_them_does_not():
    down = CaseJudge("down", ScriptedModel(lambda _: ModelTimeoutError("no answer")))
    two_of_three = await panel(scored(name="a"), scored(name="b"), down).judge(flood(), now=NOW)
    assert two_of_three.action == "APPROVE"
    assert two_of_three.stages[0].judges[2].failure.kind == "timeout"
    one_of_two = await panel(scored(name="a"), down).judge(flood(), now=NOW)
    assert one_of_two.action == "REVIEW_PRIORITY"
    assert one_of_two.stages[0].failure is not None


async def test_a_criterion_that_does_not_apply_leaves_numerator_and_denominator():
    rubric = case_rubric(RISK)
    criteria = tuple(one.model_copy(update={"optional": one.name == "traceability"}) for one in rubric.criteria)
    without = {**RELEVANCE, "traceability": (None, None)}
    judged = panel(scored(without), rubric=rubric.model_copy(update={"criteria": criteria}))
    result = await judged.judge(flood(), now=NOW)
    assert result.stages[0].weighted_score == pytest.approx((9 + 12 + 9) / 3.5)
    assert result.stages[0].confidence_overall == pytest.approx((0.95 + 0.88 + 0.92) / 3)
    assert result.metadata.total_criteria_evaluated == 11
    assert "traceability" not in result.stages[0].weights
