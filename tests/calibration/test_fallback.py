"""Categories that were not fitted on: a model that is less sure of itself, chosen on categories left out."""

import numpy as np
import pytest

from metajudge.calibration.domain import Mark
from metajudge.calibration.fallback import SlopeLosses, draw_in
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.quality import log_losses
from metajudge.calibration.table import build_table
from metajudge.types import Item, Judgment, Pairwise


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


def test_an_unknown_category_costs_less_than_without_drawing_in():
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


def test_known_categories_are_answered_as_sure_as_ever():
    calibration = fit_calibration(table_of(flipped=("c1", "c4")), repeats=1)
    assert calibration.groups[0].levels[0].slope == 1


def test_with_two_categories_there_is_nothing_to_measure_on():
    table = table_of(flipped=())
    few = table.select(np.isin(np.array(table.categories), ["c0", "c1"]))
    assert unknown_level(few).slope == 1
    assert SlopeLosses().best() == 1


def test_of_equal_losses_the_surer_slope_wins():
    assert SlopeLosses({slope: [0.3] for slope in (1.0, 0.75, 0.5, 0.35, 0.25)}).best() == 1
    assert SlopeLosses({1.0: [0.3], 0.75: [0.3], 0.5: [0.2], 0.35: [0.2], 0.25: [0.3]}).best() == 0.5


@pytest.mark.parametrize("slope", [1.0, 0.5, 0.25])
def test_drawing_in_keeps_the_order_and_the_centre(slope):
    probabilities = np.array([0.0, 0.1, 0.6, 0.99, 1.0])
    drawn = draw_in(probabilities, slope, centre=0.4)
    assert (np.diff(drawn) > 0).all()
    assert draw_in(np.array([1 / (1 + np.exp(-0.4))]), slope, 0.4) == pytest.approx(1 / (1 + np.exp(-0.4)))
    assert (drawn[[0, -1]].tolist() == [0, 1]) is (slope == 1)  # only as they are can they be certain
    assert drawn[2] == pytest.approx(1 / (1 + np.exp(-0.4) * (1.5 / np.exp(0.4)) ** -slope))  # .6: odds of 1.5
