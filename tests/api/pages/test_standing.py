"""Thresholds: what is kept, asked and discarded, and how precise that is, against counting one by one."""

import importlib
import random

import pytest

from metajudge.stats.intervals import wilson
from metajudge.store.dashboard import Fact, JudgeCount, PairCount, Spending

standing_module = importlib.import_module("metajudge.api.pages.standing")
view = importlib.import_module("metajudge.api.pages.dashboard_view")
figures = importlib.import_module("metajudge.api.pages.figures")
ladder_of, standing = standing_module.ladder_of, standing_module.standing


def fact(number, **changes):
    values = {
        "number": number,
        "assessment_id": number,
        "created_at": 86_400.0 * number,
        "judgment_digest": f"d{number}",
        "item_digest": f"i{number // 2}",
        "panel_digest": "p",
        "judge": "owl",
        "final_score": 3.0,
        "accepted": True,
        "threshold": 4.5,
        "probability": 0.5,
        "action": None,
        "policy": None,
        "kind": "pairwise",
        "graded": None,
        "answer": "A",
        "right": None,
    }
    return Fact(**{**values, **changes})


@pytest.fixture(scope="module")
def facts():
    rng = random.Random(7)
    return [
        fact(
            number,
            final_score=None if number % 17 == 0 else rng.choice([rng.uniform(1, 5), round(rng.uniform(1, 5), 1)]),
            probability=None if number % 13 == 0 else rng.choice([rng.random(), round(rng.random(), 1)]),
            right=None if number % 5 == 0 else rng.random() < 0.6,
        )
        for number in range(400)
    ]


@pytest.fixture(scope="module")
def right(facts):
    return view.known(facts, {}, "truth")


@pytest.mark.parametrize("keep", [0, 100, 237, 300, 310, 449, 450, 499, 500])
@pytest.mark.parametrize("gap", [0, 70])
def test_scores_are_counted_as_one_by_one(facts, right, keep, gap):
    now = standing(ladder_of(facts, "score", right), keep, keep - gap)
    kept = [one for one in facts if one.final_score is not None and round(one.final_score, 9) > keep / 100]
    low = [one for one in facts if one.final_score is not None and round(one.final_score, 9) <= (keep - gap) / 100]
    said = [right[one.number] for one in kept if one.number in right]
    assert (now.kept, now.discarded, now.asked) == (len(kept), len(low), 400 - len(kept) - len(low))
    assert now.precision == (wilson(sum(said), len(said)) if said else None)
    assert now.coverage == len(kept) / 400


@pytest.mark.parametrize("keep", [0, 1, 10, 50, 70, 99, 100])
def test_a_probability_at_its_threshold_is_kept(facts, right, keep):
    now = standing(ladder_of(facts, "probability", right), keep, keep)
    kept = [one for one in facts if one.probability is not None and round(one.probability, 9) >= keep / 100]
    said = [right[one.number] for one in kept if one.number in right]
    assert now.kept == len(kept)
    assert now.precision == (wilson(sum(said), len(said)) if said else None)


@pytest.mark.parametrize("noise", [0.0, 1e-12, -1e-12, 4e-10])
def test_float_noise_does_not_push_a_score_over_its_threshold(noise):
    now = standing(ladder_of([fact(1, final_score=4.5 + noise)], "score", {}), 450, 450)
    assert now.kept == 0
    now = standing(ladder_of([fact(1, probability=0.7 + noise)], "probability", {}), 70, 70)
    assert now.kept == 1


def test_without_labels_there_is_no_precision_rather_than_a_number():
    ladder = ladder_of([fact(1), fact(2)], "score", {})
    now = standing(ladder, 100, 100)
    assert (now.kept, now.precision) == (2, None)
    assert standing_module.words_of(now)["precision"] == "none"
    assert standing_module.curve(ladder) == []


def test_nothing_at_all_has_no_coverage():
    now = standing(ladder_of([], "score", {}), 450, 450)
    assert now.coverage is None
    assert standing_module.words_of(now)["coverage"] == "none"


def test_the_curve_is_what_each_threshold_gives(facts, right):
    ladder = ladder_of(facts, "score", right)
    points = standing_module.curve(ladder)
    assert points
    for point in points:
        now = standing(ladder, point.threshold, point.threshold)
        assert (now.coverage, now.precision) == (point.coverage, point.precision)
    thin = standing_module.thinned(points, 10)
    assert len(thin) == 10
    assert (thin[0], thin[-1]) == (points[0], points[-1])


def test_people_are_believed_before_labels():
    facts = [fact(1, right=True), fact(2, right=False), fact(3)]
    assert view.known(facts, {"d1": False, "d3": True}, "all") == {1: False, 2: False, 3: True}
    assert view.known(facts, {"d1": False, "d3": True}, "people") == {1: False, 3: True}
    assert view.known(facts, {"d1": False}, "truth") == {1: True, 2: False}


