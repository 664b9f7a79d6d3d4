"""Thresholds: what is kept, asked and discarded, and how precise that is, against counting one by one."""

import importlib
import random
from collections import Counter

import pytest

from metajudge.stats.intervals import wilson
from metajudge.store.dashboard import Spending
from metajudge.store.labelled import PairCount, Step, Tenth

standing_module = importlib.import_module("metajudge.api.pages.standing")
view = importlib.import_module("metajudge.api.pages.dashboard_view")
standing, Ladder = standing_module.standing, standing_module.Ladder


@pytest.fixture(scope="module")
def ladder():
    rng = random.Random(7)
    steps = []
    for value in sorted(rng.sample(range(100, 500), 150)):
        n = rng.randrange(1, 9)
        labelled = rng.randrange(n + 1)
        steps.append(Step(value, n, labelled, rng.randrange(labelled + 1)))
    return Ladder("score", tuple(steps), 24, 40)


@pytest.mark.parametrize("keep", [0, 100, 237, 300, 310, 449, 450, 499, 500])
@pytest.mark.parametrize("gap", [0, 70])
def test_scores_above_are_kept_and_scores_up_to_are_discarded(ladder, keep, gap):
    now = standing(ladder, keep, keep - gap)
    above = [step for step in ladder.steps if step.value > keep]
    low = sum(step.n for step in ladder.steps if step.value <= keep - gap)
    kept, n, right = (sum(getattr(step, name) for step in above) for name in ("n", "labelled", "right"))
    assert (now.kept, now.discarded, now.asked) == (kept, low, ladder.n - kept - low)
    assert now.precision == (wilson(right, n) if n else None)
    assert now.coverage == kept / ladder.n


def test_a_probability_at_its_threshold_is_kept():
    ladder = Ladder("probability", (Step(69, 2, 1, 0), Step(70, 3, 2, 1)), 1)
    now = standing(ladder, 70, 70)
    assert (now.kept, now.discarded, now.asked, now.precision) == (3, 2, 1, wilson(1, 2))


def test_without_labels_there_is_no_precision_rather_than_a_number():
    ladder = Ladder("score", (Step(300, 2, 0, 0),), 0)
    now = standing(ladder, 100, 100)
    assert (now.kept, now.precision) == (2, None)
    assert standing_module.words_of(now)["precision"] == "none"
    assert standing_module.curve(ladder) == []


def test_nothing_at_all_has_no_coverage():
    now = standing(Ladder("score", (), 0), 450, 450)
    assert now.coverage is None
    assert standing_module.words_of(now)["coverage"] == "none"


def test_the_curve_is_what_each_threshold_gives(ladder):
    points = standing_module.curve(ladder)
    assert points
    for point in points:
        now = standing(ladder, point.threshold, point.threshold)
        assert (now.coverage, now.precision) == (point.coverage, point.precision)
    thin = standing_module.thinned(points, 10)
    assert len(thin) == 10
    assert (thin[0], thin[-1]) == (points[0], points[-1])


def test_heat_maps_are_symmetric_and_hold_intervals():
    heat = view.heat_map([PairCount("b", "a", 10, 9), PairCount("c", "a", 2, 0)])
    assert heat.names == ("a", "b", "c")
    assert heat.rows[0][1] == heat.rows[1][0]
    assert heat.rows[0][1].share == wilson(9, 10)
    assert heat.rows[1][1] is None
    assert heat.rows[1][2].share is None
    assert view.heat_map([]) is None
    assert view.heat_map([PairCount("a", f"m{n}", n + 1, 1) for n in range(20)]).left_out == 9


def test_reliability_is_the_librarys():
    import numpy as np

    from metajudge.calibration.quality import reliability_bins

    rng = np.random.default_rng(3)
    probabilities, correct, questions = rng.random(400), rng.random(400) < 0.6, rng.integers(0, 120, 400)
    tenths = []
    for place in range(10):
        mine = (probabilities * 10).astype(int) == place
        each = [correct[mine & (questions == one)] for one in np.unique(questions[mine])]
        tenths.append(Tenth(place, probabilities[mine].sum(), Counter((int(one.sum()), len(one)) for one in each)))
    ours = view.calibration_bins(tenths)
    for one, theirs in zip(ours, reliability_bins(probabilities, correct, list(map(str, questions))), strict=True):
        assert one.n == theirs.n
        assert (one.predicted, one.observed) == pytest.approx((theirs.probability, theirs.right))
        assert (one.low, one.high) == pytest.approx((theirs.right_low, theirs.right_high))
    assert view.calibration_bins([]) == []
    assert "dashed" in view.calibration_chart(ours)


def test_names_in_charts_are_only_names():
    hostile = "<script>alert(1)</script>&\"'"
    chart = view.cost_over_time([Spending(day, hostile, 1, 0, 1.0, 0, 1, 1) for day in (1, 2)])
    assert "<script" not in chart.svg
    assert "&lt;script&gt;" in chart.svg


def test_halves_are_rounded_upwards_as_the_script_does():
    assert standing_module.tenths(1 / 16) == "6.3 %"
    assert standing_module.tenths(1.0) == "100.0 %"
