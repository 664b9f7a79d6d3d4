import numpy as np
import pytest
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.observations import Records, observed
from metajudge.benchmarks.precision import Score, Selection, coverage_curve, keep_all, precision_rows, reliability

from metajudge.report.document import Absent
from metajudge.types import Item, Judgment


def observations(correct, *, questions=None, categories=None, orders=None):
    records = Records()
    for number, right in enumerate(correct):
        name, order = questions[number] if questions else f"q{number}", orders[number] if orders else "AB"
        category = categories[number] if categories else "Math"
        item = Item(id=name, question=name, responses={"A": "", "B": ""}, label="A>B", category=category)
        verdict = "A>B" if right else "B>A"
        records.add_block([Judgment(id=f"j{number}", item=item, judge="owl", verdict=verdict, order=tuple(order))])
    return observed(records, np.arange(len(correct)))


def selection(kept, name="kept", kind="configuration"):
    mask = np.array(kept, dtype=bool)
    return Selection(name, kind, mask, np.ones(len(mask), dtype=bool))


def test_precision_coverage_and_recall_by_hand():
    seen = observations([1, 1, 1, 0, 0, 0, 1, 0] * 5)
    raw, kept = precision_rows(seen, [keep_all(seen), selection([1, 1, 0, 1, 0, 0, 0, 0] * 5)], ["Math"])
    cell = kept.cells[OVERALL]
    assert (cell.n, cell.right, cell.selected, cell.selected_right) == (40, 20, 15, 10)
    assert cell.precision.share == pytest.approx(2 / 3)
    assert (cell.coverage, cell.recall) == (3 / 8, 2 / 4)
    assert cell.against_raw.value == pytest.approx(2 / 3 - 1 / 2)
    assert raw.cells[OVERALL].precision.share == 0.5
    assert isinstance(raw.cells[OVERALL].against_raw, Absent)


def test_nothing_selected_has_no_precision_and_no_difference():
    seen = observations([1, 0, 1])
    (row,) = precision_rows(seen, [selection([0, 0, 0])], ["Math"])
    cell = row.cells[OVERALL]
    assert cell.precision == Absent(absent="nothing selected")
    assert cell.against_raw == Absent(absent="nothing selected")
    assert (cell.coverage, cell.recall) == (0.0, 0.0)


def test_categories_without_judgments_are_left_out_and_orders_stand_apart():
    seen = observations([1, 0, 1, 1], categories=["Math", "Math", "Coding", "Coding"], orders=["AB", "BA"] * 2)
    (row,) = precision_rows(seen, [keep_all(seen)], ["Knowledge", "Math", "Coding"])
    assert list(row.cells) == [OVERALL, "Math", "Coding"]
    assert {order: cell.precision.share for order, cell in row.orders.items()} == {"AB": 1.0, "BA": 0.5}


def test_questions_not_judgments_are_resampled():
    """The same figures with every judgment repeated four times: the interval must not shrink."""
    correct, kept = [1, 0, 1, 1, 0, 1, 0, 1] * 3, [1, 0, 1, 1, 1, 0, 0, 1] * 3
    single = observations(correct)
    names = [f"q{number}" for number in range(24)]
    fourfold = observations(correct * 4, questions=names * 4)
    (one,) = precision_rows(single, [selection(kept)], [])
    (four,) = precision_rows(fourfold, [selection(kept * 4)], [])
    narrow, wide = one.cells[OVERALL].against_raw, four.cells[OVERALL].against_raw
    assert wide.questions == narrow.questions == 24
    assert (wide.low, wide.high) == pytest.approx((narrow.low, narrow.high))


def test_the_curve_falls_from_the_best_scored_and_ends_at_everything():
    correct = [1] * 40 + [0, 1] * 20
    seen = observations(correct)
    curve = coverage_curve(seen, Score("s", [1 - number / 100 for number in range(80)]))
    first, last = curve.points[0], curve.points[-1]
    assert first.value == 1.0
    assert (last.coverage, last.selected) == (1.0, 80)
    assert last.value == pytest.approx(60 / 80)
    assert all(point.low <= point.value <= point.high for point in curve.points)
    assert all(one.coverage < other.coverage for one, other in zip(curve.points, curve.points[1:], strict=False))


def test_reliability_bins_hold_every_judgment_once_and_equal_probabilities_together():
    correct = [1, 0] * 30
    values = [0.2] * 20 + [0.6] * 20 + [0.9] * 19 + [None]
    series = reliability(observations(correct), Score("p", values, probability=True))
    assert [(b.n, round(b.predicted, 9)) for b in series.bins] == [(20, 0.2), (20, 0.6), (19, 0.9)]
    assert series.bins[0].value == 0.5


def test_the_interval_of_a_precision_is_by_question_and_copies_do_not_narrow_it():
    """Eight judges on each question know no more of it than one: as independent judgments they would seem to."""
    correct, names = [1, 0, 1, 1] * 25, [f"q{number}" for number in range(100)]
    (one,) = precision_rows(observations(correct), [selection([1] * 100)], [])
    eightfold = observations(correct * 8, questions=names * 8)
    (eight,) = precision_rows(eightfold, [selection([1] * 800)], [])
    few, many = one.cells[OVERALL].precision, eight.cells[OVERALL].precision
    assert (many.n, many.questions) == (800, 100)
    assert many.high - many.low > 0.9 * (few.high - few.low)
    assert many.method == "percentile cluster bootstrap"
