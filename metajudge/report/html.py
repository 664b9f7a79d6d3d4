"""A report as one HTML page: no network, no script; style and charts are part of it."""

from html import escape
from xml.etree import ElementTree as ET

from metajudge.report.bars import draw_bars, draw_shares
from metajudge.report.document import (
    Absent,
    BarChart,
    Block,
    Cell,
    Column,
    CoverageChart,
    Kind,
    Measured,
    ReliabilityChart,
    Report,
    ScatterChart,
    Section,
    ShareChart,
    Table,
)
from metajudge.report.lines import draw_coverage, draw_reliability
from metajudge.report.scatter import draw_scatter
from metajudge.report.style import STYLE
from metajudge.report.tables import cell_text, reasons, table_of

Chart = CoverageChart | ReliabilityChart | BarChart | ShareChart | ScatterChart


HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
"""
"""Nothing may be loaded or run, whatever a text manages to smuggle in."""


def to_html(report: Report) -> str:
    """The whole page; every text of the report is escaped."""
    body = ET.Element("body")
    header = ET.SubElement(body, "header")
    _words(header, "h1", report.title)
    for paragraph in report.summary:
        _words(header, "p", paragraph)
    _contents(body, report)
    main = ET.SubElement(body, "main")
    for number, section in enumerate(report.sections, start=1):
        _section(main, section, number)
    _provenance(body, report)
    _strip_unprintable(body)
    head = HEAD.format(title=escape(_printable(report.title)), style=STYLE)
    # As XML, which escapes more than ElementTree's own HTML does; no element of the body is void in HTML.
    return f"{head}{ET.tostring(body, encoding='unicode', short_empty_elements=False)}\n</html>\n"


def _contents(body: ET.Element, report: Report) -> None:
    if len(report.sections) < 3:
        return
    nav = ET.SubElement(body, "nav", {"aria-label": "Contents"})
    entries = ET.SubElement(nav, "ul")
    for number, section in enumerate(report.sections, start=1):
        _words(ET.SubElement(entries, "li"), "a", section.title, href=f"#section-{number}")


def _section(main: ET.Element, section: Section, number: int) -> None:
    place = ET.SubElement(main, "section", {"aria-labelledby": f"section-{number}"})
    _words(place, "h2", section.title, id=f"section-{number}")
    for paragraph in section.paragraphs:
        _words(place, "p", paragraph)
    for position, block in enumerate(section.blocks, start=1):
        _block(place, block, f"chart-{number}-{position}")


def _block(place: ET.Element, block: Block, name: str) -> None:
    if isinstance(block, Table):
        _table(place, block)
        return
    figure = ET.SubElement(place, "figure")
    _words(figure, "figcaption", block.title)
    _words(figure, "p", block.description)
    _scroll(figure, block.title).append(_drawing(block, name))
    details = ET.SubElement(figure, "details")
    _words(details, "summary", "The figures behind this chart")
    _table(details, table_of(block))


def _drawing(chart: Chart, name: str) -> ET.Element:
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


def _table(place: ET.Element, table: Table) -> None:
    element = ET.SubElement(_scroll(place, table.caption), "table")
    _words(element, "caption", table.caption)
    row = ET.SubElement(ET.SubElement(element, "thead"), "tr")
    for column in table.columns:
        _heading(row, column)
    body = ET.SubElement(element, "tbody")
    for cells in table.rows:
        row = ET.SubElement(body, "tr")
        for place_in_row, (cell, column) in enumerate(zip(cells, table.columns, strict=True)):
            if place_in_row == 0:
                _words(row, "th", cell_text(cell, column.kind), scope="row")
            else:
                _cell(row, cell, column.kind)
    _notes(place, table)


def _heading(row: ET.Element, column: Column) -> None:
    attributes = {"scope": "col"} | ({"class": "figure"} if column.kind != "text" else {})
    heading = ET.SubElement(row, "th", attributes)
    if column.note:
        _words(heading, "abbr", column.title, title=column.note)
    else:
        heading.text = column.title


def _cell(row: ET.Element, cell: Cell, kind: Kind) -> None:
    element = ET.SubElement(row, "td", {"class": "figure"} if kind != "text" else {})
    if isinstance(cell, Absent):
        _words(element, "abbr", cell_text(cell), title=cell.absent)
    elif isinstance(cell, Measured):
        figure, _, interval = cell_text(cell, kind).partition(" ")
        element.text = f"{figure} "
        _words(element, "span", interval, **{"class": "range"})
    else:
        element.text = cell_text(cell, kind)


def _notes(place: ET.Element, table: Table) -> None:
    """Notes in full: what a tooltip says is lost in print and on a phone."""
    said = [f"{column.title}: {column.note}." for column in table.columns if column.note]
    said += [*table.notes]
    said += [f"No figure: {reason}." for reason in reasons(table)]
    if said:
        notes = ET.SubElement(place, "div", {"class": "notes"})
        for note in said:
            _words(notes, "p", note)


def _provenance(body: ET.Element, report: Report) -> None:
    if not report.provenance:
        return
    footer = ET.SubElement(body, "footer")
    _words(footer, "h2", "Provenance")
    entries = ET.SubElement(footer, "dl")
    for name, value in report.provenance.items():
        _words(entries, "dt", name)
        _words(entries, "dd", value)


def _scroll(place: ET.Element, name: str) -> ET.Element:
    """A box that scrolls sideways where the page is narrow, reachable from the keyboard."""
    return ET.SubElement(place, "div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": name})


def _words(place: ET.Element, tag: str, words: str, **attributes: str) -> ET.Element:
    element = ET.SubElement(place, tag, attributes)
    element.text = words
    return element


def _strip_unprintable(body: ET.Element) -> None:
    """Control characters and lone surrogates are no HTML; what replaces them shows that something stood there."""
    for element in body.iter():
        if element.text:
            element.text = _printable(element.text)
        for name, value in element.attrib.items():
            element.set(name, _printable(value))


def _printable(text: str) -> str:
    return "".join(
        letter
        if letter in "\n\t" or (letter >= " " and not "\x7f" <= letter <= "\x9f" and not "\ud800" <= letter <= "\udfff")
        else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