def test_judges_who_contradict_themselves_name_no_winner():
    facts = [
        fact(1, item_digest="x", judge="a", answer="A"),
        fact(2, item_digest="x", judge="a", answer="B"),
        fact(3, item_digest="x", judge="b", answer="A"),
        fact(4, item_digest="x", judge="c", answer=""),
        fact(5, item_digest="x", judge="d", answer=None),
        fact(6, item_digest=None, judge="b", answer="A"),
    ]
    found = {(one.first, one.second): (one.n, one.same) for one in view.judge_pairs(facts)}
    assert found == {("a", "b"): (1, 0), ("a", "c"): (1, 1), ("b", "c"): (1, 0)}


def test_heat_maps_are_symmetric_and_hold_intervals():
    heat = view.heat_map([PairCount("b", "a", 10, 9), PairCount("c", "a", 2, 0)])
    assert heat.names == ("a", "b", "c")
    assert heat.rows[0][1] == heat.rows[1][0]
    assert heat.rows[0][1].share == wilson(9, 10)
    assert heat.rows[1][1] is None
    assert heat.rows[1][2].share is None
    assert view.heat_map([]) is None
    assert view.heat_map([PairCount("a", f"m{n}", n + 1, 1) for n in range(20)]).left_out == 9


def test_judges_of_grades_agree_by_response_and_kinds_are_counted_once_a_judgment() -> None:
    facts = [
        fact(1, item_digest="x", judge="a", kind="grade", graded="A", answer="3"),
        fact(2, item_digest="x", judge="a", kind="grade", graded="B", answer="1"),
        fact(3, item_digest="x", judge="b", kind="grade", graded="A", answer="3"),
        fact(4, item_digest="x", judge="b", kind="grade", graded="B", answer="2"),
        fact(5, item_digest="x", judge="b", kind="category", graded="B", answer="pass"),
    ]
    again = [*facts, fact(6, judgment_digest="d5", kind="category", graded="B", answer="pass")]
    assert [(one.n, one.same) for one in view.judge_pairs(facts[:4])] == [(2, 1)]
    assert view.kinds_of(again) == {"grades": 4, "categories": 1}


def test_judges_table_is_over_labelled_judgments_alone():
    facts = [fact(1, accepted=True), fact(2, accepted=False), fact(3, accepted=None), fact(4, judge="crow")]
    (row, other) = view.judge_rows(
        [JudgeCount("owl", 3, 1, 1, 1), JudgeCount("jay", 1, 0, 0, 1)], facts, {1: True, 2: False, 3: True}
    )
    assert row.raw == wilson(2, 3)
    assert row.kept == wilson(1, 1)
    assert (other.raw, other.kept) == (None, None)


def test_reliability_is_the_librarys():
    import numpy as np

    from metajudge.calibration.quality import reliability_bins

    facts = [fact(number, probability=number / 50) for number in range(50)] + [fact(99, probability=None)]
    right = {number: number % 3 > 0 for number in range(100)}
    theirs = reliability_bins(
        np.arange(50) / 50, np.array([right[number] for number in range(50)]), list(map(str, range(50)))
    )
    ours = view.calibration_bins(facts, right)
    assert [(one.n, one.predicted, one.observed) for one in ours] == [
        (one.n, one.probability, one.right) for one in theirs
    ]
    assert view.calibration_bins([fact(1, probability=None)], {1: True}) == []
    assert "dashed" in view.calibration_chart(ours)


def test_long_periods_get_wider_columns_and_lose_nothing():
    spent = [Spending(day, f"m{day % 9}", 1, 0, 0.5, 0, 10, 5) for day in range(1000, 1400)]
    chart = view.cost_over_time(spent)
    assert len(chart.rows) <= view.COLUMNS
    assert sum(chart.totals) == pytest.approx(200)
    assert "all other models" in chart.parts
    assert chart.rows[0][0] == "1972-09-27 to 1972-10-03"
    assert view.cost_over_time([Spending(1, "m", 1, 0, 0.0, 1, 0, 0)]) is None
    assert view.over_time("x", "X", [], view.OUTCOMES) is None
    rows = view.model_rows([*spent, Spending(1, "dear", 2, 1, 900.0, 1, 7, 8)])
    assert (rows[0].model, rows[0].failed, rows[0].unpriced) == ("dear", 1, 1)


def test_names_in_charts_are_only_names():
    hostile = "<script>alert(1)</script>&\"'"
    chart = view.cost_over_time([Spending(day, hostile, 1, 0, 1.0, 0, 1, 1) for day in (1, 2)])
    assert "<script" not in chart.svg
    assert "&lt;script&gt;" in chart.svg


@pytest.mark.parametrize(("value", "above"), [(0, 4), (1, 1), (7, 8), (20, 20), (53, 60), (0.051, 0.06), (101, 120)])
def test_axes_end_at_round_numbers(value, above):
    assert figures.round_above(value) == pytest.approx(above)


def test_halves_are_rounded_upwards_as_the_script_does():
    assert standing_module.tenths(1 / 16) == "6.3 %"
    assert standing_module.tenths(1.0) == "100.0 %"
