"""The fit of a cascade: curves, bands and what they promise."""

import numpy as np
import pytest

from metajudge.calibration.cascade_fit import (
    StagedScores,
    choose_band,
    fit_curve,
    held_out,
    last_stage_alone,
    out_of_fold,
    plan_cascade,
    run_cascade,
)
from metajudge.calibration.files import load_cascade_plan
from metajudge.errors import InputError
from tests.calibration.staged import STAGES, made


def test_the_curve_is_the_logistic_one_that_made_the_labels():
    rng = np.random.default_rng(1)
    scores = rng.uniform(1, 5, 20_000)
    right = rng.random(20_000) < 1 / (1 + np.exp(-(-4.0 + 1.5 * scores)))
    intercept, slope = fit_curve(scores, right)
    assert (intercept, slope) == (pytest.approx(-4.0, abs=0.15), pytest.approx(1.5, abs=0.05))


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


def test_what_is_expected_of_new_questions_comes_from_plans_that_did_not_see_them():
    plan, new = plan_cascade(made(), STAGES), made(n=20_000, seed=5)
    expected = plan.provenance.held_out
    p = np.array([[stage.probability(one) for stage, one in zip(plan.stages, row, strict=True)] for row in new.scores])
    run, alone = run_cascade(p, new.costs, plan.band, plan.cut), last_stage_alone(p, new.costs, plan.cut)
    difference = run.precision(new.correct) - alone.precision(new.correct)
    assert expected.low <= difference <= expected.high
    assert expected.low < expected.high
    assert expected.share_of_cost < 1


def test_the_band_chosen_on_labels_looks_better_there_than_on_questions_held_out():
    plans = [plan_cascade(made(n=100, seed=seed), STAGES).provenance for seed in range(8)]
    on_labels = [one.precision - one.reference_precision for one in plans]
    elsewhere = [one.held_out.precision - one.held_out.reference_precision for one in plans]
    assert min(on_labels) >= 0 > min(elsewhere)
    assert np.mean(elsewhere) < np.mean(on_labels)


def test_where_nothing_is_kept_there_is_nothing_to_expect():
    assert held_out(made(n=120), 1.0) is None
