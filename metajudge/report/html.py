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
    Exhibit,
    Fold,
    Histogram,
    IntervalChart,
    Listing,
    Measured,
    ReliabilityChart,
    Report,
    ScatterChart,
    ShareChart,
    Table,
    Tiles,
)
from metajudge.report.histogram import draw_histogram
from metajudge.report.intervals import draw_intervals
from metajudge.report.lines import draw_coverage, draw_reliability
from metajudge.report.style import STYLE
from metajudge.report.svg import BOTTOM, HEIGHT, RIGHT, TOP, WIDTH, Canvas, amount_axis, frame, name_at_right
from metajudge.report.tables import cell_text, reasons, table_of

LEFT = 64.0
MARKED, PLAIN = 0, 4
"""Series whose shapes and colours show a marked point (a disc) and another one (a cross)."""


def draw_scatter(chart: ScatterChart, name: str) -> ET.Element:
    """A mark for each point, and its name at the right with a thin line to it."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    x = amount_axis([point.x for point in chart.points], LEFT, WIDTH - RIGHT)
    y = amount_axis([point.y for point in chart.points], HEIGHT - BOTTOM, TOP)
    frame(canvas, x, y, chart.x_title, chart.y_title, "{:.3g}".format)
    series = [MARKED if point.marked else PLAIN for point in chart.points]
    starts, heights = [x.at(point.x) for point in chart.points], [y.at(point.y) for point in chart.points]
    name_at_right(canvas, series, [point.name for point in chart.points], starts, heights)
    for number, start, height in zip(series, starts, heights, strict=True):
        canvas.marker(number, start, height, 6)
    return canvas.root


Chart = CoverageChart | ReliabilityChart | BarChart | ShareChart | ScatterChart | IntervalChart | Histogram


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
    kinds |= {"tiles": Tiles, "exhibit": Exhibit}
    made.tests |= {name: lambda value, kind=kind: isinstance(value, kind) for name, kind in kinds.items()}
    return made.get_template("report.html.j2")


def _drawing(chart: Chart, name: str) -> Markup:
    # As XML, which escapes more than ElementTree's own HTML does.
    return Markup(ET.tostring(draw(chart, name), encoding="unicode", short_empty_elements=False))  # noqa: S704 - escaped


def draw(chart: Chart, name: str) -> ET.Element:
    """The ``svg`` element of a chart; ``name`` is unique on its page."""
    match chart:
        case CoverageChart():
            return draw_coverage(chart, name)
        case ReliabilityChart():
            return draw_reliability(chart, name)
        case BarChart():
            return draw_bars(chart, name)
        case ShareChart():
            return draw_shares(chart, name)
        case ScatterChart():
            return draw_scatter(chart, name)
        case IntervalChart():
            return draw_intervals(chart, name)
        case Histogram():
            return draw_histogram(chart, name)


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
