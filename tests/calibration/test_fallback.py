"""Categories that were not fitted on: a model that is less sure of itself, chosen on categories left out."""

import json
import random

import numpy as np
import pytest

from metajudge import Engine
from metajudge.agents import Agent
from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.domain import Mark
from metajudge.calibration.fit import SLOPES, best_slope, fit_calibration
from metajudge.calibration.levels import draw_in
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Item, Judgment, Pairwise
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment, reply


def table_of(flipped, n=160):
    """One judge; its strong verdicts are right in most categories and wrong in the flipped ones."""
    rng = np.random.default_rng(4)
    judgments = []
    for category in ("c0", "c1", "c2", "c3", "c4", "c5"):
        for number in range(n):
            strong = rng.random() < 0.5
            good = rng.random() < (0.95 if strong != (category in flipped) else 0.2)
            item = Item(
                id=f"{category}-{number}",
                question=f"{category} {number}",
                responses={"A": "x", "B": "y"},
                category=category,
                label=Pairwise("A", "B", 1),
            )
            verdict = Pairwise("A", "B", 1 + strong) if good else Pairwise("B", "A", 1 + strong)
            judgments.append(Judgment(id=f"j-{item.id}", item=item, judge="owl", verdict=verdict))
    return build_table(judgments, ["strength"])


def unknown_level(table):
    return fit_calibration(table, repeats=1).groups[0].levels[-1]


@pytest.mark.slow
def test_where_categories_agree_the_model_stays_sure_and_where_they_differ_it_is_drawn_in():
    assert unknown_level(table_of(flipped=())).slope >= 0.75
    assert unknown_level(table_of(flipped=("c1", "c4"))).slope <= 0.5


def test_an_unknown_category_costs_less_than_without_drawing_in_and_known_ones_stay_as_sure():
    table = table_of(flipped=("c1", "c4"))
    new = np.array(table.categories) == "c4"
    calibration = fit_calibration(table.select(~new), repeats=1)
    drawn = calibration.probabilities(table.select(new))
    assert all(Mark.UNKNOWN_CATEGORY in marks for marks in drawn.marks)
    (group,) = calibration.groups
    plain = group.model_copy(update={"levels": tuple(one.model_copy(update={"slope": 1.0}) for one in group.levels)})
    bold = calibration.model_copy(update={"groups": (plain,)}).probabilities(table.select(new))
    truth = table.select(new).correct
    losses = [log_losses(np.ma.getdata(one.probabilities), truth).mean() for one in (drawn, bold)]
    assert losses[0] < losses[1]
    calibration = fit_calibration(table_of(flipped=("c1", "c4")), repeats=1)
    assert calibration.groups[0].levels[0].slope == 1
    table = table_of(flipped=())
    few = table.select(np.isin(np.array(table.categories), ["c0", "c1"]))
    assert unknown_level(few).slope == 1
    assert best_slope({slope: [] for slope in SLOPES}) == 1
    assert best_slope({slope: [0.3] for slope in SLOPES}) == 1
    assert best_slope({1.0: [0.3], 0.75: [0.3], 0.5: [0.2], 0.35: [0.2], 0.25: [0.3]}) == 0.5


@pytest.mark.parametrize("slope", [1.0, 0.5, 0.25])
def test_drawing_in_keeps_the_order_and_the_centre(slope):
    probabilities = np.array([0.0, 0.1, 0.6, 0.99, 1.0])
    drawn = draw_in(probabilities, slope, centre=0.4)
    assert (np.diff(drawn) > 0).all()
    assert draw_in(np.array([1 / (1 + np.exp(-0.4))]), slope, 0.4) == pytest.approx(1 / (1 + np.exp(-0.4)))
    assert (drawn[[0, -1]].tolist() == [0, 1]) is (slope == 1)  # only as they are can they be certain
    assert drawn[2] == pytest.approx(1 / (1 + np.exp(-0.4) * (1.5 / np.exp(0.4)) ** -slope))  # .6: odds of 1.5


# Finer agents' scores as evidence: the mean behind a vote, and the spread of draws as a signal of its own.
BINARY = load_rubric("binary")


