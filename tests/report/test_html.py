"""Reports as files: HTML, Markdown, charts, tables and intervals."""

import html
import itertools
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.report.charts import draw_intervals, round_step, span_axis
from metajudge.report.document import (
    Absent,
    Column,
    Fold,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Measured,
    Passage,
    Report,
    Section,
    Table,
)
from metajudge.report.files import check_report_path
from metajudge.report.html import to_html
from metajudge.report.markdown import escaped, to_markdown
from metajudge.report.svg import Axis, share_axis, spread
from metajudge.report.tables import cell_text, table_of, table_to_text
from tests.report.reports import NASTY, charts, report, table


def test_html_escapes_every_text_runs_nothing_and_needs_no_network():
    page = to_html(report(NASTY))
    assert "<script" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    page.encode("utf-8")
    assert page.count("</svg>") == 12
    assert page.count("</style>") == 1
    assert not re.findall(r"""\s(?:href|src|on\w+)\s*=\s*["'][^#]""", page.replace(html.escape(NASTY), ""))
    page = to_html(report())
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_the_page_is_well_formed_and_its_ids_are_unique():
    page = to_html(report())
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r"url\(#([^)]+)\)", page) + re.findall(r'aria-labelledby="([^"]+)"', page)
    assert {name for names in used for name in names.split()} <= set(ids)
    body = page[page.index("<body>") : page.index("</body>") + len("</body>")]
    ET.fromstring(body)


def test_a_fold_holds_texts_and_tables_escaped_and_closed_unless_it_is_to_be_open():
    inside = Table(caption="c", columns=(Column(title="x"),), rows=(("cell",),))
    fold = Fold(
        title="q1: <b>", paragraphs=("why",), blocks=(Passage(title="Answer", text="a\n<script>b</script>"), inside)
    )
    page = to_html(
        Report(title="t", sections=(Section(title="s", blocks=(fold, fold.model_copy(update={"open": True}))),))
    )
    assert page.count('<details class="fold">') == 1
    assert page.count('<details class="fold" open>') == 1
    assert '<div class="passage">a\n&lt;script&gt;b&lt;/script&gt;</div>' in page
    assert "<script>" not in page
    assert ">cell</th>" in page


@pytest.mark.parametrize("name", ["r.pdf", "r", "nowhere/r.html", "."])
def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(InputError):
        check_report_path(tmp_path / name)


def test_markdown_shows_markup_as_text_and_every_figure_survives_markdown_and_json():
    assert escaped("a|b *c* <d> [e](f)\n# g") == r"a\|b \*c\* \<d\> \[e\](f) \# g"
    marked = to_markdown(report(NASTY))
    assert not re.findall(r"(?<!\\)<", marked)
    assert "\x1b" not in marked
    lines = [line for line in marked.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]}
    assert widths == {4}
    marked = to_markdown(report())
    for block in charts():
        for row in table_of(block).rows:
            for cell, column in zip(row, table_of(block).columns, strict=True):
                if not isinstance(cell, Absent):
                    assert escaped(cell_text(cell, column.kind)) in marked
    whole = report()
    assert Report.model_validate_json(whole.model_dump_json()) == whole
    with pytest.raises(ValidationError):
        Measured(value=float("nan"), low=0, high=1)


@given(st.lists(st.floats(0, 300), max_size=12))
def test_labels_keep_their_distance_and_their_order(places):
    moved = spread(places, 16, 20, 330)
    ranked = sorted(moved)
    assert all(later - earlier >= 16 - 1e-9 for earlier, later in itertools.pairwise(ranked))
    assert all(20 - 1e-9 <= place <= 330 + 1e-9 for place in moved)
    for one, place in zip(places, moved, strict=True):
        for other, another in zip(places, moved, strict=True):
            if one < other:
                assert place < another


@pytest.mark.parametrize(("low", "ticks"), [(0.0, 6), (0.5, 6), (0.7, 7), (0.9, 6), (0.3, 8)])
def test_axes_begin_and_end_on_a_tick(low, ticks):
    found = Axis((low, 1.0), 0, 100).ticks()
    assert (found[0], found[-1]) == (low, 1.0)
    assert len(found) <= ticks


def test_the_axis_holds_the_lowest_value_and_absent_figures_are_dashes_with_a_reason():
    assert share_axis([0.83, 0.51], 0, 1).span[0] == 0.5
    assert share_axis([], 0, 1).span[0] == 0.9
    assert share_axis([0.0], 0, 1).span[0] == 0.0
    page, text, marked = to_html(report()), table_to_text(table()), to_markdown(report())
    assert 'title="nothing selected"' in page
    assert "No figure: nothing selected." in page
    assert "[1] nothing selected" in text
    assert "\\[1\\] nothing selected" in marked
    for written in (page, text, marked):
        assert not re.findall(r"\bnan\b", written.lower())
    assert "\x1b" not in table_to_text(table("\x1b[2Jowl\nsecond"))


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        (0.7354, "percent", "73.5"),
        (Measured(value=0.5, low=0.25, high=0.75), "percent", "50.0 (25.0 to 75.0)"),
        (Measured(value=-0.01, low=-0.0701, high=0.05), "points", "-1.0 (-7.0 to +5.0)"),
        (-0.0001, "points", "0.0"),
        (0.1, "points", "+10.0"),
        (1234567, "count", "1,234,567"),
        (0.0123, "usd", "$0.0123"),
        (12.5, "usd", "$12.50"),
        (0.0000123, "usd", "$0.000012"),
        (0.0, "usd", "$0"),
        ("as it is", "text", "as it is"),
    ],
)
def test_cells_are_rounded_to_what_they_mean(cell, kind, text):
    assert cell_text(cell, kind) == text


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
