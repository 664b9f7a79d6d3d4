import pytest

from metajudge.report.document import IntervalChart, IntervalMark, IntervalRow, Measured
from metajudge.report.intervals import draw_intervals, round_step, span_axis


def mark(value, low, high, series=0):
    return IntervalMark(series=series, value=Measured(value=value, low=low, high=high))


def chart(*rows, series=("change",), **options):
    return IntervalChart(title="t", description="d", series=series, rows=rows, **options)


def words(one):
    return [element.text for element in draw_intervals(one, "c").iter("text")]


def test_shares_stay_between_0_and_1():
    one = chart(IntervalRow(name="owl", marks=(mark(0.99, 0.93, 1.0),)))
    assert "100 %" in words(one)
    assert not any("110" in word for word in words(one))


@pytest.mark.parametrize(("span", "step"), [(1.0, 0.2), (0.6, 0.1), (12, 2), (0.013, 0.0025)])
def test_steps_are_round(span, step):
    assert round_step(span) == pytest.approx(step)


@pytest.mark.parametrize("values", [[0.3, 0.71], [-0.123, 0.02], [5.0, 5.0], [], [0.0, 0.0]])
def test_an_axis_covers_its_values_and_ends_at_its_ticks(values):
    axis = span_axis(values, 0, 100)
    assert axis.span[0] < axis.span[1]
    assert all(axis.span[0] <= value <= axis.span[1] for value in values)
    assert 2 <= len(axis.ticks()) <= 8
