"""The second prompt set: golden texts, and what its wording has to hold."""

import re

import pytest

from metajudge.agents import Agent
from metajudge.errors import PromptError
from metajudge.prompts.meta_judge import ROLES, Statement, render_request, render_system
from metajudge.prompts.reply_form import MAX_ANALYSIS_WORDS, ReplyForm
from metajudge.prompts.versions import NEWEST, prompt_sets
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import BUILTIN_RUBRICS, load_rubric, validate_rubric_text
from tests.doubles.judgments import reply
from tests.prompts.renderings import OWN, judgment, score
from tests.prompts.second_set import FOLDER, SPOKEN, second_set

CALL = "Now evaluate this judgment by the rubric. Reply with the JSON object alone."
THINKING = ReplyForm(analysis=True)
NO_RATIONALE = judgment(rationale="My final verdict is: [[A>>B]]")


def system(name="short", form=THINKING, **more):
    return render_system(load_rubric(name, prompt_set=2), None, form, version=2, **more)


def test_every_prompt_is_as_in_its_golden_file():
    """``python -m tests.prompts.second_set`` writes the files anew; read what changed."""
    golden = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert {name: f"{text}\n" for name, text in second_set().items()} == golden


def test_the_newest_set_is_the_last_folder():
    assert max(prompt_sets()) == NEWEST


@pytest.mark.parametrize("name", BUILTIN_RUBRICS)
def test_the_analysis_is_the_first_property_and_is_bounded(name):
    with_analysis, without = system(name), system(name, ReplyForm())
    assert re.search(r'^\{\n  "analysis": "\.\.\.",\n', with_analysis, re.MULTILINE)
    assert f"at most {MAX_ANALYSIS_WORDS} words" in with_analysis
    assert "It is not scored" in with_analysis
    assert "analysis" not in without


def test_an_explanation_is_short_where_there_is_an_analysis():
    assert '"explanation" is one sentence' in system()
    assert '"explanation" says in one to four sentences' in system(form=ReplyForm())


def test_scores_alone_have_no_explanation():
    text = system(form=ReplyForm(explanations="none"))
    assert '"accuracy": {"score": number},' in text
    assert "explanation" not in text
    assert '"correct": {"verdict": "correct" or "wrong"}\n' in system("binary", ReplyForm(explanations="none"))


@pytest.mark.parametrize("name", BUILTIN_RUBRICS)
def test_the_shape_of_the_reply_is_stated_once(name):
    text = system(name)
    assert len(re.findall(r"^\{$", text, re.MULTILINE)) == 1
    assert text.count('"analysis": ') == 1
    assert "JSON" not in text[: text.index("# Reply")]


@pytest.mark.parametrize("name", BUILTIN_RUBRICS)
def test_a_verdict_alone_is_judged_without_the_criteria_that_judge_a_rationale(name):
    rubric = load_rubric(name, prompt_set=2)
    text = system(name, verdict_alone=True)
    assert "gave no rationale: " in text
    assert "That there is none is not a fault." in text
    assert "check the verdict against your solution" in text
    assert "a long rationale" not in text
    for criterion in rubric.criteria:
        assert (criterion.description in text) is not criterion.judges_rationale


def test_a_rubric_without_marked_criteria_is_shown_whole_for_a_verdict_alone():
    own = validate_rubric_text(OWN, "own")
    text = render_system(own, None, THINKING, verdict_alone=True, version=2)
    assert "## a\n" in text
    assert "## b (may not apply)\n" in text


def test_a_title_is_shown_where_it_says_more_than_the_name():
    titled = validate_rubric_text(OWN.replace("title: A,", "title: Care in reading,"), "own")
    assert "## a: Care in reading\n" in render_system(titled, version=2)


def test_the_rubric_may_be_reduced_before_or_by_the_prompt():
    short = load_rubric("short", prompt_set=2)
    reduced = render_system(short.for_verdict_alone(), None, THINKING, verdict_alone=True, version=2)
    assert reduced == system(verdict_alone=True)


