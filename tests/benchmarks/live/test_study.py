"""The simulation of the analysis: planted effects, and wrong verdicts at most at the stated level."""

import json

import pytest
from metajudge.benchmarks.live.scripted import planted_area
from metajudge.benchmarks.live.setup import load_setup
from metajudge.benchmarks.live.study import no_help, scenarios, simulate


def test_the_area_of_one_agent_is_its_accuracy_and_copies_of_a_coin_add_nothing():
    assert planted_area([0.75]) == pytest.approx(0.75)
    assert planted_area([0.5, 0.5, 0.5]) == pytest.approx(0.5)
    assert planted_area([0.8, 0.8, 0.8]) > 0.8
    assert planted_area([0.75, *[no_help(0.75, 2)] * 2]) == pytest.approx(0.75)


@pytest.mark.slow
@pytest.mark.parametrize("questions", [60, 300])
def test_wrong_verdicts_are_as_rare_as_stated_and_intervals_contain_what_is_planted(questions):
    nothing, planted = (simulate(one, 200, questions, 0) for one in scenarios(load_setup()))
    assert nothing["family"]["value"] <= 0.05
    assert planted["family"]["value"] <= 0.05
    for result in (nothing, planted):
        assert json.loads(json.dumps(result)) == result
        for one in result["comparisons"]:
            assert one["covered"] >= 0.97
            assert one["mean"] == pytest.approx(one["planted"], abs=0.02)
    strong = next(one for one in planted["comparisons"] if one["comparison"] == "panel against free evidence")
    assert strong["yes"] >= strong["stated"] - 0.1
    assert strong["yes"] > 0.7
