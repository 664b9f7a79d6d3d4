"""The prompts of judges: blindness, judged text that stays in its fence, and what a meta-judge sees of them."""

import pytest

from metajudge.errors import PromptError
from metajudge.prompts.grading import render_grading_system
from metajudge.prompts.instruction import criteria_part, without_reply_form
from metajudge.prompts.judge import render_pairwise, render_pairwise_system
from metajudge.prompts.meta_judge import render_request
from metajudge.prompts.ranking import render_ranking_system
from tests.doubles.judging import item
from tests.prompts.renderings import judgment
from tests.prompts.test_injection import ATTACKS, HARMLESS, assert_inert, legible, parse


def pair(**changes):
    return item(question="What is 2 + 2?", **changes)


def test_ids_models_label_and_category_never_reach_the_judge():
    named = pair(
        responses={"gpt-x": "four", "claude-x": "five"},
        models={"gpt-x": "secret-model", "claude-x": "secret-model-2"},
        label="gpt-x>claude-x",
        category="secret-category",
    )
    prompt = render_pairwise(named, ("gpt-x", "claude-x"))
    assert prompt == render_pairwise(pair(), ("A", "B"))


@pytest.mark.parametrize("order", [("A", "A"), ("A", "C"), ("", "B")])
def test_an_order_of_other_responses_is_an_error(order):
    with pytest.raises(PromptError, match=r"item 'i1': cannot compare .*; its responses are A, B"):
        render_pairwise(pair(), order)


@pytest.mark.parametrize("position", ["question", "reference", "first", "second"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_text_stays_inside_its_fence(attack, position):
    def prompt(**changes):
        texts = {"question": "What is 2 + 2?", "reference": "4", "first": HARMLESS, "second": "five", **changes}
        return parse(render_pairwise(item(**texts), ("A", "B"), with_reference=True))

    usual, hostile = prompt(), prompt(**{position: ATTACKS[attack]})
    at = ["question", "reference", "first", "second"].index(position)
    assert hostile.outside == usual.outside
    assert [name for name, _ in hostile.fenced] == [name for name, _ in usual.fenced]
    assert [f for i, f in enumerate(hostile.fenced) if i != at] == [f for i, f in enumerate(usual.fenced) if i != at]
    shown = hostile.fenced[at][1]
    assert_inert(shown)
    rest = iter(shown)
    assert all(character in rest for character in legible(ATTACKS[attack]))


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
