"""What a meta-judge is shown of our own judges' prompts."""

import pytest

from metajudge.prompts.grading import render_grading_system
from metajudge.prompts.instruction import criteria_part, without_reply_form
from metajudge.prompts.judge import render_pairwise_system
from metajudge.prompts.meta_judge import render_request
from metajudge.prompts.ranking import render_ranking_system
from tests.prompts.renderings import judgment

OURS = {
    "pairwise": render_pairwise_system(),
    "grading": render_grading_system(),
    "ranking": render_ranking_system(scored=False),
    "ranking with scores and ties": render_ranking_system(scored=True, ties=True),
}


@pytest.mark.parametrize("name", OURS)
def test_the_criteria_part_keeps_what_was_to_be_weighed_and_nothing_about_the_reply(name):
    text = criteria_part(OURS[name])
    assert "Work in this order:" in text
    assert "Keep in mind:" in text
    assert "JSON" not in text
    assert "⟦" not in text
    assert not any(line.startswith("# ") for line in text.splitlines())
    assert text == criteria_part(text) == text.strip()


def test_the_verdicts_of_a_pairwise_judge_stay():
    assert "\n\nVerdicts:\n\n- A>>B: response A is much better." in criteria_part(OURS["pairwise"])


@pytest.mark.parametrize(
    "text", ["", "Choose the better one.", "# Reply\n\nSay A or B.\n", OURS["pairwise"] + " More."]
)
def test_other_instructions_are_shown_as_they_are(text):
    assert without_reply_form(text) == text
    assert without_reply_form(None) is None


def test_the_second_set_shows_the_criteria_part_of_an_older_record_and_the_first_all():
    older, newer = (judgment(instruction=text) for text in (OURS["pairwise"], criteria_part(OURS["pairwise"])))
    assert render_request(older, version=2) == render_request(newer, version=2)
    assert "exactly one JSON object" in render_request(older, version=1)
