"""Figures as text, and charts as tables."""

import math
from collections.abc import Callable, Mapping

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

DASH = "\N{EN DASH}"
"""Shown for a missing figure, together with the reason."""
_NONE = Absent(absent="none of them is compared with a label")


def counts_table(caption: str, rows: Mapping[str, Counted], notes: tuple[str, ...] = ()) -> Table:
    """The rows with judgments in them."""
    names = ("Number", "Compared with a label", "Right")
    columns = (Column(title="Judgments"), *(Column(title=name, kind="count") for name in names))
    cells = [
        (
            *(WORDS[name], row.n, row.compared, row.right),
            _NONE if row.share is None else Measured(value=row.share.estimate, low=row.share.low, high=row.share.high),
        )
        for name, row in rows.items()
        if row.n
    ]
    return Table(
        caption=caption, columns=(*columns, Column(title="Right %", kind="percent")), rows=tuple(cells), notes=notes
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
    "number": lambda value: f"{value:.3f}",
    "usd": lambda value: dollars(value),
}


def dollars(value: float) -> str:
    """An amount without rounding it to nothing: ``$0``, ``$0.000012``, ``$0.0042``, ``$3.10``."""
    if value == 0:
        return "$0"
    if abs(value) >= 1:
        return f"${value:,.2f}"
    return f"${value:.{max(4, 1 - math.floor(math.log10(abs(value))))}f}"


def write_figure(value: float, kind: Kind) -> str:
    """A figure rounded to what its kind needs."""
    return _WRITERS[kind](value)


