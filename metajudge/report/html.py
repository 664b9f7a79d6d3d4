"""A report as one HTML page: no network, no script; style and charts are part of it."""

from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from metajudge.report.bars import draw_bars, draw_shares
from metajudge.report.document import (
    Absent,
    BarChart,
    CoverageChart,
    Fold,
    IntervalChart,
    Listing,
    Measured,
    ReliabilityChart,
    Report,
    ScatterChart,
    ShareChart,
    Table,
)
from metajudge.report.intervals import draw_intervals
from metajudge.report.lines import draw_coverage, draw_reliability
from metajudge.report.scatter import draw_scatter
from metajudge.report.style import STYLE
from metajudge.report.tables import cell_text, reasons, table_of

Chart = CoverageChart | ReliabilityChart | BarChart | ShareChart | ScatterChart | IntervalChart


def to_html(report: Report) -> str:
    """The whole page; every text of the report is escaped, and the page's policy lets nothing load or run."""
    return _template().render(report=report)


@cache
def _template() -> Template:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "style": Markup(STYLE),  # noqa: S704 - our own
        "cell_text": cell_text,
        "drawing": _drawing,
        "notes": _notes,
        "table_of": table_of,
    }
    kinds = {"absent": Absent, "measured": Measured, "table": Table, "listing": Listing, "fold": Fold}
    made.tests |= {name: lambda value, kind=kind: isinstance(value, kind) for name, kind in kinds.items()}
    return made.get_template("report.html.j2")


def _drawing(chart: Chart, name: str) -> Markup:
    match chart:
        case CoverageChart():
            drawn = draw_coverage(chart, name)
        case ReliabilityChart():
            drawn = draw_reliability(chart, name)
        case BarChart():
            drawn = draw_bars(chart, name)
        case ShareChart():
            drawn = draw_shares(chart, name)
        case ScatterChart():
            drawn = draw_scatter(chart, name)
        case IntervalChart():
            drawn = draw_intervals(chart, name)
    # As XML, which escapes more than ElementTree's own HTML does.
    return Markup(ET.tostring(drawn, encoding="unicode", short_empty_elements=False))  # noqa: S704 - escaped


def _notes(table: Table) -> list[str]:
    """Notes in full, as tooltips are lost in print and on a phone."""
    columns = [f"{column.title}: {column.note}." for column in table.columns if column.note]
    return [*columns, *table.notes, *(f"No figure: {reason}." for reason in reasons(table))]


def _printable(value: Any) -> Any:
    """Replaces control characters and lone surrogates, which are not valid HTML, by a visible mark."""
    if not isinstance(value, str):
        return value
    text = "".join(
        letter
        if letter in "\n\t" or (letter >= " " and not "\x7f" <= letter <= "\x9f" and not "\ud800" <= letter <= "\udfff")
        else "\N{REPLACEMENT CHARACTER}"
        for letter in value
    )
    return type(value)(text)
