"""A grid's tables for a report and for a terminal: figures, the printed ones below them, and the difference."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from metajudge.report.document import Absent, BarChart, BarSeries, Block, Cell, Section, Table
from metajudge.report.tables import table_to_text

from .figure import columns, without
from .findings import OVERALL, GridFindings, GridRow, GridTableFindings, PrecisionCell, RowCost, Share
from .grid_findings import ALL

BY_SIZE, POOLED, ALONE = "Overall by size", "Overall pooled", OVERALL
NOT_PRINTED = Absent(absent="the paper prints no such figure")
OTHER_RULE = Absent(absent="the printed Overall is of the other definition")
WIDEST = 38
"""Name of a configuration in the terminal's table of costs."""

INTERVALS = "Intervals are 95 %, by question."
LEGEND = (
    "Overall by size: category precisions weighted by the pairs of each category (interval from theirs, MOVER); "
    f"pooled: right of all kept. {INTERVALS} The difference is ours minus the printed figure, "
    "in points. Printed figures are shown where judgments and rule are the paper's."
)


def grid_section(grid: GridFindings, categories: Sequence[str]) -> Section:
    """Every table, then the costs."""
    blocks: list[Block] = []
    for table in grid.tables:
        blocks.append(layout_table(grid, table, categories))
        if table.chart and (chart := _chart(grid, table, categories)) is not None:
            blocks.append(chart)
    blocks += [cost_table(grid)] if any(isinstance(row.cost, RowCost) for row in _rows(grid)) else []
    return Section(title=grid.title, paragraphs=(*opening(grid), *grid.notes), blocks=tuple(blocks))


def opening(grid: GridFindings) -> tuple[str, ...]:
    """What was vetted, and how the figures are to be read."""
    source = f"{grid.source}. " if grid.source else ""
    return (f"{source}Vetted: {grid.population}.", LEGEND if grid.category_sizes else INTERVALS)


def grid_lines(grid: GridFindings, categories: Sequence[str]) -> Iterator[str]:
    """The same for a terminal, in at most 100 columns."""
    for line in (*opening(grid), *grid.notes):
        yield from wrapped(line)
    for table in grid.tables:
        yield ""
        yield narrow_table(grid, table, categories)
    costs = _narrow_costs(grid)
    for costs_of_judge in costs:
        yield ""
        yield table_to_text(costs_of_judge)
    if costs:
        yield from wrapped(COSTS, "  ", "  ")


def layout_table(grid: GridFindings, table: GridTableFindings, categories: Sequence[str]) -> Table:
    """One table in the layout of its source; below each row its intervals, the printed cells and the difference."""
    names = _columns(grid, table, categories)
    letters, notes = _lettered(table.rows)
    rows: list[tuple[Cell, ...]] = []
    for row, see in zip(table.rows, letters, strict=True):
        agents = f"{' + '.join(row.agents)}; {row.rubric}" if row.agents else ""
        lines = _figures(row, names)
        rows.append((row.configuration, _judge(row), agents, see, *lines[0].cells, _kept(row)))
        rows += [(f"\N{EM SPACE}{line.name}", "", "", "", *line.cells, "") for line in lines[1:]]
    titles = ("Configuration", "Judge", "Agents; rubric", "Caveats")
    found = Table(
        caption=f"{_title(table)}: precision in %",
        columns=columns(*titles[:3], (titles[3], "count"), *((name, "percent") for name in names), ("Kept", "count")),
        rows=tuple(rows),
        notes=(*table.notes, *notes),
    )
    # Columns of words without a word are left out, and the judge where the caption names the only one.
    words = [{str(row[place]) for row in rows} - {""} for place in range(len(titles))]
    alone = len(words[1]) == 1 and next(iter(words[1])) in found.caption
    return without(found, [place for place, there in enumerate(words) if not there or (place == 1 and alone)])


