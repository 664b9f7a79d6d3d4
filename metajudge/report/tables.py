"""Figures as text, and charts as tables."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from metajudge.evidence.counting import WORDS, Counted
from metajudge.report.document import (
    Absent,
    BarChart,
    Block,
    Cell,
    Column,
    CoverageChart,
    Exhibit,
    Fold,
    Histogram,
    IntervalChart,
    Kind,
    Listing,
    Measured,
    ReliabilityChart,
    ScatterChart,
    ShareChart,
    Table,
    Tiles,
)
from metajudge.types.figure import Figure

DASH = "\N{EN DASH}"
"""Shown for a missing figure, together with the reason."""
_NONE = Absent(absent="none of them is compared with a label")


Row = tuple[Cell, ...]
Head = str | tuple[str, Kind] | tuple[str, Kind, str]
"""A column's title, with its kind where it is no text, and a note where the title does not explain it."""
_Figures = tuple[Sequence[Head], Sequence[Row]]
R = TypeVar("R")


def columns(*heads: Head) -> tuple[Column, ...]:
    """The columns of a table."""
    given = ((one,) if isinstance(one, str) else one for one in heads)
    return tuple(Column.model_validate(dict(zip(("title", "kind", "note"), one, strict=False))) for one in given)


def table_with(
    caption: str, rows: Iterable[R], *given: tuple[Head, Callable[[R], Cell]], notes: Iterable[str] = ()
) -> Table:
    """A table of one row a thing: each column is its head, and what it shows of the thing."""
    cells = tuple(tuple(show(row) for _, show in given) for row in rows)
    return Table(caption=caption, columns=columns(*(head for head, _ in given)), rows=cells, notes=tuple(notes))


def cell_of(figure: Figure, absent: str | None = None) -> Cell:
    """A figure as a cell: with its interval where it has one; where there is no number, the reason."""
    if figure.value is None:
        return Absent(absent=absent or "unknown")
    if figure.low is None or figure.high is None:
        return figure.value
    return Measured(value=figure.value, low=figure.low, high=figure.high)


def counts_table(caption: str, rows: Mapping[str, Counted], notes: tuple[str, ...] = ()) -> Table:
    """The rows with judgments in them."""

    def right(row: Counted) -> Cell:
        share = row.share
        return _NONE if share is None else Measured(value=share.estimate, low=share.low, high=share.high)

    return table_with(
        caption,
        [(WORDS[name], row) for name, row in rows.items() if row.n],
        ("Judgments", lambda one: one[0]),
        (("Number", "count"), lambda one: one[1].n),
        (("Compared with a label", "count"), lambda one: one[1].compared),
        (("Right", "count"), lambda one: one[1].right),
        (("Right %", "percent"), lambda one: right(one[1])),
        notes=notes,
    )


def cell_text(cell: Cell, kind: Kind = "text") -> str:
    """A cell as it is read: rounded to what its kind needs, an interval behind the figure."""
    if isinstance(cell, Absent):
        return DASH
    if isinstance(cell, Measured):
        write = _WRITERS[kind]
        low, high = cell.interval
        return f"{write(cell.value)} ({write(low)} to {write(high)})"
    if isinstance(cell, str):
        return cell
    return _WRITERS[kind](cell)


_WRITERS: dict[Kind, Callable[[float], str]] = {
    "text": lambda value: f"{value:g}",
    "count": lambda value: f"{value:,.0f}",
    "percent": lambda value: f"{100 * value:.1f}",
    # A difference that rounds to nothing has no sign.
    "points": lambda value: f"{100 * value:+.1f}".replace("-0.0", "0.0").replace("+0.0", "0.0"),
    # Half a unit of the last digit is not decided by the noise of floats.
    "number": lambda value: f"{round(value, 9):.3f}",
    "usd": lambda value: dollars(value),
}


def dollars(value: float) -> str:
    """An amount without rounding it to nothing: ``$0``, ``$0.000012``, ``$0.0042``, ``$3.10``."""
    if value == 0:
        return "$0"
    if abs(value) >= 1:
        return f"${value:,.2f}"
    return f"${value:.{max(4, 1 - math.floor(math.log10(abs(value))))}f}"


def short_figure(value: float, kind: Kind) -> str:
    """A figure rounded to what its kind needs, a number to two decimals."""
    return f"{value:.2f}" if kind == "number" else _WRITERS[kind](value)


