from metajudge.report.bars import draw_bars
from metajudge.report.document import BarChart, BarSeries, Measured
from metajudge.report.tables import cell_text, table_of


def chart(unit, value, low, high):
    series = (BarSeries(name="ours", values=(Measured(value=value, low=low, high=high),)),)
    return BarChart(title="t", description="d", unit=unit, groups=("vet",), series=series)


def words(chart):
    return [element.text for element in draw_bars(chart, "c").iter("text")]


def test_an_amount_is_drawn_on_its_own_axis_and_not_as_a_share():
    found = words(chart("ms", 23.4, 23.4, 23.4))
    assert "40 ms" in found
    assert "23.4" in found
    assert not any("%" in word for word in found)


def test_a_share_is_drawn_in_percent():
    assert {"100 %", "23.0"} <= set(words(chart("%", 0.23, 0.1, 0.3)))


def test_an_amount_measured_once_has_no_whisker_and_a_share_has_one():
    def whiskers(one):
        return [line for line in draw_bars(one, "c").iter("line") if line.get("class") == "whisker"]

    assert whiskers(chart("ms", 2.0, 2.0, 2.0)) == []
    assert len(whiskers(chart("%", 0.2, 0.1, 0.3))) == 3


def test_the_table_of_amounts_names_their_unit():
    table = table_of(chart("ms", 2.0, 2.0, 2.0))
    assert [column.title for column in table.columns] == ["", "vet ms"]
    assert cell_text(table.rows[0][1], table.columns[1].kind) == "2.000"