def narrow_table(grid: GridFindings, table: GridTableFindings, categories: Sequence[str]) -> str:
    """The same for a terminal: a row's name, agents and caveats on a line of their own, its figures below."""
    names = _columns(grid, table, categories)
    letters, notes = _lettered(table.rows)
    titles = [*(_SHORT.get(name, name) for name in names), "kept"]
    lines = [*wrapped(f"{_title(table)}: precision in %, judgments kept"), _line("", titles)]
    for row, see in zip(table.rows, letters, strict=True):
        lines += wrapped(f"{_named(row)}{f'  [{see}]' if see else ''}", "  ", "      ")
        for place, line in enumerate(_figures(row, names)):
            cells = [_plain(cell) for cell in line.cells]
            if any(cells):
                lines.append(_line(line.name, [*cells, _kept(row)] if place == 0 else cells))
    for note in (*table.notes, *notes):
        lines += wrapped(note, "  ", "     ")
    return "\n".join(lines)


def cost_table(grid: GridFindings) -> Table:
    """What each row costs by itself, as the paper counts it, and what was paid for it in this run."""
    titles = columns(
        *("Configuration", "Judge", "Counted as", ("Calls by itself", "count"), ("Cost by itself", "usd")),
        *(("Times its sum", "number"), ("Calls paid", "count"), ("Paid", "usd")),
    )
    rows = tuple(
        (row.configuration, _judge(row), c.formula, c.calls, c.cost_usd, _multiple(c), c.paid_calls, c.paid_usd)
        for row, c in _costed(grid)
    )
    return Table(caption="Cost of each row", columns=titles, rows=rows, notes=(COSTS,))


COSTS = (
    "By itself, alone: as if no reply were stored. Sum: each agent asked once (first statements, in a discussion). "
    "Paid: in the order of the rows, where a reply that an earlier row has is not asked for again."
)


