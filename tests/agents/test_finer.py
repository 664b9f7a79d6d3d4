"""Several draws of an agent made one."""

import json

import pytest

from metajudge.agents import Agent
from metajudge.agents.finer import MAX_SAMPLES, score_of
from metajudge.errors import BudgetExceeded, ConfigurationError, ConnectionFailedError, FailureKind, ServerError
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import Rubric
from metajudge.types import AgentResult, Reply, Usage
from tests.doubles.judgments import judgment

TWO = Rubric.model_validate(
    {
        "name": "two",
        "title": "Two",
        "description": "Two criteria.",
        "criteria": [
            {
                "name": name,
                "title": name,
                "description": name,
                "weight": weight,
                "optional": name == "b",
                "levels": {str(point): "x" for point in range(1, 6)},
            }
            for name, weight in (("a", 3.0), ("b", 1.0))
        ],
    }
)


def agent(*replies, rubric=TWO, **options):
    model = ScriptedModel(list(replies), name="scripted")
    return Agent(name="mini", model=model, rubric=rubric, **options), model


def answer(a, b=4):
    """A reply of rubric TWO."""
    return json.dumps({name: {"explanation": f"{name} is {v}", "score": v} for name, v in (("a", a), ("b", b))})


class TestDraws:
    async def test_criteria_are_means_and_the_spread_is_recorded(self):
        mini, model = agent(answer(4, 2), answer(5, 2), answer(3, 2), samples=3)
        result = await mini.assess(judgment())
        a, b = result.criteria["a"], result.criteria["b"]
        assert (a.score, a.spread, a.source) == (4.0, 1.0, "draws")  # of 4, 5, 3 with divisor 2
        assert (b.score, b.spread) == (2.0, 0.0)
        assert (result.score, result.spread) == (3.5, 0.75)
        assert (result.samples, result.valid_samples) == (3, 3)
        assert a.explanation == "a is 4"
        assert [draw.score for draw in result.draws] == [3.5, 4.25, 2.75]
        assert [request.draw for request in model.requests] == [0, 1, 2]

    async def test_calls_cost_and_tokens_are_sums_over_all_draws_failed_ones_too(self):
        failing = ServerError("broken", status=500)
        failing.attempts = 6
        used = Reply(answer(4), "stop", "m-1", Usage(100, 40, 0, 20), 0.01)
        useless = Reply("prose", "stop", "m-1", Usage(50, 0, 0, 10), 0.005)

        def says(request):
            """Draw 1 cannot be asked, draw 2 needs a repair."""
            if request.draw == 1:
                return failing
            return useless if request.draw == 2 and len(request.messages) == 1 else used

        mini = Agent(name="mini", model=ScriptedModel(says), rubric=TWO, samples=3)
        result = await mini.assess(judgment())
        assert (result.valid_samples, result.calls) == (2, 1 + 6 + 2)
        assert result.cost_usd == pytest.approx(0.025)
        assert result.usage.model_dump() == {
            "input_tokens": 250,
            "cached_tokens": 80,
            "cache_write_tokens": 0,
            "output_tokens": 50,
        }
        assert result.reported_model == "m-1"

    async def test_a_strict_majority_of_valid_draws_is_averaged_and_half_is_no_score(self):
        mini, _ = agent(answer(5), ConnectionFailedError("cut"), answer(3), samples=3)
        result = await mini.assess(judgment())
        assert (result.score, result.samples, result.valid_samples) == (4.0, 3, 2)
        assert [draw.failure is None for draw in result.draws] == [True, False, True]
        cut = ConnectionFailedError("cut")
        mini, _ = agent(answer(5), cut, answer(5), cut, samples=4)
        result = await mini.assess(judgment())
        assert (result.score, result.criteria, result.spread) == (None, None, None)
        assert result.failure.kind is FailureKind.CONNECTION
        assert result.failure.message == "2 of 4 draws gave a score, which is no majority (connection: cut)"
        assert result.valid_samples == 2

    async def test_draws_leave_out_a_criterion_by_half_and_agreeing_on_none_are_a_failure(self):
        mini, _ = agent(answer(5, None), answer(4, 3), samples=2)
        result = await mini.assess(judgment())
        assert (result.criteria["b"].score, result.score) == (None, 4.5)
        mini, _ = agent(answer(5, None), answer(4, 3), answer(3, 1), samples=3)
        result = await mini.assess(judgment())
        assert (result.criteria["b"].score, result.score) == (2.0, 3.5)
        rubric = TWO.model_copy(
            update={"criteria": tuple(one.model_copy(update={"optional": True}) for one in TWO.criteria)}
        )
        mini, _ = agent(answer(5, None), answer(None, 3), rubric=rubric, samples=2)
        result = await mini.assess(judgment())
        assert (result.score, result.spread) == (None, None)
        assert "agree on no criterion" in result.failure.message

    async def test_the_budget_is_no_failure_of_a_draw(self):
        mini, _ = agent(answer(5), BudgetExceeded("spent"), answer(5), samples=3)
        with pytest.raises(BudgetExceeded):
            await mini.assess(judgment())

    @pytest.mark.parametrize("samples", [0, -1, MAX_SAMPLES + 1])
    def test_no_draw_or_endlessly_many_are_refused(self, samples):
        with pytest.raises(ConfigurationError, match="samples must be a whole number from 1 to 100"):
            agent(samples=samples)


class TestRecord:
    async def test_a_finer_result_is_read_back_as_it_was(self):
        mini, _ = agent(answer(4, 2), answer(5, 2), samples=2)
        result = await mini.assess(judgment())
        assert AgentResult.model_validate_json(result.model_dump_json()) == result
        assert result.score == score_of(result.criteria, TWO)

    def test_a_result_with_expected_scores_of_an_earlier_version_is_read_back_as_it_was(self):
        one = {"score": 4.4, "explanation": "x", "source": "expected", "reported": 4.0, "digit_mass": 0.9}
        other = {"score": 2.0, "explanation": "y", "source": "reported", "fallback": "no token probabilities"}
        stored = {
            "agent": "mini",
            "model": "m",
            "weight": 1.0,
            "scoring": "expected",
            "criteria": {"a": one, "b": other},
        }
        assert AgentResult.model_validate(stored).model_dump(exclude_unset=True) == stored
