import pytest

from metajudge.report import IntervalChart, IntervalMark, IntervalRow, Measured
from metajudge.report.intervals import draw_intervals, round_step, span_axis
from metajudge.report.tables import cell_text, table_of


def mark(value, low, high, series=0):
    return IntervalMark(series=series, value=Measured(value=value, low=low, high=high))


def chart(*rows, series=("change",), **options):
    return IntervalChart(title="t", description="d", series=series, rows=rows, **options)


def words(one):
    return [element.text for element in draw_intervals(one, "c").iter("text")]


def lines(one, style):
    return [line for line in draw_intervals(one, "c").iter("line") if line.get("class").startswith(style)]


def test_an_effect_below_zero_is_drawn_left_of_the_level_line():
    one = chart(IntervalRow(name="owl", marks=(mark(-0.2, -0.3, -0.1),)), kind="points", reference=0.0)
    (level,) = lines(one, "reference")
    whiskers = [line for line in lines(one, "whisker") if line.get("y1") == line.get("y2")]
    assert len(whiskers) == 1
    assert float(whiskers[0].get("x1")) < float(whiskers[0].get("x2")) < float(level.get("x1"))
    assert {"owl", "-20.0", "0"} <= set(words(one))


def test_shares_stay_between_0_and_1():
    one = chart(IntervalRow(name="owl", marks=(mark(0.99, 0.93, 1.0),)))
    assert "100 %" in words(one)
    assert not any("110" in word for word in words(one))


def test_a_row_without_a_figure_shows_the_reason():
    assert "no labels" in words(chart(IntervalRow(name="owl", absent="no labels")))


def test_several_series_are_named_and_marked_by_shape():
    one = chart(
        IntervalRow(name="owl", marks=(mark(0.5, 0.4, 0.6), mark(0.6, 0.5, 0.7, 1))), series=("naive", "corrected")
    )
    assert {"naive", "corrected"} <= set(words(one))
    shapes = {path.get("d").count("L") for path in draw_intervals(one, "c").iter("path")}
    assert len(shapes) == 2


def test_the_table_has_every_figure_and_every_reason():
    one = chart(IntervalRow(name="owl", marks=(mark(-0.2, -0.3, -0.1),)), IntervalRow(name="hawk", absent="no labels"))
    table = table_of(one.model_copy(update={"kind": "points"}))
    assert [row[0] for row in table.rows] == ["owl", "hawk"]
    assert cell_text(table.rows[0][2], table.columns[2].kind) == "-20.0 (-30.0 to -10.0)"
    assert table.rows[1][2].absent == "no labels"


@pytest.mark.parametrize(("span", "step"), [(1.0, 0.2), (0.6, 0.1), (12, 2), (0.013, 0.0025)])
def test_steps_are_round(span, step):
    assert round_step(span) == pytest.approx(step)


@pytest.mark.parametrize("values", [[0.3, 0.71], [-0.123, 0.02], [5.0, 5.0], [], [0.0, 0.0]])
def test_an_axis_covers_its_values_and_ends_at_its_ticks(values):
    axis = span_axis(values, 0, 100)
    assert axis.low < axis.high
    assert all(axis.low <= value <= axis.high for value in values)
    assert 2 <= len(axis.ticks()) <= 8
