"""single, weighted_average and majority_vote: decisions, missing answers, early exit."""

import random
from itertools import product

import pytest

from metajudge.agents import Agent
from metajudge.errors import FailureKind
from metajudge.providers.scripted import ScriptedModel
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Status
from tests.doubles.judgments import judgment
from tests.strategies.answers import BASELINE, panel

ANSWERS = (None, 1, 3, 4, 5)


async def vet(*args, **options):
    return await Vetter(panel(*args, **options)).vet(judgment())


def asked(result):
    return sum(agent.skipped is None for agent in result.agents)


class TestFullPanels:
    async def test_an_average_of_exactly_the_threshold_is_not_accepted(self):
        result = await vet([5, 4], "weighted_average")
        assert result.final_score == 4.5
        assert result.accepted is False

    async def test_of_two_voters_both_must_exceed(self):
        assert (await vet([5, 4], "majority_vote")).final_score == 1.0
        assert (await vet([5, 5], "majority_vote")).final_score == 5.0


class TestMissingAnswers:
    async def test_a_vote_that_the_missing_one_could_turn_is_unscored(self):
        result = await vet([5, None], "majority_vote")
        assert (result.status, result.final_score, result.accepted) == (Status.UNSCORED, None, None)
        assert result.failure.kind is FailureKind.SERVER_ERROR
        assert "1 of 2 agents gave a valid answer" in result.failure.message

    async def test_a_vote_that_it_could_not_turn_stands(self):
        result = await vet([5, 5, None], "majority_vote")
        assert (result.status, result.accepted) == (Status.ASSESSED, True)

    async def test_an_average_over_a_majority_is_marked(self):
        result = await vet([5, 5, None], "weighted_average")
        assert (result.final_score, result.accepted, result.renormalised) == (5.0, True, True)

    async def test_an_average_without_a_majority_is_unscored_unless_settled(self):
        assert (await vet([5, None], "weighted_average")).status is Status.UNSCORED
        settled = await vet([1, None], "weighted_average")
        assert (settled.status, settled.accepted, settled.final_score) == (Status.ASSESSED, False, None)
        assert settled.score_bounds == (1.0, 3.0)

    async def test_a_quorum_replaces_the_majority(self):
        result = await vet([5, None], "weighted_average", quorum=1)
        assert (result.accepted, result.renormalised) == (True, True)

    async def test_nobody_could_be_asked(self):
        result = await vet([None, None], "majority_vote")
        assert (result.status, result.failure.kind) == (Status.FAILED, FailureKind.SERVER_ERROR)

    async def test_nobody_gave_a_usable_answer(self):
        chatty = Agent(name="chatty", model=ScriptedModel(lambda _: "Looks good to me!"), rubric=BASELINE)
        result = await Vetter(Panel((chatty,), StrategyName.SINGLE, 4.5)).vet(judgment())
        assert (result.status, result.failure.kind) == (Status.UNSCORED, FailureKind.BAD_REPLY)


class TestEarlyExit:
    @pytest.mark.parametrize("strategy", ["weighted_average", "majority_vote"])
    @pytest.mark.parametrize("weights", [[1.0, 1.0], [0.7, 0.3], [1.0, 1.0, 1.0], [0.5, 0.3, 0.2]])
    async def test_decisions_equal_those_of_a_full_evaluation_on_everything_enumerable(self, strategy, weights):
        saved = 0
        for answers in product(ANSWERS, repeat=len(weights)):
            full = await vet(answers, strategy, weights)
            early = await vet(answers, strategy, weights, early_exit=True)
            assert (early.status, early.accepted) == (full.status, full.accepted), answers
            if early.final_score is not None and full.final_score is not None:
                assert early.final_score == full.final_score, answers
            saved += asked(full) - asked(early)
        assert saved > 0

    @pytest.mark.parametrize("strategy", ["weighted_average", "majority_vote"])
    async def test_on_random_panels_with_failures(self, strategy):
        generator = random.Random(5)
        for _ in range(150):
            size = generator.randint(2, 6)
            answers = [generator.choice(ANSWERS) for _ in range(size)]
            weights = [generator.uniform(0.1, 1) for _ in range(size)]
            threshold = generator.choice([2.0, 3.0, 4.0, 4.5])
            quorum = generator.choice([None, 1, size])
            options = {"threshold": threshold, "quorum": quorum}
            full = await vet(answers, strategy, weights, **options)
            early = await vet(answers, strategy, weights, early_exit=True, **options)
            assert (early.status, early.accepted) == (full.status, full.accepted), (answers, weights, options)

    async def test_it_stops_as_soon_as_the_vote_is_settled(self):
        result = await vet([1, 5, 5], "majority_vote", early_exit=True)
        assert asked(result) == 3
        result = await vet([1, 1, 5], "majority_vote", early_exit=True)
        assert [agent.skipped for agent in result.agents] == [None, None, "early_exit"]
        assert (result.calls, result.accepted, result.final_score) == (2, False, 1.0)

    async def test_an_average_that_was_cut_short_has_bounds_and_no_score(self):
        result = await vet([1, 5, 5], "weighted_average", early_exit=True)
        assert asked(result) == 1
        assert (result.final_score, result.accepted) == (None, False)
        assert result.score_bounds == pytest.approx((1.0, 11 / 3))

    async def test_nobody_is_decided_about_without_anybody_asked(self):
        result = await vet([5, 5], "majority_vote", early_exit=True, threshold=5.0)
        assert asked(result) == 1
        assert result.accepted is False
