"""A report as one HTML page: no network, no script; style and charts are part of it."""

from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from metajudge.report.charts import draw
from metajudge.report.document import Absent, Exhibit, Fold, Listing, Measured, Report, Table, Tiles
from metajudge.report.tables import cell_text, reasons, table_of
from metajudge.types.frozen import Finite

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #ffffff; --ink: #1b1f24; --quiet: #57606a; --rule: #d0d7de; --stripe: #f6f8fa;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9; --c6: #6e6e6e;
  --c7: #8a7a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14181d; --ink: #e6eaef; --quiet: #a3adb8; --rule: #3a424c; --stripe: #1b2027;
    --c0: #56b4e9; --c1: #f0803c; --c2: #2fc79b; --c3: #e0a3c5; --c4: #e69f00; --c5: #8fb8ff; --c6: #b4b4b4;
    --c7: #f0e442;
  }
}

* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 68rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif;
}
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--rule);
  overflow-wrap: anywhere; }
p { max-width: 46rem; margin: .5rem 0; overflow-wrap: anywhere; }
nav ul { columns: 18rem; padding-left: 1.2rem; margin: .5rem 0; }
a { color: var(--c0); }
.scroll { overflow-x: auto; margin: 1rem 0; }
.scroll:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0 0 .4rem; font-size: .95rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: baseline; }
thead th { border-bottom: 2px solid var(--quiet); vertical-align: bottom; font-weight: 600; }
tbody th { font-weight: 400; min-width: 12rem; overflow-wrap: anywhere; }
td:not(.figure) { min-width: 8rem; overflow-wrap: anywhere; }
th.figure, td.figure { text-align: right; white-space: nowrap; }
thead th.figure { white-space: normal; }
tbody tr:nth-child(even) { background: var(--stripe); }
td .range { color: var(--quiet); font-size: .92em; }
.notes { font-size: .8125rem; color: var(--quiet); margin: .2rem 0 1rem; padding-left: 1.2rem; max-width: 46rem; }
.notes p { margin: .15rem 0; }
abbr { text-decoration: none; cursor: help; }
figure { margin: 1.5rem 0; break-inside: avoid; }
figcaption { font-weight: 600; font-size: .95rem; }
figure p { font-size: .8125rem; color: var(--quiet); margin: .1rem 0 .3rem; }
figure svg { display: block; width: 100%; min-width: 34rem; max-width: 46rem; height: auto; }
pre { margin: .4rem 0; padding: .5rem .7rem; overflow-x: auto; background: var(--stripe); border: 1px solid var(--rule);
  font: .8125rem/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
pre:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
details { font-size: .8125rem; }
summary { cursor: pointer; color: var(--quiet); padding: .25rem 0; }
.fold { font-size: 1rem; border: 1px solid var(--rule); padding: .2rem .8rem; margin: .5rem 0; }
.fold > summary { color: var(--ink); padding: .4rem 0; overflow-wrap: anywhere; }
.fold h3 { font-size: 1rem; margin: 1rem 0 .2rem; overflow-wrap: anywhere; }
.passage { white-space: pre-wrap; overflow-wrap: anywhere; padding: .4rem .7rem; max-width: 46rem;
  background: var(--stripe); border-left: 3px solid var(--rule); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tiles > div { border: 1px solid var(--rule); border-top: 4px solid var(--c, var(--rule)); padding: .6rem .8rem; }
.tiles dt { font-size: .8125rem; }
.tiles dd { font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tiles dd.note { font-size: .8125rem; line-height: 1.4; color: var(--quiet); margin-top: .2rem; }
.exhibit .status { color: var(--quiet); font-size: .875rem; }
.exhibit ul { margin: .2rem 0 .6rem; padding-left: 1.2rem; }
.exhibit .passage { max-width: none; max-height: 26rem; overflow: auto; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0 1rem; }
.beside > section { min-width: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .8125rem; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }

.s0 { --c: var(--c0); } .s1 { --c: var(--c1); } .s2 { --c: var(--c2); } .s3 { --c: var(--c3); }
.s4 { --c: var(--c4); } .s5 { --c: var(--c5); } .s6 { --c: var(--c6); } .s7 { --c: var(--c7); }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif;
  fill: var(--ink); }
svg .tick { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
svg .value { font-size: 11px; font-variant-numeric: tabular-nums; }
svg .inside { font-size: 11px; font-weight: 600; paint-order: stroke; stroke: var(--ground); stroke-width: 4px;
  stroke-linejoin: round; }
svg .axis { stroke: var(--quiet); stroke-width: 1; }
svg .grid { stroke: var(--rule); stroke-width: .75; }
svg .reference { stroke: var(--quiet); stroke-width: 1.25; stroke-dasharray: 3 3; }
svg .threshold { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 3; }
svg .leader { fill: none; stroke: var(--rule); stroke-width: 1; }
svg .curve { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
svg .band { fill: var(--c); opacity: .13; }
svg .marker { fill: var(--c); stroke: var(--ground); stroke-width: .75; }
svg .bar { fill: var(--c); }
svg .hatch { fill: none; stroke: var(--ground); stroke-width: 1.4; opacity: .75; }
svg .whisker { stroke: var(--ink); stroke-width: 1.25; }
svg .whisker[class*=" s"] { stroke: var(--c); opacity: .8; }

@media (max-width: 40rem) {
  body { padding: 1rem .75rem 3rem; } h1 { font-size: 1.4rem; }
  dl:not(.tiles) { grid-template-columns: 1fr; } dl:not(.tiles) dt { margin-top: .4rem; }
}
@media print {
  :root { --ground: #ffffff; --ink: #000000; --quiet: #444444; --rule: #bbbbbb; --stripe: #ffffff;
    --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9; --c6: #6e6e6e;
    --c7: #8a7a00; }
  body { max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  nav, details { display: none; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; } th, td { padding: .15rem .35rem; }
  th.figure, td.figure { white-space: normal; } tbody th, td:not(.figure) { min-width: 0; }
  h2, caption, figcaption { break-after: avoid; }
  table { break-inside: avoid; } thead { display: table-header-group; } tr { break-inside: avoid; }
  td:not(.figure) { overflow-wrap: normal; }
  figure svg { min-width: 0; }
}
"""
"""Of a whole page."""


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
