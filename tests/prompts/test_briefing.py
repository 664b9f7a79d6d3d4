"""What a policy tells judges beside the rubric."""

from metajudge.cases.judge import briefing_of
from metajudge.decision import case_rubric
from metajudge.prompts.briefing import Briefing, render_briefing
from metajudge.prompts.case import render_case_system
from tests.cases.panels import RISK, panel, with_plan
from tests.doubles.cases import scored

TOLD = {
    "company": "Makes seals in Bangkok.",
    "priorities": ["Production goes on.", "No supplier is lost."],
    "language": "French",
    "instructions": {"completeness": "Look at the customers."},
}


def test_each_part_is_said_and_nothing_where_it_is_not_set():
    text = render_briefing(briefing_of(with_plan(**TOLD).cases, ["completeness", "traceability"]))
    assert "About the company: Makes seals in Bangkok." in text
    assert "1. Production goes on.\n2. No supplier is lost." in text
    assert "Look at the customers." in text
    assert "in this language: French" in text
    alone = render_briefing(Briefing(language="French"))
    assert "company" not in alone


def test_a_policy_without_a_briefing_sends_the_same_bytes_under_the_same_digest():
    assert briefing_of(RISK.cases, RISK.cases.criteria) is None
    rubric = case_rubric(RISK)
    assert render_case_system(rubric, "x") == render_case_system(rubric, "x", None)
    plain, told = panel(scored()), panel(scored(), policy=with_plan(**TOLD))
    assert plain.prompt_digest != told.prompt_digest
    assert plain.policy.digest == RISK.digest != told.policy.digest


def test_an_instruction_about_a_criterion_is_told_only_where_it_is_scored():
    plan = with_plan(instructions=TOLD["instructions"]).cases
    assert briefing_of(plan, plan.stages[0].criteria) is None
    assert briefing_of(plan, plan.stages[1].criteria).instructions == ("Look at the customers.",)


def test_level_texts_of_a_policy_stand_in_place_of_the_rubrics():
    policy = with_plan(levels={"completeness": {"10": "Everything, with figures."}})
    rubric = case_rubric(policy)
    (changed,) = [one for one in rubric.criteria if one.name == "completeness"]
    assert changed.levels[10] == "Everything, with figures."
    assert changed.levels[7] == next(o for o in case_rubric(RISK).criteria if o.name == "completeness").levels[7]
    assert rubric.digest != case_rubric(RISK).digest
