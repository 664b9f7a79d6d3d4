"""Thresholds: what is kept, asked and discarded, and how precise that is, against counting one by one."""

import importlib
import random
from collections import Counter

import pytest

from metajudge.stats.clustered import clustered_proportion
from metajudge.stats.intervals import wilson
from metajudge.store.dashboard import Spending
from metajudge.store.labelled import PairCount, Step, Tenth

standing_module = importlib.import_module("metajudge.api.pages.standing")
view = importlib.import_module("metajudge.api.pages.dashboard_view")
standing, Ladder = standing_module.standing, standing_module.Ladder


def counted(basis, rows, without=0, threshold=None):
    """A ladder of rows: value, question, right (None without a label)."""
    steps, changes, seen = {}, Counter(), {}
    for value, question, right in sorted(rows, key=lambda row: -row[0]):
        step = steps.setdefault(value, [0, 0, 0])
        step[0] += 1
        if right is not None:
            step[1], step[2] = step[1] + 1, step[2] + right
            hits, n = seen.get(question, (0, 0))
            changes[value, hits, n] -= n > 0
            changes[value, hits + right, n + 1] += 1
            seen[question] = hits + right, n + 1
    made = tuple(Step(value, *step) for value, step in sorted(steps.items()))
    told = tuple((*key, change) for key, change in sorted(changes.items(), reverse=True) if change)
    return Ladder(basis, made, without, len(seen), told, threshold)


def share(rows):
    """The interval by question, from the rows themselves."""
    known = [(right, question) for _, question, right in rows if right is not None]
    return clustered_proportion([right for right, _ in known], [one for _, one in known]) if known else None


def test_the_slider_reaches_the_threshold_in_use():
    rows = [(340, 1, True), (400, 2, True)]
    assert (counted("score", rows).low, counted("score", rows).high) == (300, 400)
    assert (counted("score", rows, threshold=450).high, counted("score", rows, threshold=250).low) == (500, 200)


def test_the_curve_is_what_each_threshold_gives():
    rng = random.Random(7)
    values = sorted(rng.sample(range(100, 500), 60))
    rows = [(rng.choice(values), rng.randrange(40), rng.choice((True, True, False, None))) for _ in range(300)]
    ladder = counted("score", rows, 24)
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
        assert (one.predicted, one.value) == pytest.approx((theirs.probability, theirs.right))
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
