"""A report in each format: escaped, well-formed, with every figure."""

import html
import re
from xml.etree import ElementTree as ET

import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.report import (
    Absent,
    Column,
    Fold,
    Measured,
    Passage,
    Report,
    Section,
    Table,
)
from metajudge.report.files import check_report_path
from metajudge.report.html import to_html
from metajudge.report.markdown import escaped, to_markdown
from metajudge.report.tables import cell_text, table_of
from metajudge.report.text import table_to_text
from tests.report.reports import NASTY, charts, report, table


def test_html_escapes_every_text_and_runs_nothing():
    page = to_html(report(NASTY))
    assert "<script" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    page.encode("utf-8")
    assert page.count("</svg>") == 12
    assert page.count("</style>") == 1
    assert not re.findall(r"""\s(?:href|src|on\w+)\s*=\s*["'][^#]""", page.replace(html.escape(NASTY), ""))


def test_html_needs_no_network():
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


def test_the_report_survives_its_own_json():
    whole = report()
    assert Report.model_validate_json(whole.model_dump_json()) == whole


def test_not_a_number_cannot_stand_for_an_absent_figure():
    with pytest.raises(ValidationError):
        Measured(value=float("nan"), low=0, high=1)


@pytest.mark.parametrize("name", ["r.pdf", "r", "nowhere/r.html", "."])
def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(InputError):
        check_report_path(tmp_path / name)


def test_terminal_tables_carry_no_terminal_codes():
    assert "\x1b" not in table_to_text(table("\x1b[2Jowl\nsecond"))


def test_absent_figures_are_a_dash_with_a_reason_in_every_format():
    page, text, marked = to_html(report()), table_to_text(table()), to_markdown(report())
    assert 'title="nothing selected"' in page
    assert "No figure: nothing selected." in page
    assert "[1] nothing selected" in text
    assert "\\[1\\] nothing selected" in marked
    for written in (page, text, marked):
        assert not re.findall(r"\bnan\b", written.lower())


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


def test_markdown_shows_markup_as_text():
    assert escaped("a|b *c* <d> [e](f)\n# g") == r"a\|b \*c\* \<d\> \[e\](f) \# g"
    marked = to_markdown(report(NASTY))
    assert not re.findall(r"(?<!\\)<", marked)
    assert "\x1b" not in marked
    lines = [line for line in marked.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]}
    assert widths == {4}


def test_markdown_and_json_keep_every_figure_of_a_chart():
    marked = to_markdown(report())
    for block in charts():
        for row in table_of(block).rows:
            for cell, column in zip(row, table_of(block).columns, strict=True):
                if not isinstance(cell, Absent):
                    assert escaped(cell_text(cell, column.kind)) in marked
