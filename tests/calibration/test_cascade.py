"""Plans of cascades: curves, the band of doubt, files."""

import json

import numpy as np
import pytest

from metajudge.calibration.cascade import CascadePlan, CascadeStage
from metajudge.calibration.cascade_fit import (
    StagedScores,
    choose_band,
    fit_curve,
    last_stage_alone,
    out_of_fold,
    plan_cascade,
    run_cascade,
)
from metajudge.calibration.cascade_scores import staged_scores
from metajudge.calibration.files import load_cascade_plan
from metajudge.errors import InputError
from metajudge.types import Assessment
from tests.doubles.judgments import judgment

STAGES = [("cheap",), ("strong",)]


def made(n=600, seed=0, cheap=1.0, strong=2.5):
    """Judgments of which both stages know something, the second one more."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.6
    sign = np.where(right, 1.0, -1.0)
    scores = np.column_stack([3 + 0.6 * (know * sign + rng.normal(size=n)) for know in (cheap, strong)])
    costs = np.tile([1.0, 20.0], (n, 1))
    return StagedScores(scores, right, tuple(f"q{number // 2}" for number in range(n)), costs)


def test_the_curve_is_the_logistic_one_that_made_the_labels():
    rng = np.random.default_rng(1)
    scores = rng.uniform(1, 5, 20_000)
    right = rng.random(20_000) < 1 / (1 + np.exp(-(-4.0 + 1.5 * scores)))
    intercept, slope = fit_curve(scores, right)
    assert (intercept, slope) == (pytest.approx(-4.0, abs=0.15), pytest.approx(1.5, abs=0.05))


def test_the_array_path_decides_as_the_plan_does_one_by_one():
    plan = CascadePlan(
        stages=tuple(CascadeStage(agents=names, intercept=-6.0, slope=2.0) for names in STAGES),
        band=(0.2, 0.8),
        cut=0.5,
    )
    scores = made().scores.round(1)
    p = np.array([[stage.probability(one) for stage, one in zip(plan.stages, row, strict=True)] for row in scores])
    run = run_cascade(p, np.ones_like(p), plan.band, plan.cut)
    for number, row in enumerate(p):
        first = plan.step(0, row[0])
        word = first if first != "escalate" else plan.step(1, row[1])
        assert (word == "accept", first == "escalate") == (run.accepted[number], run.decided_by[number] == 1)
        assert run.cost[number] == 1 + run.decided_by[number]


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.8])
def test_the_band_is_as_precise_and_keeps_as_many_as_the_last_stage_at_less_cost(cut):
    data = made()
    p = out_of_fold(data, folds=5, seed=0)
    band = choose_band(p, data.correct, data.costs, cut)
    run, alone = run_cascade(p, data.costs, band, cut), last_stage_alone(p, data.costs, cut)
    assert run.precision(data.correct) >= alone.precision(data.correct) - 1e-12
    assert run.accepted.sum() >= alone.accepted.sum()
    assert run.cost.sum() < alone.cost.sum()
    assert band[0] <= cut <= band[1]


def test_probabilities_are_out_of_fold_by_question():
    data = made(n=60)
    before = out_of_fold(data, folds=5, seed=0)
    turned = data.correct.copy()
    turned[:2] = ~turned[:2]  # both judgments of one question
    after = out_of_fold(StagedScores(data.scores, turned, data.questions, data.costs), folds=5, seed=0)
    assert (before[:2] == after[:2]).all()
    assert (before != after).any()


@pytest.mark.parametrize("cheap", [-1.0, 0.0])
def test_a_stage_that_knows_nothing_or_the_opposite_is_refused_rather_than_fitted_to_noise(cheap):
    with pytest.raises(InputError, match="do not rise with correctness"):
        plan_cascade(made(cheap=cheap), STAGES)


def test_what_a_plan_promises_holds_on_new_judgments():
    plan, new = plan_cascade(made(), STAGES), made(seed=1)
    p = np.array([[stage.probability(one) for stage, one in zip(plan.stages, row, strict=True)] for row in new.scores])
    run, alone = run_cascade(p, new.costs, plan.band, plan.cut), last_stage_alone(p, new.costs, plan.cut)
    assert run.precision(new.correct) > alone.precision(new.correct) - 0.03
    assert run.cost.sum() < 0.95 * alone.cost.sum()


def test_too_few_labels_or_labels_all_alike_are_refused():
    with pytest.raises(InputError, match="at least 20"):
        fit_curve(np.arange(10.0), np.arange(10) > 5)
    with pytest.raises(InputError, match="right and wrong ones"):
        fit_curve(np.arange(50.0), np.ones(50, dtype=bool))


def test_a_plan_says_what_it_was_fitted_on_and_comes_back_from_its_file(tmp_path):
    plan = plan_cascade(made(), STAGES)
    found = plan.provenance
    assert (found.judgments, found.questions, found.asked[0], found.cost_unit) == (600, 300, 600, "dollars")
    assert 0 < found.asked[1] < 600
    (tmp_path / "p.json").write_text(plan.model_dump_json())
    assert load_cascade_plan(tmp_path / "p.json") == plan
    assert plan.digest == plan.model_copy(update={"provenance": None}).digest


@pytest.mark.parametrize("content", ["no JSON", "{}", json.dumps({"stages": [], "band": [0, 1], "cut": 0.5})])
def test_a_file_that_is_no_plan_is_refused(tmp_path, content):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(InputError, match="calibrate cascade"):
        load_cascade_plan(tmp_path / "p.json")
    with pytest.raises(InputError, match="can be read"):
        load_cascade_plan(tmp_path / "none.json")


def assessment(name, scores, cost=0.01, cached=0):
    agents = [
        {"agent": agent, "model": f"model-{agent}", "weight": 1.0, "score": score, "cost_usd": cost, "calls": 1}
        | {"cached_calls": cached}
        | ({} if score is not None else {"failure": {"kind": "timeout", "message": "late"}})
        for agent, score in scores.items()
    ]
    plain = {"item_id": "i", "judge": "owl", "status": "unscored", "strategy": "majority_vote", "threshold": 4.5}
    return Assessment.model_validate(
        {**plain, "judgment_id": name, "agents": agents, "panel_digest": "p", "judgment_digest": "j"}
        | {"metajudge_version": "0"}
    )


def test_a_judgment_that_some_stage_did_not_score_is_left_out_and_counted():
    judgments = {f"j{n}": judgment(f"j{n}") for n in range(3)}
    said = {
        "j0": assessment("j0", {"cheap": 3.0, "strong": 5.0}),
        "j1": assessment("j1", {"cheap": 3.0, "strong": None}),
    }
    data = staged_scores(judgments, said, STAGES)
    assert (data.scores.tolist(), data.left_out, data.cost_unit) == ([[3.0, 5.0]], 2, "dollars")
    assert data.costs.tolist() == [[0.01, 0.01]]


def test_replies_from_a_store_have_no_price_so_calls_are_counted():
    data = staged_scores(
        {"j0": judgment("j0")}, {"j0": assessment("j0", {"cheap": 3.0, "strong": 5.0}, cost=0.0, cached=1)}, STAGES
    )
    assert data.cost_unit == "calls"


def test_one_stage_or_an_unknown_agent_is_refused():
    said = {"j0": assessment("j0", {"cheap": 3.0})}
    with pytest.raises(InputError, match="at least two stages"):
        staged_scores({"j0": judgment("j0")}, said, [("cheap",)])
    with pytest.raises(InputError, match="no scores by strong; there are scores by cheap"):
        staged_scores({"j0": judgment("j0")}, said, STAGES)
