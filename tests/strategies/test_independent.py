"""single, weighted_average and majority_vote: decisions, missing answers, early exit."""

import random
from itertools import product

import pytest

from metajudge.agents import Agent
from metajudge.errors import ConfigurationError, FailureKind, ServerError
from metajudge.providers.model import Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Status
from tests.doubles.judgments import judgment, reply

BASELINE = load_rubric("baseline")
ANSWERS = (None, 1, 3, 4, 5)


def member(name, answer, *, weight=1.0, rubric=BASELINE, **options):
    """An agent who gives one overall score, or fails (None)."""

    def script(_request):
        return ServerError("down", status=500) if answer is None else reply(answer, rubric)

    return Agent(name=name, model=ScriptedModel(script, name=name), rubric=rubric, weight=weight, **options)


def panel(answers, strategy, weights=None, **options):
    weights = weights or [1.0] * len(answers)
    agents = tuple(
        member(f"a{i}", answer, weight=w) for i, (answer, w) in enumerate(zip(answers, weights, strict=True))
    )
    return Panel(agents=agents, strategy=StrategyName(strategy), threshold=options.pop("threshold", 4.5), **options)


async def vet(*args, **options):
    return await Vetter(panel(*args, **options)).vet(judgment())


def asked(result):
    return sum(agent.skipped is None for agent in result.agents)


class TestFullPanels:
    async def test_single(self):
        result = await vet([5], "single")
        assert (result.status, result.final_score, result.accepted) == (Status.ASSESSED, 5.0, True)

    async def test_weighted_average(self):
        result = await vet([5, 4], "weighted_average", [0.6, 0.4])
        assert result.final_score == pytest.approx(4.6)
        assert result.accepted

    async def test_an_average_of_exactly_the_threshold_is_not_accepted(self):
        result = await vet([5, 4], "weighted_average")
        assert result.final_score == 4.5
        assert result.accepted is False

    async def test_of_two_voters_both_must_exceed(self):
        assert (await vet([5, 4], "majority_vote")).final_score == 1.0
        assert (await vet([5, 5], "majority_vote")).final_score == 5.0

    async def test_every_agent_is_in_the_result_with_reasons(self):
        result = await vet([5, 1, 5], "majority_vote")
        assert [agent.score for agent in result.agents] == [5, 1, 5]
        assert all(agent.criteria["overall"].explanation for agent in result.agents)
        assert (result.calls, result.strategy, result.threshold) == (3, "majority_vote", 4.5)


class TestMissingAnswers:
    async def test_a_vote_that_the_missing_one_could_turn_is_unscored(self):
        result = await vet([5, None], "majority_vote")
        assert (result.status, result.final_score, result.accepted) == (Status.UNSCORED, None, None)
        assert result.failure.kind is FailureKind.SERVER_ERROR
        assert "1 of 2 agents answered" in result.failure.message

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


class TestPanelChecks:
    def test_no_agents(self):
        with pytest.raises(ConfigurationError, match="needs at least one agent"):
            panel([], "majority_vote")

    def test_single_takes_one(self):
        with pytest.raises(ConfigurationError, match="single takes one agent, got 2"):
            panel([5, 5], "single")

    @pytest.mark.parametrize("threshold", [0.5, 5.5])
    def test_threshold_outside_the_scale(self, threshold):
        with pytest.raises(ConfigurationError, match="outside the scale"):
            panel([5], "single", threshold=threshold)

    def test_an_agent_given_twice_by_name(self):
        with pytest.raises(ConfigurationError, match="a is given more than once"):
            Panel((member("a", 5), member("a", 5)), StrategyName.MAJORITY_VOTE, 4.5)

    def test_the_same_agent_under_two_names_would_vote_twice(self):
        twins = [Agent(name=name, model=ScriptedModel([], name="m"), rubric=BASELINE) for name in ("one", "two")]
        with pytest.raises(ConfigurationError, match="one answer counted twice"):
            Panel(tuple(twins), StrategyName.MAJORITY_VOTE, 4.5)

    def test_the_same_model_in_two_roles_is_two_agents(self):
        roles = [
            Agent(name=role, model=ScriptedModel([], name="m"), rubric=BASELINE, role=role)
            for role in ("expert", "critic")
        ]
        assert len(Panel(tuple(roles), StrategyName.MAJORITY_VOTE, 4.5).agents) == 2

    def test_binary_votes_enter_an_average_only_when_asked_to(self):
        binary = load_rubric("binary")
        agents = (member("vote", 5, rubric=binary), member("score", 4))
        with pytest.raises(ConfigurationError, match="average_votes = true"):
            Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5)
        assert Panel(agents, StrategyName.WEIGHTED_AVERAGE, 4.5, average_votes=True)
        assert Panel(agents, StrategyName.MAJORITY_VOTE, 4.5)

    def test_a_summariser_needs_a_discussion(self):
        with pytest.raises(ConfigurationError, match="belongs to panel_discussion"):
            Panel((member("a", 5),), StrategyName.SINGLE, 4.5, summariser=member("s", 5))

    def test_the_digest_knows_what_changes_an_assessment(self):
        base = panel([5, 5], "majority_vote")
        assert panel([5, 5], "majority_vote").digest == base.digest
        changes = [
            panel([5, 5], "majority_vote", threshold=4.0),
            panel([5, 5], "weighted_average"),
            panel([5, 5], "majority_vote", [1, 2]),
            panel([5, 5], "majority_vote", early_exit=True),
            panel([5, 5, 5], "majority_vote"),
            Panel(
                (member("a0", 5), member("a1", 5, parameters=Parameters(temperature=1))),
                StrategyName.MAJORITY_VOTE,
                4.5,
            ),
        ]
        assert len({base.digest, *(one.digest for one in changes)}) == len(changes) + 1