def one_line(text: str) -> str:
    """Text without line breaks, control characters and terminal codes, whatever a judge is called."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))


def reasons(table: Table) -> tuple[str, ...]:
    """Why figures are absent: every reason once, in the order of the table."""
    return tuple(dict.fromkeys(cell.absent for row in table.rows for cell in row if isinstance(cell, Absent)))


def table_of(block: Block) -> Table:
    """The block itself if it is a table, else the figures a chart is drawn from."""
    match block:
        case Table():
            return block
        case CoverageChart():
            return _coverage(block)
        case ReliabilityChart():
            return _reliability(block)
        case BarChart():
            return _bars(block)
        case ShareChart():
            return _shares(block)
        case ScatterChart():
            return _scatter(block)
        case IntervalChart():
            return _intervals(block)
        case Histogram():
            return _histogram(block)
        case Tiles():
            return _tiles(block)
        case Exhibit():
            return _exhibit(block)
        case Fold():
            return Table(
                caption=block.title, columns=(Column(title="text"),), rows=tuple((one,) for one in block.paragraphs)
            )
        case Listing():
            return Table(
                caption=block.caption, columns=(Column(title="Line"),), rows=tuple((line,) for line in block.lines)
            )


def _coverage(chart: CoverageChart) -> Table:
    columns = (
        Column(title="Score"),
        Column(title="Coverage %", kind="percent"),
        Column(title="Selected", kind="count"),
        Column(title="Precision % (band)", kind="percent"),
    )
    rows: list[tuple[Cell, ...]] = [
        (curve.name, p.coverage, p.selected, p) for curve in chart.curves for p in curve.points
    ]
    unknown = Absent(absent="a single selection is drawn without a band; its interval is in the precision table")
    rows += [(mark.name, mark.coverage, unknown, mark.precision) for mark in chart.marks]
    return Table(caption=chart.title, columns=columns, rows=tuple(rows))


def _reliability(chart: ReliabilityChart) -> Table:
    columns = (
        Column(title="Score"),
        Column(title="Stated probability %", kind="percent"),
        Column(title="Right % (interval)", kind="percent"),
        Column(title="Judgments", kind="count"),
    )
    rows = tuple((series.name, b.predicted, b, b.n) for series in chart.series for b in series.bins)
    return Table(caption=chart.title, columns=columns, rows=rows)


def _bars(chart: BarChart) -> Table:
    kind: Kind = "percent" if chart.unit == "%" else "number"
    columns = (Column(title=""), *(Column(title=f"{group} {chart.unit}", kind=kind) for group in chart.groups))
    rows = tuple(
        (series.name, *(_without_empty_interval(one, kind) for one in series.values)) for series in chart.series
    )
    return Table(caption=chart.title, columns=columns, rows=rows)


def _without_empty_interval(value: Measured | Absent, kind: Kind) -> Cell:
    """An amount that was measured once is a plain number; a share keeps its interval also where it has no width."""
    return value.value if kind == "number" and isinstance(value, Measured) and value.low == value.high else value


def _shares(chart: ShareChart) -> Table:
    columns = (Column(title=""), *(Column(title=part, kind="count") for part in chart.parts))
    rows = tuple((row.name, *row.counts) for row in chart.rows)
    return Table(caption=chart.title, columns=columns, rows=rows)


def _histogram(chart: Histogram) -> Table:
    columns = (
        Column(title=f"{chart.x_title}, from"),
        Column(title="to"),
        *(Column(title=part.name, kind="count") for part in chart.parts),
    )
    bins = zip(chart.edges[:-1], chart.edges[1:], strict=True)
    rows = tuple(
        (f"{low:g}", f"{high:g}", *(part.counts[place] for part in chart.parts))
        for place, (low, high) in enumerate(bins)
    )
    return Table(caption=chart.title, columns=columns, rows=rows)


def _tiles(block: Tiles) -> Table:
    columns = (Column(title=""), Column(title="Figure"), Column(title="Note"))
    return Table(
        caption=block.caption, columns=columns, rows=tuple((one.title, one.figure, one.note) for one in block.tiles)
    )


def _exhibit(block: Exhibit) -> Table:
    columns = (Column(title=""), Column(title="Text"))
    texts = [(one.title, one.text) for one in (*block.above, *block.beside, *block.below)]
    rows = [("Found", line) for line in (*([block.status] if block.status else []), *block.lines)]
    return Table(caption=block.title, columns=columns, rows=(*rows, *texts))


def _scatter(chart: ScatterChart) -> Table:
    columns = (
        Column(title=""),
        Column(title=chart.x_title, kind="number"),
        Column(title=chart.y_title, kind="number"),
        Column(title="marked"),
    )
    rows = tuple((point.name, point.x, point.y, "yes" if point.marked else "no") for point in chart.points)
    return Table(caption=chart.title, columns=columns, rows=rows)


def _intervals(chart: IntervalChart) -> Table:
    columns = (Column(title=""), Column(title="series"), Column(title=_TITLES[chart.kind], kind=chart.kind))
    rows: list[tuple[Cell, ...]] = []
    for row in chart.rows:
        rows += [(row.name, chart.series[mark.series], mark.value) for mark in row.marks]
        if not row.marks:
            rows.append((row.name, DASH, Absent(absent=row.absent or "not measured")))
    return Table(caption=chart.title, columns=columns, rows=tuple(rows))


_TITLES: dict[Kind, str] = {"percent": "% (interval)", "points": "points (interval)", "number": "value (interval)"}


def table_to_text(table: Table) -> str:
    """Caption, aligned columns, notes; figures to the right, words to the left."""
    why = {reason: number for number, reason in enumerate(reasons(table), start=1)}
    written = [[one_line(column.title) for column in table.columns]]
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        written.append([_cell(cell, column.kind, why) for cell, column in cells])
    widths = [max(len(line[place]) for line in written) for place in range(len(table.columns))]
    lines = [one_line(table.caption)]
    for texts in written:
        aligned = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip(texts, widths, table.columns, strict=True)
        ]
        lines.append("  " + "  ".join(aligned).rstrip())
    lines += [f"  {one_line(note)}" for note in table.notes]
    lines += [f"  [{number}] {one_line(reason)}" for reason, number in why.items()]
    return "\n".join(lines)


def _cell(cell: Cell, kind: Kind, why: dict[str, int]) -> str:
    text = one_line(cell_text(cell, kind))
    return f"{text} [{why[cell.absent]}]" if isinstance(cell, Absent) else text
