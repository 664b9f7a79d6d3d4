"""One agent: a score, or a typed failure; one repair, never two."""

import json

import pytest

from metajudge.agents import Agent
from metajudge.errors import (
    BadReplyError,
    BudgetExceeded,
    ConfigurationError,
    ConnectionFailedError,
    FailureKind,
    RateLimitedError,
)
from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.types import Reply, Usage
from tests.doubles.judgments import judgment, reply


def agent(*replies, **options):
    model = ScriptedModel(list(replies), name="scripted-model")
    return Agent(name="mini", model=model, rubric=options.pop("rubric", load_rubric("short")), **options), model


async def test_a_reply_cut_twice_says_what_to_raise():
    cut = Reply(reply(4)[:50], "length", "m", Usage(10, 0, 0, 5), 0.01)
    mini, _ = agent(cut, cut, parameters=Parameters(max_tokens=20))
    result = await mini.assess(judgment())
    assert result.failure.kind is FailureKind.TRUNCATED
    assert "max_tokens = 20" in result.failure.message
    assert result.cost_usd == pytest.approx(0.02)


async def test_an_empty_reply_is_repaired_without_sending_an_empty_turn():
    mini, model = agent("", reply(4))
    assert (await mini.assess(judgment())).score == pytest.approx(4)
    assert model.requests[1].messages[1].text == "(empty reply)"


async def test_a_failed_call_is_a_typed_failure_with_its_attempts_counted():
    error = RateLimitedError("slow down", status=429)
    error.attempts = 6
    mini, _ = agent(error)
    result = await mini.assess(judgment())
    assert result.failure.kind is FailureKind.RATE_LIMITED
    assert result.calls == 6


async def test_a_call_that_never_left_is_not_counted():
    mini, _ = agent(ConnectionFailedError("refused", sent=False))
    assert (await mini.assess(judgment())).calls == 0


async def test_a_failed_repair_keeps_what_the_first_reply_cost():
    bad = Reply("prose", "stop", "m", Usage(10, 0, 0, 5), 0.01)
    mini, _ = agent(bad, ConnectionFailedError("cut"))
    result = await mini.assess(judgment())
    assert result.failure.kind is FailureKind.CONNECTION
    assert (result.calls, result.cost_usd) == (2, pytest.approx(0.01))


async def test_an_unknown_cost_makes_the_sum_unknown_not_zero():
    mini, _ = agent(Reply("prose", "stop", "m", None, None), Reply(reply(4), "stop", "m", Usage(1, 0, 0, 1), 0.01))
    assert (await mini.assess(judgment())).cost_usd is None


async def test_the_budget_is_not_an_agents_failure():
    mini, _ = agent(BudgetExceeded("spent"))
    with pytest.raises(BudgetExceeded):
        await mini.assess(judgment())


class TestRetry:
    STORED = Reply("prose", "stop", "m", Usage(1, 0, 0, 1), None, attempts=0, cached=True)

    async def test_a_stored_useless_reply_leads_to_its_repair_when_a_run_goes_on(self):
        mini, model = agent(self.STORED, reply(4))
        result = await mini.assess(judgment())
        assert len(model.requests[1].messages) == 3
        assert (result.calls, result.cached_calls) == (1, 1)

    async def test_after_a_failure_a_stored_refusal_is_asked_for_anew(self):
        stored = Reply("no", "refusal", "m", None, None, attempts=0, cached=True)
        mini, model = agent(stored, reply(4))
        assert (await mini.assess(judgment(), retry=True)).score == pytest.approx(4)
        assert model.requests[1].fresh

    async def test_a_stored_usable_reply_is_used(self):
        stored = Reply(reply(4), "stop", "m", None, None, attempts=0, cached=True)
        mini, model = agent(stored)
        result = await mini.assess(judgment(), retry=True)
        assert (result.calls, result.cached_calls, len(model.requests)) == (0, 1, 1)
        assert result.cost_usd == 0


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
ALONE = ("accuracy", "fairness", "relevance")
LEFT_OUT = ["logical_soundness", "completeness", "clarity", "impactfulness"]


