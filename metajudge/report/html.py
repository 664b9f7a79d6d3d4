"""A report as one HTML page: no network, no script; style and charts are part of it."""

from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from metajudge.report.charts import draw
from metajudge.report.document import Absent, Measured, Report, Table
from metajudge.report.tables import cell_text, reasons, table_of
from metajudge.types.frozen import Finite


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
    made.globals |= {"cell_text": cell_text, "drawing": _drawing, "notes": _notes, "table_of": table_of}
    kinds = {"absent": Absent, "measured": Measured}
    made.tests |= {name: lambda value, kind=kind: isinstance(value, kind) for name, kind in kinds.items()}
    return made.get_template("report.html.j2")


def _drawing(chart: Finite, name: str) -> Markup:
    # As XML, which escapes more than ElementTree's own HTML does.
    return Markup(ET.tostring(draw(chart, name), encoding="unicode", short_empty_elements=False))  # noqa: S704 - escaped


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
