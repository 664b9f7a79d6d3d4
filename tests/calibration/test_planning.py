"""How many labels a guarantee takes: those of the fit are counted, and the stated power holds for any fit."""

import numpy as np
import pytest
from scipy.special import expit

from metajudge.calibration import Guarantee, Looks
from metajudge.calibration.planning import ENOUGH_TO_SPLIT, Curve, plan, use_of
from metajudge.errors import InputError
from metajudge.vetting.looking import LookRequest, ReferenceScores


@pytest.mark.parametrize(("rate", "coverage"), [(0.95, 0.6), (0.9, 1.0), (0.99, 0.2)])
def test_the_population_has_the_rate_at_the_coverage(rate, coverage):
    curve = Curve.of(rate, coverage)
    z = np.random.default_rng(0).standard_normal(400_000)
    right = expit(curve.centre + curve.spread * z)
    assert right[z >= np.quantile(z, 1 - coverage)].mean() == pytest.approx(rate, abs=0.003)
    assert curve.precision(coverage) == pytest.approx(rate, abs=1e-6)


def test_the_labels_of_the_fit_are_counted():
    alone, split = (plan(0.8, 0.1, 0.97, share=share) for share in (0.0, 0.4))
    assert alone.fit == 0
    assert split.total == split.fit + split.threshold
    assert split.fit == pytest.approx(0.4 * split.total, abs=1)
    crossed = plan(0.8, 0.1, 0.97, use="cross-fit")
    assert crossed.total == crossed.threshold < split.total


@pytest.mark.slow
def test_more_power_takes_more_labels():
    numbers = [plan(0.85, 0.1, 0.93, power=power).total for power in (0.5, 0.8, 0.95)]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]


def seen_power(planned, curve, target, delta, fit, repetitions):
    """Share of first looks that pass with the labels planned; log-odds of the scores are multiplied by ``fit``."""
    rng, passed = np.random.default_rng([0, 29]), 0
    names = [f"q{at}" for at in range(planned.threshold)]
    for _ in range(repetitions):
        odds = curve.centre + curve.spread * rng.standard_normal(planned.total)
        scores, right = expit(fit * odds), rng.random(planned.total) < expit(odds)
        reference, new = ReferenceScores(tuple(scores[: planned.fit].tolist()), None), slice(planned.fit, None)
        request = LookRequest(target=target, delta=delta, reference=reference)
        passed += isinstance(request.test(scores[new], right[new], names, approximate=False, looks=Looks()), Guarantee)
    return passed / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("fit", [0.6, 1.0, 1.6], ids=["timid", "calibrated", "bold"])
def test_the_stated_power_holds_within_five_points_whatever_the_fit(fit):
    target, delta = 0.85, 0.1
    planned, curve = plan(target, delta, 0.95, coverage=0.6), Curve.of(0.95, 0.6)
    assert seen_power(planned, curve, target, delta, fit, 600) == pytest.approx(planned.power, abs=0.05)


def test_few_labels_are_cross_fitted_and_many_are_split_and_it_says_why():
    few, why_few = use_of(ENOUGH_TO_SPLIT - 1)
    many, why_many = use_of(ENOUGH_TO_SPLIT)
    assert (few, many) == ("cross-fit", "split")
    assert "approximate" in why_few
    assert "exact" in why_many


@pytest.mark.parametrize("rate", [0.9, 0.5, 1.1])
def test_a_plan_for_a_precision_not_above_the_target_is_refused(rate):
    with pytest.raises(InputError, match=r"above the target|between 0 and 1"):
        plan(0.9, 0.1, rate)


def test_a_rate_too_close_to_the_target_is_refused():
    with pytest.raises(InputError, match="too close"):
        plan(0.9, 0.1, 0.9001)


@pytest.mark.parametrize("wrong", [{"coverage": 0}, {"power": 1}, {"share": 1}])
def test_arguments_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match="must lie"):
        plan(0.85, 0.1, 0.95, **wrong)
