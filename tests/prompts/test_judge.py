"""The pairwise judge's prompts: blindness, and judged text that stays in its fence."""

import pytest

from metajudge.errors import PromptError
from metajudge.prompts.judge import render_pairwise
from tests.doubles.judging import item
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