def _narrow_costs(grid: GridFindings) -> list[Table]:
    """The same for a terminal, judge by judge."""
    costs = (("calls (paid)", "count"), ("alone", "usd"), ("x sum", "number"), ("paid", "usd"))
    titles = columns("Configuration", "counted as", *costs)
    by_judge: dict[str, list[tuple[Cell, ...]]] = {}
    for row, cost in _costed(grid):
        calls, name = f"{cost.calls:,} ({cost.paid_calls:,})", row.configuration
        name = name if len(name) <= WIDEST else name[: WIDEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
        cells = (name, cost.formula, calls, cost.cost_usd, _multiple(cost), cost.paid_usd)
        by_judge.setdefault(_judge(row), []).append(cells)
    return [
        Table(caption=f"Cost of each row, judge {judge}", columns=titles, rows=tuple(rows))
        for judge, rows in by_judge.items()
    ]


def _costed(grid: GridFindings) -> Iterator[tuple[GridRow, RowCost]]:
    seen: set[tuple[str, str]] = set()
    for row in _rows(grid):
        place = (row.judge, row.configuration)
        if isinstance(row.cost, RowCost) and place not in seen:
            seen.add(place)
            yield row, row.cost


def _rows(grid: GridFindings) -> list[GridRow]:
    return [row for table in grid.tables for row in table.rows]


def _multiple(cost: RowCost) -> float | Absent:
    if isinstance(cost.cost_usd, Absent):
        return cost.cost_usd
    if isinstance(cost.once_usd, Absent):
        return cost.once_usd
    return cost.cost_usd / cost.once_usd if cost.once_usd > 0 else Absent(absent="it costs nothing")


def _lettered(rows: Sequence[GridRow]) -> tuple[list[str], tuple[str, ...]]:
    """The letters of each row's caveats, in the order in which those come, and a note a letter."""
    found: dict[str, str] = {}
    given = []
    for row in rows:
        caveats = list(row.caveats)
        if row.published and row.not_compared:
            caveats.append(f"published cells left out: {row.not_compared}")
        elif isinstance(row.vetted, Absent):
            caveats.append(row.vetted.absent)
        for text in caveats:
            rounds, place = divmod(len(found), len(ascii_lowercase))
            found.setdefault(text, ascii_lowercase[place] * (rounds + 1))
        letters = sorted(map(found.__getitem__, caveats), key=lambda letter: (len(letter), letter))
        given.append(", ".join(letters))
    return given, tuple(f"{letter}: {text}." for text, letter in found.items())


def _columns(grid: GridFindings, table: GridTableFindings, categories: Sequence[str]) -> list[str]:
    there = [name for name in categories if any(name in row.cells or name in row.published for row in table.rows)]
    return [*there, *((BY_SIZE, POOLED) if grid.category_sizes else (ALONE,))]


def _title(table: GridTableFindings) -> str:
    named = table.name == ALL or table.name in table.caption
    return table.caption if named else f"{table.name.capitalize()}. {table.caption}"


def _judge(row: GridRow) -> str:
    return row.judge if row.own or isinstance(row.vetted, Absent) else row.vetted


def _named(row: GridRow) -> str:
    """Configuration, judge, agents and rubric."""
    parts = [f"judge {_judge(row)}"]
    parts += [f"agents {' + '.join(row.agents)}", f"rubric {row.rubric}"] * bool(row.agents)
    return f"{row.configuration} ({'; '.join(parts)})"


def _found(row: GridRow, name: str) -> Share | Absent:
    """Our precision."""
    if name == BY_SIZE:
        return row.by_size
    cell: PrecisionCell | None = row.cells.get(OVERALL if name == POOLED else name)
    if cell is not None:
        return cell.precision
    why = row.vetted.absent if isinstance(row.vetted, Absent) else "the row was not run"
    return Absent(absent=why if not row.cells else "no judgment of this category")


class _Figures(NamedTuple):
    """One line of figures under a row's name."""

    name: str
    cells: tuple[Cell, ...]


def _figures(row: GridRow, names: Sequence[str]) -> list[_Figures]:
    """Ours, the intervals, the printed cells where they are the same rule and population's, the differences."""
    found = [_found(row, name) for name in names]
    ours = tuple(one if isinstance(one, Absent) else f"{100 * one.share:.2f}" for one in found)
    lines = [_Figures("here", ours)]
    if row.cells:
        ends = [None if isinstance(one, Absent) else one.interval for one in found]
        words = ("" if one is None else f"{100 * one[0]:.0f} to {100 * one[1]:.0f}" for one in ends)
        lines.append(_Figures("95 % interval", tuple(words)))
    if row.published and not row.not_compared:
        printed = [_printed(row, name) for name in names]
        both = zip(found, printed, strict=True)
        shares = (one if isinstance(one, Absent) else f"{100 * one:.2f}" for one in printed)
        lines.append(_Figures("published", tuple(shares)))
        differences = tuple(_difference(ours, one) for ours, one in both)
        lines += [_Figures("difference", differences)] if any(differences) else []
    return lines


def _printed(row: GridRow, name: str) -> float | Absent:
    if name not in (BY_SIZE, POOLED):
        return row.published.get(name, NOT_PRINTED)
    # The paper's Overall by the rule it was computed by.
    same = row.published_overall in ("both", "by size" if name == BY_SIZE else "pooled")
    return row.published.get(OVERALL, NOT_PRINTED) if same or OVERALL not in row.published else OTHER_RULE


def _difference(found: Share | Absent, printed: float | Absent) -> Cell:
    if isinstance(found, Absent) or isinstance(printed, Absent):
        return ""
    points = 100 * found.share - 100 * printed
    return f"{0.0 if math.isclose(round(points, 1), 0) else points:+.1f}"


def _plain(cell: Cell) -> str:
    """A cell for the terminal; a printed figure that is missing leaves its place empty."""
    if not isinstance(cell, Absent):
        return str(cell)
    return "" if cell in (NOT_PRINTED, OTHER_RULE) else "none"


def _kept(row: GridRow) -> str:
    cell = row.cells.get(OVERALL)
    return "" if cell is None else f"{cell.selected} of {cell.n}"


def _chart(grid: GridFindings, table: GridTableFindings, categories: Sequence[str]) -> BarChart | None:
    groups = _columns(grid, table, categories)
    series = tuple(
        BarSeries(name=row.configuration, values=tuple(_found(row, name) for name in groups))
        for row in table.rows
        if row.cells and row.agents
    )
    if not series:
        return None
    description = "Precision of what is kept, with 95 % intervals by question, by task and over all."
    return BarChart(title=table.caption, description=description, groups=tuple(groups), series=series)


_SHORT = {BY_SIZE: "by size", POOLED: "pooled"}


def _line(name: str, cells: Sequence[str]) -> str:
    return ("    " + name.ljust(14) + "".join(cell.rjust(11) for cell in cells)).rstrip()


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """A text in lines of at most 100 columns."""
    return textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=rest) or [""]
