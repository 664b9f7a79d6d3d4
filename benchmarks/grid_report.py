"""A grid's tables for a report and for a terminal: figures, the printed ones below them, and the difference."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from metajudge.report.document import Absent, BarChart, BarSeries, Block, Cell, Section, Table
from metajudge.report.tables import table_to_text

from .columns import columns, without
from .findings import OVERALL, GridFindings, GridRow, GridTableFindings, PrecisionCell, RowCost, Share
from .grid_findings import ALL, overall_of

BY_SIZE, POOLED, ALONE = "Overall by size", "Overall pooled", OVERALL
NOT_PRINTED = Absent(absent="the paper prints no such figure")
OTHER_RULE = Absent(absent="the printed Overall is of the other definition")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
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
    letters = _Letters()
    rows: list[tuple[Cell, ...]] = []
    for row in table.rows:
        see = letters.of(row)
        agents = f"{' + '.join(row.agents)}; {row.rubric}" if row.agents else ""
        words = (row.configuration, _judge(row), agents, see)
        lines = _figures(row, names)
        rows.append((*words, *lines[0].cells, _kept(row)))
        rows += [(f"\N{EM SPACE}{line.name}", "", "", "", *line.cells, "") for line in lines[1:]]
    titles = ("Configuration", "Judge", "Agents; rubric", "Caveats")
    found = Table(
        caption=f"{_title(table)}: precision in %",
        columns=columns(*titles[:3], (titles[3], "count"), *((name, "percent") for name in names), ("Kept", "count")),
        rows=tuple(rows),
        notes=(*table.notes, *letters.notes),
    )
    return _without_plain_columns(found, titles)


def narrow_table(grid: GridFindings, table: GridTableFindings, categories: Sequence[str]) -> str:
    """The same for a terminal: a row's name, agents and caveats on a line of their own, its figures below."""
    names = _columns(grid, table, categories)
    letters = _Letters()
    titles = [*(_SHORT.get(name, name) for name in names), "kept"]
    lines = [*wrapped(f"{_title(table)}: precision in %, judgments kept"), _line("", titles)]
    for row in table.rows:
        see = letters.of(row)
        lines += wrapped(f"{_named(row)}{f'  [{see}]' if see else ''}", "  ", "      ")
        for place, line in enumerate(_figures(row, names)):
            cells = [_plain(cell) for cell in line.cells]
            if any(cells):
                lines.append(_line(line.name, [*cells, _kept(row)] if place == 0 else cells))
    for note in (*table.notes, *letters.notes):
        lines += wrapped(note, "  ", "     ")
    return "\n".join(lines)


def cost_table(grid: GridFindings) -> Table:
    """What each row costs by itself, as the paper counts it, and what was paid for it in this run."""
    titles = columns(
        *("Configuration", "Judge", "Counted as", ("Calls by itself", "count"), ("Cost by itself", "usd")),
        *(("Times its sum", "number"), ("Calls paid", "count"), ("Paid", "usd")),
    )
    rows = tuple((row.configuration, _judge(row), *_cost_cells(cost)) for row, cost in _costed(grid))
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
        formula, calls, dollars, multiple, paid_calls, paid = _cost_cells(cost)
        both = f"{calls:,} ({paid_calls:,})"
        by_judge.setdefault(_judge(row), []).append((_cut(row.configuration), formula, both, dollars, multiple, paid))
    return [
        Table(caption=f"Cost of each row, judge {judge}", columns=titles, rows=tuple(rows))
        for judge, rows in by_judge.items()
    ]


def _cost_cells(cost: RowCost) -> tuple[str, int, Cell, Cell, int, Cell]:
    return cost.formula, cost.calls, cost.cost_usd, _multiple(cost), cost.paid_calls, cost.paid_usd


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


class _Letters:
    """A letter for each caveat of a table, in the order in which they come."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def of(self, row: GridRow) -> str:
        """The letters of a row's caveats, with the reason why it is not compared."""
        caveats = list(row.caveats)
        if row.published and row.not_compared:
            caveats.append(f"published cells left out: {row.not_compared}")
        elif isinstance(row.vetted, Absent):
            caveats.append(row.vetted.absent)
        letters = [self._found.setdefault(text, self._next()) for text in caveats]
        return ", ".join(sorted(letters, key=lambda letter: (len(letter), letter)))

    def _next(self) -> str:
        rounds, place = divmod(len(self._found), len(LETTERS))
        return LETTERS[place] * (rounds + 1)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"{letter}: {text}." for text, letter in self._found.items())


def _columns(grid: GridFindings, table: GridTableFindings, categories: Sequence[str]) -> list[str]:
    there = [name for name in categories if any(name in row.cells or name in row.published for row in table.rows)]
    return [*there, *((BY_SIZE, POOLED) if grid.category_sizes else (ALONE,))]


def _title(table: GridTableFindings) -> str:
    return (
        table.caption
        if table.name == ALL or table.name in table.caption
        else f"{table.name.capitalize()}. {table.caption}"
    )


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
        lines.append(_Figures("95 % interval", tuple("" if isinstance(one, Absent) else _ends(one) for one in found)))
    if row.published and not row.not_compared:
        printed = [_printed(row, name) for name in names]
        both = zip(found, printed, strict=True)
        lines.append(_Figures("published", tuple(_percent(one) for one in printed)))
        differences = tuple(_difference(ours, one) for ours, one in both)
        lines += [_Figures("difference", differences)] if any(differences) else []
    return lines


def _printed(row: GridRow, name: str) -> float | Absent:
    if name not in (BY_SIZE, POOLED):
        return row.published.get(name, NOT_PRINTED)
    overall = overall_of(row)
    rule = "by size" if name == BY_SIZE else "pooled"
    return overall.get(rule, OTHER_RULE if overall else NOT_PRINTED)


def _percent(share: float | Absent) -> Cell:
    return share if isinstance(share, Absent) else f"{100 * share:.2f}"


def _ends(one: Share) -> str:
    low, high = one.interval
    return f"{100 * low:.0f} to {100 * high:.0f}"


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
    rows = [row for row in table.rows if row.cells and row.agents]
    groups = _columns(grid, table, categories)
    if not rows:
        return None
    return BarChart(
        title=table.caption,
        description="Precision of what is kept, with 95 % intervals by question, by task and over all.",
        groups=tuple(groups),
        series=tuple(
            BarSeries(name=row.configuration, values=tuple(_found(row, name) for name in groups)) for row in rows
        ),
    )


def _without_plain_columns(table: Table, titles: Sequence[str]) -> Table:
    """Leaves out columns of words without a word, and the judge where the caption names the only one."""
    found = {title: {str(row[place]) for row in table.rows} - {""} for place, title in enumerate(titles)}
    gone = [place for place, title in enumerate(titles) if not found[title]]
    judges = found["Judge"]
    if len(judges) == 1 and next(iter(judges)) in table.caption:
        gone.append(titles.index("Judge"))
    return without(table, gone)


_SHORT = {BY_SIZE: "by size", POOLED: "pooled"}


def _line(name: str, cells: Sequence[str]) -> str:
    return ("    " + name.ljust(14) + "".join(cell.rjust(11) for cell in cells)).rstrip()


def _cut(name: str, width: int = 38) -> str:
    return name if len(name) <= width else name[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """A text in lines of at most 100 columns."""
    return textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=rest) or [""]
