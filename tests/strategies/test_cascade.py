"""The cascade: who is asked, who decides, and why."""

import pytest

from metajudge.agents import Agent
from metajudge.calibration.cascade import CascadePlan, CascadeStage
from metajudge.errors import ConfigurationError, FailureKind, ServerError
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.scoring import exceeds
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Status
from tests.doubles.judgments import judgment, reply

# Score 1 -> 0.018, 2 -> 0.119, 3 -> 0.5, 4 -> 0.881, 5 -> 0.982
CURVE = {"intercept": -6.0, "slope": 2.0}
PLAN = CascadePlan(
    stages=(CascadeStage(agents=("cheap",), **CURVE), CascadeStage(agents=("strong", "third"), **CURVE)),
    band=(0.1, 0.9),
    cut=0.6,
)
RUBRIC = load_rubric("short")


def model(name, *scores):
    answers = [one if isinstance(one, Exception) else reply(one) for one in scores]
    return ScriptedModel(answers, name=name)


def vetter(plan=PLAN, **models):
    agents = tuple(Agent(name=name, model=one, rubric=RUBRIC) for name, one in models.items())
    panel = Panel(agents=agents, strategy=StrategyName.CASCADE, threshold=plan.threshold, cascade=plan)
    return Vetter(panel), {name: one.requests for name, one in models.items()}


async def vet(cheap, strong=(), third=(), plan=PLAN):
    models = {"cheap": model("c", *cheap), "strong": model("s", *strong), "third": model("t", *third)}
    vetting, asked = vetter(plan, **models)
    return await vetting.vet(judgment()), {name: len(requests) for name, requests in asked.items()}


@pytest.mark.parametrize(("score", "accepted", "word"), [(5, True, "above"), (1, False, "below")])
async def test_a_sure_first_stage_decides_alone_and_says_so(score, accepted, word):
    found, asked = await vet([score])
    assert (found.status, found.accepted, asked) == (
        Status.ASSESSED,
        accepted,
        {"cheap": 1, "strong": 0, "third": 0},
    )
    assert (found.cascade.decided_by, found.cascade.plan) == (0, PLAN.digest)
    assert f"is {word} the band of doubt" in found.cascade.reason
    assert [one.skipped for one in found.agents] == [None, "cascade", "cascade"]
    assert found.calls == 1


@pytest.mark.parametrize(("later", "accepted"), [((5, 4), True), ((4, 3), True), ((3, 3), False), ((1, 5), False)])
async def test_doubt_is_escalated_and_the_last_stage_decides_by_the_cut(later, accepted):
    found, asked = await vet([3], later[:1], later[1:])
    assert (found.accepted, asked) == (accepted, {"cheap": 1, "strong": 1, "third": 1})
    assert [step.outcome for step in found.cascade.steps] == ["escalated", "accepted" if accepted else "rejected"]
    assert found.cascade.decided_by == 1
    assert "the last" in found.cascade.reason
    assert exceeds(found.final_score, found.threshold) == accepted


@pytest.mark.parametrize("score", [2, 4])
async def test_scores_whose_probability_lies_in_the_band_are_escalated(score):
    _, asked = await vet([score], [5], [5])
    assert asked["strong"] == 1


async def test_the_ends_of_the_band_are_doubt():
    p = PLAN.stages[0].probability(4.0)
    _, asked = await vet([4], [5], [5], plan=PLAN.with_band((0.1, p)))
    assert asked["strong"] == 1
    _, asked = await vet([4], [5], [5], plan=PLAN.with_band((0.1, p - 2e-9)))
    assert asked["strong"] == 0


async def test_a_stage_without_a_score_is_escalated_and_never_taken_for_a_rejection():
    found, asked = await vet([ServerError("down")], [5], [5])
    assert (found.accepted, asked["strong"]) == (True, 1)
    assert [step.outcome for step in found.cascade.steps] == ["no_score", "accepted"]


async def test_a_last_stage_without_a_score_leaves_the_judgment_unscored_though_the_first_leaned():
    found, _ = await vet([4], [ServerError("down")], [ServerError("down")])
    assert (found.status, found.accepted, found.final_score) == (Status.UNSCORED, None, None)
    assert found.failure.kind is FailureKind.SERVER_ERROR
    assert (found.cascade.decided_by, found.cascade.steps[1].outcome) == (None, "no_score")


async def test_half_of_a_stage_is_no_majority():
    found, _ = await vet([3], [5], [ServerError("down")])
    assert found.status is Status.UNSCORED


async def test_an_agent_named_in_two_stages_is_asked_once():
    plan = CascadePlan(
        stages=(CascadeStage(agents=("cheap",), **CURVE), CascadeStage(agents=("cheap", "strong"), **CURVE)),
        band=(0.1, 0.9),
        cut=0.6,
    )
    vetting, asked = vetter(plan, cheap=model("c", 3), strong=model("s", 5))
    found = await vetting.vet(judgment())
    assert (found.accepted, len(asked["cheap"])) == (True, 1)
    assert found.cascade.steps[1].score == 4.0


async def test_probabilities_are_recorded_on_the_scale_on_the_side_of_the_threshold_they_decide_for():
    for cheap in (1, 5):
        found, _ = await vet([cheap])
        assert exceeds(found.final_score, found.threshold) == found.accepted


def test_another_band_or_curve_is_another_panel():
    one, _ = vetter(PLAN, cheap=model("c"), strong=model("s"), third=model("t"))
    other, _ = vetter(PLAN.with_band((0.2, 0.9)), cheap=model("c"), strong=model("s"), third=model("t"))
    assert one.default.digest != other.default.digest
    assert one.key(judgment()) != other.key(judgment())


def test_a_band_that_does_not_hold_the_cut_is_refused():
    with pytest.raises(ConfigurationError, match="must contain the cut"):
        PLAN.with_band((0.7, 0.9))


def test_a_cascade_without_a_plan_and_a_plan_without_a_cascade_are_refused():
    agents = (Agent(name="cheap", model=model("c"), rubric=RUBRIC),)
    with pytest.raises(ConfigurationError, match="go together"):
        Panel(agents=agents, strategy=StrategyName.CASCADE, threshold=3.0)
    with pytest.raises(ConfigurationError, match="go together"):
        Panel(agents=agents, strategy=StrategyName.SINGLE, threshold=3.0, cascade=PLAN)
