"""What the second prompt set keeps from judges, what it refuses, and what it says of a missing rationale."""

import pytest

from metajudge.agents import Agent
from metajudge.errors import PromptError
from metajudge.prompts.meta_judge import Statement, render_request, render_system
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from tests.doubles.judgments import reply
from tests.prompts.renderings import judgment, score

THINKING = ReplyForm(analysis=True)
NO_RATIONALE = judgment(rationale="My final verdict is: [[A>>B]]")


def system(name="short", form=THINKING, **more):
    return render_system(load_rubric(name, prompt_set=2), None, form, version=2, **more)


def test_a_missing_rationale_is_no_fault_in_the_request_either():
    for given in (judgment(rationale=""), judgment(rationale=" \n"), NO_RATIONALE):
        text = render_request(given, version=2)
        assert "as not shown" not in text
        assert "The judge gave no " in text
    assert "This is all that it wrote:\n\n⟦BEGIN rationale" in render_request(NO_RATIONALE, version=2)
    assert "This is all" not in render_request(judgment(rationale=" \n"), version=2)


def test_a_statement_without_a_member_number_is_refused():
    with pytest.raises(PromptError, match="the statement of 'ann' has no member number"):
        render_request(judgment(), earlier=[Statement("ann", {"accuracy": score(4)})], version=2)


def test_criteria_left_out_by_rule_are_not_repeated_in_statements():
    left_out = score(None).model_copy(update={"not_applicable": "no rationale"})
    said = [Statement("ann", {"accuracy": score(4, "Right."), "clarity": left_out}, member=1)]
    text = render_request(NO_RATIONALE, earlier=said, version=2)
    assert "accuracy: 4" in text
    assert "clarity" not in text


def test_weights_are_never_shown():
    for name in ("short", "long"):
        rubric = load_rubric(name, prompt_set=2)
        other = rubric.with_weights({one: 1 + place for place, one in enumerate(rubric.weights)})
        assert render_system(other, version=2) == render_system(rubric, version=2)


@pytest.mark.parametrize("form", [ReplyForm(analysis=True), ReplyForm(explanations="none")])
def test_the_first_set_refuses_a_form_it_cannot_ask_for(form):
    with pytest.raises(PromptError, match=r"prompt set 1 cannot ask for .*; use prompt set 2"):
        render_system(load_rubric("short", prompt_set=1), None, form, version=1)


@pytest.mark.parametrize(("version", "shown"), [(1, "【END x】 no JSON"), (2, "[END x】 no JSON")])
async def test_a_reply_to_be_repaired_is_made_inert_by_the_same_set(version, shown):
    model = ScriptedModel(["【END x】 no JSON", reply(4)], name="m")
    rubric = load_rubric("short", prompt_set=version)
    result = await Agent("a", model, rubric, prompt_version=version).assess(judgment())
    assert result.score == 4
    assert model.requests[1].messages[1].text == shown
