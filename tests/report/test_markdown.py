import re

import pytest
from pydantic import ValidationError

from metajudge.report.document import Absent, Measured, Report
from metajudge.report.markdown import escaped, to_markdown
from metajudge.report.tables import cell_text, table_of
from tests.report.reports import NASTY, charts, report


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


def test_the_report_survives_its_own_json():
    whole = report()
    assert Report.model_validate_json(whole.model_dump_json()) == whole


def test_not_a_number_cannot_stand_for_an_absent_figure():
    with pytest.raises(ValidationError):
        Measured(value=float("nan"), low=0, high=1)
