import re

import pytest

from metajudge.report.document import Measured
from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from metajudge.report.tables import cell_text, table_to_text
from tests.report.reports import report, table


def test_absent_figures_are_a_dash_with_a_reason_in_every_format():
    page, text, marked = to_html(report()), table_to_text(table()), to_markdown(report())
    assert 'title="nothing selected"' in page
    assert "No figure: nothing selected." in page
    assert "[1] nothing selected" in text
    assert "\\[1\\] nothing selected" in marked
    for written in (page, text, marked):
        assert not re.findall(r"\bnan\b", written.lower())


def test_terminal_tables_carry_no_terminal_codes():
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