async def vetted(judgments, script, *, samples=1, rubric="baseline", name="mini"):
    agent = Agent(name, ScriptedModel(script, name="m"), load_rubric(rubric), samples=samples)
    vetter = Vetter(Panel((agent,), StrategyName.SINGLE, 4.5))
    return [await vetter.vet(one) for one in judgments]


def in_turn(*scores, rubric):
    turn = iter(scores * 1000)
    return lambda _request: reply(next(turn), rubric)


def leaning(request):
    """A score about the judged text, a point up or down from draw to draw."""
    text = request.messages[-1].text
    base = 4 if "response B" in text.split("verdict")[-1] else 3
    rng = random.Random(f"{text}{request.draw}")
    return reply(base + rng.choice([-1, 0, 1]), load_rubric("baseline"))


async def test_draws_have_a_mean_and_a_spread_and_a_vote_the_share_behind_it_as_signals():
    found = await vetted([judgment("a")], in_turn(5, 3, 4, rubric=load_rubric("baseline")), samples=3)
    scores = AgentScores.from_assessments(found)
    assert (scores.scores, scores.spreads) == ({"a": {"mini": 4.0}}, {"a": {"mini": 1.0}})
    table = build_table([judgment("a"), judgment("b")], ["agents"], agent_scores=scores)
    spread = table.columns["agents.mini~spread"]
    assert (spread.values.tolist(), spread.present.tolist()) == ([1.0, 0.0], [True, False])
    assert table.columns["agents.mean"].values[0] == 4.0
    found = await vetted([judgment("a")], in_turn(4, rubric=load_rubric("baseline")))
    scores = AgentScores.from_assessments(found)
    assert scores.spreads == {}
    table = build_table([judgment("a")], ["agents"], agent_scores=scores)
    assert set(table.columns) == {"agents.mini", "agents.mean"}
    found = await vetted([judgment("a")], in_turn(5, 5, 1, 5, rubric=BINARY), samples=4, rubric="binary")
    assert found[0].final_score == 5.0
    assert AgentScores.from_assessments(found).scores == {"a": {"mini": 4.0}}


async def test_finer_scores_are_another_identity():
    plain = AgentScores.from_assessments(await vetted([judgment()], in_turn(4, rubric=load_rubric("baseline"))))
    drawn = AgentScores.from_assessments(
        await vetted([judgment()], in_turn(4, rubric=load_rubric("baseline")), samples=2)
    )
    assert (plain.agents, drawn.agents) == ({"mini": "m"}, {"mini": "m (mean of 2 draws)"})


@pytest.mark.slow
async def test_fitted_on_and_applied_to_draws_the_probability_reads_their_spread():
    records, fresh = crowd(60), crowd(12, seed=5, prefix="new")
    config = panel_config({"rubric": "baseline", "strategy": "single"})

    async def run(judgments, samples, **options):
        agents = ({"name": "m", "model": "object:m", "samples": samples},)
        found = {}
        panel = panel_config({**config.model_dump(), "agents": agents})
        async with Engine([ScriptedModel(leaning, name="m")], panel=panel, **options) as engine:
            await engine.vet_all(judgments, on_result=lambda _i, one, result: found.update({one.id: result}))
        return found

    fitted_on = await run(records, 3)
    scores = AgentScores.from_assessments(fitted_on.values())
    table = build_table(records, ["agents"], agent_scores=scores)
    calibration = fit_calibration(table, repeats=1)
    assert calibration.identity.agents == {"m": "m (mean of 3 draws)"}

    found = await run(fresh, 3, calibration=calibration)
    same = build_table(fresh, ["agents"], agent_scores=AgentScores.from_assessments(found.values()))
    expected = np.ma.getdata(calibration.probabilities(same).probabilities)
    assert [found[name].probability for name in same.judgment_ids] == pytest.approx(list(expected), abs=1e-9)
    assert json.loads(found[fresh[0].id].model_dump_json())["agents"][0]["spread"] is not None

    with pytest.raises(InputError, match=r"its agents are m \(m \(mean of 3 draws\)\), here m \(m\)"):
        await run(fresh, 1, calibration=calibration)