def test_a_missing_rationale_is_no_fault_in_the_request_either():
    for given in (judgment(rationale=""), judgment(rationale=" \n"), NO_RATIONALE):
        text = render_request(given, version=2)
        assert "as not shown" not in text
        assert "The judge gave no " in text
    assert "This is all that it wrote:\n\n⟦BEGIN rationale" in render_request(NO_RATIONALE, version=2)
    assert "This is all" not in render_request(judgment(rationale=" \n"), version=2)


@pytest.mark.parametrize("summarise", [False, True])
@pytest.mark.parametrize("earlier", [[], SPOKEN[:1], SPOKEN])
def test_the_call_to_answer_is_the_last_part_and_stands_once(earlier, summarise):
    text = render_request(judgment(), earlier=earlier, summarise=summarise, version=2)
    assert text.endswith(f"\n\n{CALL}")
    assert text.count("Reply with") == text.count("Now evaluate") == 1


def test_members_are_numbered_and_never_named():
    text = render_request(judgment(), earlier=SPOKEN, version=2)
    assert "\n## Member 1\n" in text
    assert "\n## Member 2 (you)\n" in text
    assert not re.search("gpt-4o|claude", text)


def test_a_statement_without_a_member_number_is_refused():
    with pytest.raises(PromptError, match="the statement of 'ann' has no member number"):
        render_request(judgment(), earlier=[Statement("ann", {"accuracy": score(4)})], version=2)


def test_criteria_left_out_by_rule_are_not_repeated_in_statements():
    left_out = score(None).model_copy(update={"not_applicable": "no rationale"})
    said = [Statement("ann", {"accuracy": score(4, "Right."), "clarity": left_out}, member=1)]
    text = render_request(NO_RATIONALE, earlier=said, version=2)
    assert "accuracy: 4" in text
    assert "clarity" not in text


def test_a_binary_rubric_shows_no_shares_and_does_not_call_a_right_verdict_wrong():
    binary = load_rubric("binary", prompt_set=2)
    assert "%" not in system("binary")
    assert system("binary") == render_system(binary.with_weights("long"), None, THINKING, version=2)
    assert "does not make a right verdict wrong" in " ".join(system("binary").split())


def test_the_baseline_is_bare():
    text = system("baseline", ReplyForm(explanations="none"))
    assert "1. Work out" not in text
    assert "Keep in mind" not in text
    assert len(text.split()) < len(system("binary", ReplyForm(explanations="none")).split()) / 2


def test_weights_are_never_shown():
    for name in ("short", "long"):
        rubric = load_rubric(name, prompt_set=2)
        other = rubric.with_weights({one: 1 + place for place, one in enumerate(rubric.weights)})
        assert render_system(other, version=2) == render_system(rubric, version=2)


@pytest.mark.parametrize("form", [ReplyForm(analysis=True), ReplyForm(explanations="none")])
def test_the_first_set_refuses_a_form_it_cannot_ask_for(form):
    with pytest.raises(PromptError, match=r"prompt set 1 cannot ask for .*; use prompt set 2"):
        render_system(load_rubric("short", prompt_set=1), None, form, version=1)


def test_the_first_set_has_no_prompt_of_its_own_for_a_verdict_alone():
    short = load_rubric("short", prompt_set=1)
    assert render_system(short, verdict_alone=True) == render_system(short)


def test_an_agent_with_a_role_shares_the_prefix():
    for role in ROLES:
        text = render_system(load_rubric("short"), role, THINKING, version=2)
        assert text.startswith(f"{system()}\n\n# Your role\n\n")


@pytest.mark.parametrize(("version", "shown"), [(1, "【END x】 no JSON"), (2, "[END x】 no JSON")])
async def test_a_reply_to_be_repaired_is_made_inert_by_the_same_set(version, shown):
    model = ScriptedModel(["【END x】 no JSON", reply(4)], name="m")
    rubric = load_rubric("short", prompt_set=version)
    result = await Agent("a", model, rubric, prompt_version=version).assess(judgment())
    assert result.score == 4
    assert model.requests[1].messages[1].text == shown
