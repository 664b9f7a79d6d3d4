"""Scores of criteria, what may be released, what tips a decision, and what a person reads."""

import re

import pytest

from metajudge.cases.judge import CaseJudge
from metajudge.cases.records import review_of
from metajudge.cases.result import RESULT, content_of, kept_result, quotes_in, stage_texts
from metajudge.decision import case_rubric, load_policy
from metajudge.errors import InputError, ModelTimeoutError
from metajudge.providers.scripted import ScriptedModel
from tests.cases.panels import NOW, RISK, panel, with_plan
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, scored


async def test_the_worked_example_approves_and_no_weight_of_an_absent_criterion_divides():
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
    result = await panel().judge(flood(), now=NOW)
    assert result.stages[0].weighted_score != pytest.approx(45 / 9.5)
    assert sum(result.stages[0].weights.values()) == pytest.approx(1)
    assert set(result.stages[0].weights) == set(RELEVANCE)


@pytest.mark.parametrize(("kind", "expected"), [("regulatory", 54.8 / 6.0), ("geopolitical", 46.8 / 5.2)])
async def test_the_type_chooses_the_weights(kind, expected):
    result = await panel().judge(flood(type=kind), now=NOW)
    assert result.stages[0].weighted_score == pytest.approx(expected)
    assert result.metadata.weights_used == kind


async def test_several_judges_combine_by_plain_mean_or_the_lowest_and_stay_visible():
    low = {name: (score - 2, 0.5) for name, (score, _) in RELEVANCE.items()}
    result = await panel(scored(name="one"), scored(low, name="two")).judge(flood(), now=NOW)
    first = result.stages[0]
    assert first.criteria["traceability"].score == 9
    assert first.criteria["traceability"].confidence == pytest.approx(0.74)
    assert first.weighted_score == pytest.approx(8.0)
    assert [one.weighted_score for one in first.judges] == pytest.approx([9.0, 7.0])
    assert first.criteria["traceability"].comment == "one: About traceability.\ntwo: About traceability."
    low = {name: (score - 2, 0.5) for name, (score, _) in RELEVANCE.items()}
    judges = (scored(name="one"), scored(low, name="two"))
    result = await panel(*judges, policy=with_plan(judges="lowest")).judge(flood(), now=NOW)
    assert result.stages[0].weighted_score == pytest.approx(7.0)
    assert result.stages[0].confidence_overall == pytest.approx(0.5)


async def test_the_lowest_stage_decides_by_policy_and_a_majority_of_judges_carries_a_stage():
    policy = with_plan(overall_score="lowest_stage", overall_confidence="lowest_stage")
    result = await panel(policy=policy).judge(flood(), now=NOW)
    assert result.overall_quality_score == pytest.approx(80.5 / 9.5)
    assert result.overall_confidence == pytest.approx(0.875)
    assert result.action == "REVIEW"
    assert result.metadata.rules["overall_score"] == "lowest_stage"
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


def with_gate(**changes):
    return with_plan(gate={**RISK.cases.gate.model_dump(mode="json"), **changes})


def gated(relevance, *, place="context"):
    stages = [stage.model_dump() for stage in flood().stages]
    stages[0][place] = {"relevance": relevance}
    return flood(stages=stages)


@pytest.mark.parametrize(
    ("relevance", "action", "gate"),
    [
        (0.0, "REJECT", "archive"),
        (0.4999, "REJECT", "archive"),
        (0.5, "REVIEW", "quick_review"),
        (0.6999, "REVIEW", "quick_review"),
        (0.7, "APPROVE", None),
        (1, "APPROVE", None),
    ],
)
async def test_the_gates_boundaries(relevance, action, gate):
    judge = scored()
    result = await panel(judge).judge(gated(relevance), now=NOW)
    assert (result.action, result.decision.gate) == (action, gate)
    assert result.gate.value == relevance
    assert len(judge.model.requests) == (2 if gate is None else 0), "a case the gate ends costs nothing"
    if gate is not None:
        assert result.overall_quality_score is None
        assert gate in result.absent["overall_quality_score"]


