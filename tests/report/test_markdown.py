import re

from metajudge.report.document import Absent
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