def one_line(text: str) -> str:
    """Text without line breaks, control characters and terminal codes, whatever a judge is called."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))


def reasons(table: Table) -> tuple[str, ...]:
    """Why figures are absent: every reason once, in the order of the table."""
    return tuple(dict.fromkeys(cell.absent for row in table.rows for cell in row if isinstance(cell, Absent)))


def table_of(block: Block) -> Table:
    """The block itself if it is a table, else the figures a chart is drawn from."""
    if isinstance(block, Table):
        return block
    heads, rows = _FIGURES[type(block)](block)
    caption = block.caption if isinstance(block, Tiles | Listing) else block.title
    return Table(caption=caption, columns=columns(*heads), rows=tuple(rows))


def _coverage(chart: CoverageChart) -> _Figures:
    yet_unknown = Absent(absent="a single selection is drawn without a band; its interval is in the precision table")
    curves = [(curve.name, p.coverage, p.selected, p) for curve in chart.curves for p in curve.points]
    marks = [(mark.name, mark.coverage, yet_unknown, mark.precision) for mark in chart.marks]
    rows: list[Row] = [*curves, *marks]
    return ("Score", ("Coverage %", "percent"), ("Selected", "count"), ("Precision % (band)", "percent")), rows


def _reliability(chart: ReliabilityChart) -> _Figures:
    rows = [(series.name, b.predicted, b, b.n) for series in chart.series for b in series.bins]
    shares: tuple[Head, Head] = ("Stated probability %", "percent"), ("Right % (interval)", "percent")
    return ("Score", *shares, ("Judgments", "count")), rows


def _bars(chart: BarChart) -> _Figures:
    """An amount that was measured once is a plain number; a share keeps its interval also where it has no width."""
    kind: Kind = "percent" if chart.unit == "%" else "number"

    def shown(value: Measured | Absent) -> Cell:
        return value.value if kind == "number" and isinstance(value, Measured) and value.low == value.high else value

    heads: list[Head] = ["", *((f"{group} {chart.unit}", kind) for group in chart.groups)]
    return heads, [(series.name, *map(shown, series.values)) for series in chart.series]


def _shares(chart: ShareChart) -> _Figures:
    return ["", *_counts(chart.parts)], [(row.name, *row.counts) for row in chart.rows]


def _histogram(chart: Histogram) -> _Figures:
    heads = [f"{chart.x_title}, from", "to", *_counts(part.name for part in chart.parts)]
    bins = zip(chart.edges[:-1], chart.edges[1:], *(part.counts for part in chart.parts), strict=True)
    return heads, [(f"{low:g}", f"{high:g}", *counts) for low, high, *counts in bins]


def _counts(names: Iterable[str]) -> list[Head]:
    return [(name, "count") for name in names]


def _exhibit(block: Exhibit) -> _Figures:
    texts = [(one.title, one.text) for one in (*block.above, *block.beside, *block.below)]
    found = [("Found", line) for line in (*([block.status] if block.status else []), *block.lines)]
    return ("", "Text"), [*found, *texts]


def _scatter(chart: ScatterChart) -> _Figures:
    rows = [(point.name, point.x, point.y, "yes" if point.marked else "no") for point in chart.points]
    return ("", (chart.x_title, "number"), (chart.y_title, "number"), "marked"), rows


def _intervals(chart: IntervalChart) -> _Figures:
    rows: list[Row] = []
    for row in chart.rows:
        rows += [(row.name, chart.series[mark.series], mark.value) for mark in row.marks]
        if not row.marks:
            rows.append((row.name, DASH, Absent(absent=row.absent or "not measured")))
    return ("", "series", (_TITLES[chart.kind], chart.kind)), rows


_TITLES: dict[Kind, str] = {"percent": "% (interval)", "points": "points (interval)", "number": "value (interval)"}
_FIGURES: dict[type[Block], Callable[[Any], _Figures]] = {
    CoverageChart: _coverage,
    ReliabilityChart: _reliability,
    BarChart: _bars,
    ShareChart: _shares,
    ScatterChart: _scatter,
    IntervalChart: _intervals,
    Histogram: _histogram,
    Exhibit: _exhibit,
    Tiles: lambda block: (("", "Figure", "Note"), [(one.title, one.figure, one.note) for one in block.tiles]),
    Fold: lambda block: (("text",), [(one,) for one in block.paragraphs]),
    Listing: lambda block: (("Line",), [(one,) for one in block.lines]),
}
"""Kind of a block -> the columns and rows of what it shows."""


def written_rows(table: Table) -> tuple[list[list[str]], dict[str, str]]:
    """Titles and cells as text, absent figures with a mark; and reason -> its mark."""
    marks = {reason: f"[{number}]" for number, reason in enumerate(reasons(table), start=1)}
    rows = [[one_line(column.title) for column in table.columns]]
    for row in table.rows:
        texts = [one_line(cell_text(cell, column.kind)) for cell, column in zip(row, table.columns, strict=True)]
        why = [f" {marks[cell.absent]}" if isinstance(cell, Absent) else "" for cell in row]
        rows.append([text + mark for text, mark in zip(texts, why, strict=True)])
    return rows, marks


def table_to_text(table: Table) -> str:
    """Caption, aligned columns, notes; figures to the right, words to the left."""
    written, marks = written_rows(table)
    widths = [max(len(line[place]) for line in written) for place in range(len(table.columns))]
    lines = [one_line(table.caption)]
    for texts in written:
        aligned = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip(texts, widths, table.columns, strict=True)
        ]
        lines.append("  " + "  ".join(aligned).rstrip())
    lines += [f"  {one_line(note)}" for note in table.notes]
    lines += [f"  {mark} {one_line(reason)}" for reason, mark in marks.items()]
    return "\n".join(lines)
