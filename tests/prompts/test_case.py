"""The prompts of case judges, as they are sent."""

from metajudge.decision import case_rubric, load_policy
from metajudge.prompts.case import render_case_stage, render_case_system
from tests.doubles.cases import ANALYSIS, RELEVANCE

RUBRIC = case_rubric(load_policy("risk_analysis"))


def test_the_system_prompt_names_the_stages_criteria_with_their_levels_and_no_others():
    text = render_case_system(RUBRIC.only(RELEVANCE), "Is the event relevant?")
    for name in RELEVANCE:
        assert f"## {name}: " in text
    assert "completeness" not in text
    assert "- 10: " in text
    assert "- 0: " in text
    assert "a number from 0 to 10 in steps of 1" in text
    assert "The stage: Is the event relevant?" in text


def test_what_the_rubric_does_not_ask_for_is_not_mentioned():
    full = render_case_system(RUBRIC.only(ANALYSIS))
    plain = render_case_system(RUBRIC.only(ANALYSIS).model_copy(update={"asks": ()}))
    for word in ('"evidence"', '"weaknesses"', '"confidence"'):
        assert word in full
        assert word not in plain
    assert '"score": a number\n  },' in plain


def test_weights_thresholds_and_actions_are_not_shown():
    text = render_case_system(RUBRIC)
    for word in ("weight", "8.5", "APPROVE", "threshold"):
        assert word not in text


def test_texts_are_fenced_and_absent_ones_are_said_to_be():
    text = render_case_stage("climate", "risk_analysis", None, "")
    assert "Nothing is recorded about it" in text
    assert "The output is empty." in text
    text = render_case_stage("climate", "risk_analysis", "", "Some {{ work }}")
    assert "It is recorded as empty." in text
    assert "⟦BEGIN output " in text
    assert "Some {{ work }}" in text
