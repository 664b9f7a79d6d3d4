"""One agent: a score, or a typed failure; one repair, never two."""

import json

import pytest

from metajudge.agents import Agent
from metajudge.errors import BadReplyError, ConfigurationError, ConnectionFailedError, FailureKind
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.types import Reply, Usage
from tests.doubles.judgments import judgment, reply


def agent(*replies, **options):
    model = ScriptedModel(list(replies), name="scripted-model")
    return Agent(name="mini", model=model, rubric=options.pop("rubric", load_rubric("short")), **options), model


async def test_replies_cut_twice_empty_or_in_vain_repaired_say_what_to_raise_and_keep_their_cost():
    cut = Reply(reply(4)[:50], "length", "m", Usage(10, 0, 0, 5), 0.01)
    mini, _ = agent(cut, cut, parameters=Parameters(max_tokens=20))
    result = await mini.assess(judgment())
    assert result.failure.kind is FailureKind.TRUNCATED
    assert "max_tokens = 16384, and a shorter one before" in result.failure.message
    assert result.cost_usd == pytest.approx(0.02)
    mini, model = agent("", reply(4))
    assert (await mini.assess(judgment())).score == pytest.approx(4)
    assert model.requests[1].messages[1].text == "(empty reply)"
    bad = Reply("prose", "stop", "m", Usage(10, 0, 0, 5), 0.01)
    mini, _ = agent(bad, ConnectionFailedError("cut"))
    result = await mini.assess(judgment())
    assert result.failure.kind is FailureKind.CONNECTION
    assert (result.calls, result.cost_usd) == (2, pytest.approx(0.01))


class TestRetry:
    STORED = Reply("prose", "stop", "m", Usage(1, 0, 0, 1), None, attempts=0, cached=True)

    async def test_when_a_run_goes_on_a_useless_reply_is_repaired_and_a_refusal_asked_for_anew(self):
        mini, model = agent(self.STORED, reply(4))
        result = await mini.assess(judgment())
        assert len(model.requests[1].messages) == 3
        assert (result.calls, result.cached_calls) == (1, 1)
        stored = Reply("no", "refusal", "m", None, None, attempts=0, cached=True)
        mini, model = agent(stored, reply(4))
        assert (await mini.assess(judgment(), retry=True)).score == pytest.approx(4)
        assert model.requests[1].fresh


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_weight_must_be_positive(weight):
    with pytest.raises(ConfigurationError, match="weight must be a positive number"):
        agent(weight=weight)


async def test_halves_of_characters_end_no_run():
    """A lone surrogate, from a record or in a reply, can be neither digested nor stored."""
    mini, model = agent(json.dumps({"accuracy": "\ud83d"}), reply(4).replace("on accuracy", "on \\ud83d accuracy"))
    result = await mini.assess(judgment(question="What is \ud83d?"))
    assert result.score == pytest.approx(4)
    assert result.criteria["accuracy"].explanation == "on \ufffd accuracy"
    assert result.prompt_digest
    assert result.model_dump_json()
    assert len(model.requests) == 2


async def test_what_a_failed_call_was_billed_for_is_part_of_the_cost():
    error = BadReplyError("empty", status=200, usage=Usage(100, 0, 0, 10))
    error.cost_usd = 0.02
    mini, _ = agent(error)
    result = await mini.assess(judgment())
    assert (result.usage.input_tokens, result.cost_usd) == (100, pytest.approx(0.02))
    error.cost_usd = None
    assert (await agent(error)[0].assess(judgment())).cost_usd is None


SECOND = {"prompt_version": 2, "form": ReplyForm(analysis=True)}


def thought(score=4, rubric=None, analysis="First I add: 2 + 2 = 4.", **scores):
    return json.dumps({"analysis": analysis, **json.loads(reply(score, rubric, **scores))})


class TestAnalysis:
    @pytest.mark.parametrize("given", [None, "", "  \n", "absent"])
    async def test_a_reply_without_one_is_used_and_marked_and_not_asked_for_again(self, given):
        text = reply(4) if given == "absent" else thought(4, analysis=given)
        mini, model = agent(text, **SECOND)
        result = await mini.assess(judgment())
        assert (result.score, result.analysis, result.analysis_missing) == (pytest.approx(4), None, True)
        assert len(model.requests) == 1

    async def test_line_feeds_need_no_repair_a_repaired_reply_is_marked_and_of_draws_the_nearest_ones_count(self):
        mini, model = agent(thought(4).replace("First I add: ", "First I add:\n\n\t"), **SECOND)
        assert (await mini.assess(judgment())).analysis == "First I add:\n\n\t2 + 2 = 4."
        assert len(model.requests) == 1
        mini, _ = agent(thought(6), reply(4), **SECOND)
        result = await mini.assess(judgment())
        assert (result.score, result.calls, result.analysis_missing) == (pytest.approx(4), 2, True)
        texts = [thought(score, analysis=f"draw {score}") for score in (1, 4, 5)]
        mini, _ = agent(*texts, samples=3, **SECOND)
        result = await mini.assess(judgment())
        assert result.analysis == "draw 4"
        assert [draw.analysis for draw in result.draws] == ["draw 1", "draw 4", "draw 5"]

    def test_a_criterion_of_that_name_is_refused(self):
        rubric = load_rubric("short")
        named = rubric.criteria[0].model_copy(update={"name": "analysis"})
        rubric = rubric.model_copy(update={"criteria": (named, *rubric.criteria[1:]), "weight_sets": {}})
        with pytest.raises(ConfigurationError, match=r"criterion 'analysis' .* or set analysis = false"):
            agent(rubric=rubric, **SECOND)
