"""Finer agents' scores as evidence: the mean behind a vote, and the spread of draws as a signal of its own."""

import json
import random

import numpy as np
import pytest

from metajudge import Engine
from metajudge.agents import Agent
from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.strategies import Panel, StrategyName, Vetter
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment, reply

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