async def test_without_a_stated_relevance_a_case_goes_on_and_one_that_the_gate_ends_needs_no_later_stage():
    result = await panel().judge(flood(), now=NOW)
    assert result.gate.value is None
    assert result.gate.step == "go_on"
    assert "states no relevance" in result.reasoning
    case = gated(0.2)
    result = await panel().judge(case.model_copy(update={"stages": case.stages[:1]}), now=NOW)
    assert result.decision.gate == "archive"


@pytest.mark.parametrize("relevance", [1.2, -0.1, True, "0.9", None])
def test_a_relevance_that_is_no_number_from_0_to_1_is_refused(relevance):
    with pytest.raises(InputError, match="relevance of stage 'relevance_check' must be a number from 0 to 1"):
        panel().check(gated(relevance))


def test_two_different_relevances_are_refused():
    stages = [stage.model_dump() for stage in flood().stages]
    stages[0] |= {"context": {"relevance": 0.4}, "output": {"relevance": 0.8}}
    with pytest.raises(InputError, match="state it in one of them"):
        panel().check(flood(stages=stages))


async def test_a_gate_by_score_judges_its_stage_first_and_spares_the_others():
    low = dict.fromkeys(RELEVANCE, (4, 0.9))
    judge = scored(low)
    result = await panel(judge, policy=with_gate(value="score")).judge(flood(), now=NOW)
    assert result.gate.value == pytest.approx(0.4)
    assert result.decision.gate == "archive"
    assert [stage.name for stage in result.stages] == ["relevance_check"]
    assert len(judge.model.requests) == 1
    good = await panel(policy=with_gate(value="score")).judge(flood(), now=NOW)
    assert good.gate.value == pytest.approx(0.9)
    assert good.action == "APPROVE"


# What tips a decision: each sentence is true when its number is changed.
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


# What a person reads of a judged case.
UNSURE = dict.fromkeys(ANALYSIS, (8, 0.2))
QUOTED = ("Stock lasts 14 days", "the flood", "Nobody ever wrote this.")


async def judged_case(*judges, case=None):
    return await panel(*(judges or (scored(evidence=QUOTED, weaknesses=("no costs",)),))).judge(
        case or flood(), now=NOW
    )


async def test_invented_quotes_are_counted_and_warned_of():
    result = await judged_case()
    quotes = quotes_in(result.stages)
    assert (quotes.given, quotes.found, quotes.short, quotes.invented) == (36, 8, 12, 16)
    assert result.warnings == (quotes.warning,)
    assert quotes.warning.startswith("16 of 36 quotes given as evidence are invented")
    assert quotes.warning.endswith("12 of 36 quotes given as evidence are too short to prove anything.")
    first = next(iter(result.stages[1].criteria.values()))
    assert {quote.where for quote in first.evidence} == {
        "in the output",
        "not in the text",
        "too short to prove anything",
    }
    assert quotes_in((await judged_case(scored())).stages).warning is None


async def test_reviews_old_and_new_keep_the_whole_result_or_still_show_their_texts():
    case = flood(label=True)
    result = await judged_case(scored(analysis=UNSURE, evidence=QUOTED), case=case)
    review = review_of(result, case, RISK, 1.0)
    assert kept_result(review.content) == result
    assert review.truth is True
    assert list(stage_texts(review.content)) == ["relevance_check", "risk_analysis"]
    content = content_of(flood(), await judged_case())
    older = {name: texts for name, texts in content.items() if name != RESULT}
    later = {**content, RESULT: {"version": 99}}
    assert kept_result(older) is kept_result(later) is None
    assert stage_texts(older) == stage_texts(later) == stage_texts(content)
    assert stage_texts(older)["relevance_check"][1].startswith("The plant stands")
    assert stage_texts({}) == stage_texts(None) == {}
