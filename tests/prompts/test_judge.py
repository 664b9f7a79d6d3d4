"""The pairwise judge's prompts: golden text, blindness, symmetry, and judged text that stays in its fence."""

import pytest

from metajudge.errors import PromptError
from metajudge.prompts.judge import render_pairwise, render_pairwise_system
from tests.doubles.judging import item
from tests.prompts.test_injection import ATTACKS, HARMLESS, assert_inert, legible, parse

GOLDEN = """\
# Question

⟦BEGIN question 38d46ad3618826cf660df542⟧
What is 2 + 2?
⟦END question 38d46ad3618826cf660df542⟧

# Responses

## Response A

⟦BEGIN response 04efaf080f5a3e74e1c29d1c⟧
four
⟦END response 04efaf080f5a3e74e1c29d1c⟧

## Response B

This response is empty: the model answered nothing.

Now work out your own answer, compare the two responses, and reply with the JSON object described above."""


def pair(**changes):
    return item(question="What is 2 + 2?", **changes)


def test_golden():
    assert render_pairwise(pair(second=""), ("A", "B")) == GOLDEN


def test_swapped_order_changes_places_and_not_labels():
    prompt = render_pairwise(pair(), ("B", "A"))
    assert prompt == render_pairwise(pair(first="five", second="four"), ("A", "B"))
    assert prompt.index("## Response A") < prompt.index("five") < prompt.index("## Response B") < prompt.index("four")


def test_ids_models_label_and_category_never_reach_the_judge():
    named = pair(
        responses={"gpt-x": "four", "claude-x": "five"},
        models={"gpt-x": "secret-model", "claude-x": "secret-model-2"},
        label="gpt-x>claude-x",
        category="secret-category",
    )
    prompt = render_pairwise(named, ("gpt-x", "claude-x"))
    assert prompt == render_pairwise(pair(), ("A", "B"))


def test_a_reference_is_shown_only_where_asked_for():
    with_one = pair(reference="4, plainly")
    assert render_pairwise(with_one, ("A", "B")) == render_pairwise(pair(), ("A", "B"))
    shown = render_pairwise(with_one, ("A", "B"), with_reference=True)
    assert parse(shown).fenced[1] == ("reference", "4, plainly")
    assert render_pairwise(pair(), ("A", "B"), with_reference=True) == render_pairwise(pair(), ("A", "B"))


def test_the_system_prompt_treats_both_responses_alike():
    text = render_pairwise_system()
    for a, b in [("A>>B", "B>>A"), ("A>B:", "B>A:"), ("response A", "response B")]:
        assert text.count(a) == text.count(b) > 0
    for name in ("reasoning", "verdict"):
        assert f'"{name}": ' in text
    assert text.index("Answer the question yourself") < text.index("Examine each response")


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