def thought(score=4, rubric=None, analysis="First I add: 2 + 2 = 4.", **scores):
    return json.dumps({"analysis": analysis, **json.loads(reply(score, rubric, **scores))})


class TestAnalysis:
    async def test_it_is_asked_for_first_and_kept_and_changes_no_score(self):
        mini, model = agent(thought(4, accuracy=5), **SECOND)
        result = await mini.assess(judgment())
        assert result.analysis == "First I add: 2 + 2 = 4."
        assert result.score == pytest.approx(4.2)
        assert not result.analysis_missing
        assert next(iter(model.requests[0].schema.schema["properties"])) == "analysis"
        assert '"analysis"' in result.model_dump_json()

    @pytest.mark.parametrize("given", [None, "", "  \n", "absent"])
    async def test_a_reply_without_one_is_used_and_marked_and_not_asked_for_again(self, given):
        text = reply(4) if given == "absent" else thought(4, analysis=given)
        mini, model = agent(text, **SECOND)
        result = await mini.assess(judgment())
        assert (result.score, result.analysis, result.analysis_missing) == (pytest.approx(4), None, True)
        assert len(model.requests) == 1

    async def test_line_feeds_inside_it_are_no_reason_for_a_repair(self):
        mini, model = agent(thought(4).replace("First I add: ", "First I add:\n\n\t"), **SECOND)
        assert (await mini.assess(judgment())).analysis == "First I add:\n\n\t2 + 2 = 4."
        assert len(model.requests) == 1

    async def test_an_analysis_nobody_asked_for_is_an_unknown_property(self):
        mini, model = agent(thought(4), reply(4), prompt_version=2)
        result = await mini.assess(judgment())
        assert result.analysis is None
        assert "analysis" not in result.model_dump_json()
        assert "unknown property 'analysis'" in model.requests[1].messages[2].text

    async def test_a_repaired_reply_without_one_is_marked(self):
        mini, _ = agent(thought(6), reply(4), **SECOND)
        result = await mini.assess(judgment())
        assert (result.score, result.calls, result.analysis_missing) == (pytest.approx(4), 2, True)

    async def test_of_several_draws_it_is_the_nearest_ones(self):
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


class TestVerdictAlone:
    """Judgments without a rationale, under the second prompt set."""

    def answering(self, *scores, **options):
        rubric = load_rubric("short").for_verdict_alone()
        return agent(*(reply(score, rubric) for score in scores), prompt_version=2, **options)

    @pytest.mark.parametrize("rationale", ["", " \n\t", "[[A>B]]"])
    async def test_criteria_that_judge_a_rationale_are_left_out_and_say_so(self, rationale):
        mini, model = self.answering(5)
        result = await mini.assess(judgment(rationale=rationale))
        assert tuple(model.requests[0].schema.schema["properties"]) == ALONE
        assert list(result.criteria) == list(load_rubric("short").scored_names)
        why = {name: (one.score, one.not_applicable) for name, one in result.criteria.items()}
        assert [name for name in why if why[name] == (None, "no rationale")] == LEFT_OUT
        assert result.score == 5

    async def test_weights_are_those_of_the_criteria_that_apply(self):
        mini, _ = agent(reply(5, load_rubric("short").for_verdict_alone(), fairness=1), prompt_version=2)
        # .20 accuracy, .10 fairness, .15 relevance
        assert (await mini.assess(judgment(rationale=""))).score == pytest.approx((0.35 * 5 + 0.1) / 0.45)

    async def test_the_whole_rubric_is_not_a_reply_to_it(self):
        mini, model = agent(reply(5), reply(5, load_rubric("short").for_verdict_alone()), prompt_version=2)
        assert (await mini.assess(judgment(rationale=""))).calls == 2
        assert "unknown property 'clarity'" in model.requests[1].messages[2].text

    async def test_draws_are_over_the_criteria_that_apply(self):
        mini, _ = self.answering(3, 5, samples=2)
        result = await mini.assess(judgment(rationale=""))
        assert result.score == 4
        for one in (result, *result.draws):
            assert [n for n, given in one.criteria.items() if given.not_applicable] == LEFT_OUT
