"""Horizontal bar charts, for long names: by group, and as parts of a whole."""

from xml.etree import ElementTree as ET

from metajudge.report.document import Absent, BarChart, Measured, ShareChart
from metajudge.report.svg import CHARACTER_WIDTH, SERIES, Axis, Canvas, amount_axis, shortened

WIDTH = 720.0
NAME_WIDTH = 214.0
BAR, GAP = 15.0, 12.0
LEGEND_LINE = 20.0
NAME_LETTERS = int((NAME_WIDTH - 18) / CHARACTER_WIDTH)


def draw_bars(chart: BarChart, name: str) -> ET.Element:
    """One bar per series in every group, with its interval as a whisker and its figure beside it."""
    legend = legend_places([series.name for series in chart.series])
    top = 12 + LEGEND_LINE * (legend[-1][1] + 1)
    block = BAR * len(chart.series) + GAP
    height = top + block * len(chart.groups) + 34
    canvas = Canvas(WIDTH, height, name, chart.title, chart.description)
    canvas.patterns(len(chart.series))
    draw_legend(canvas, [series.name for series in chart.series], legend)
    x = _axis(chart)
    percent = chart.unit == "%"
    _scale(canvas, x, top, height - 34, chart.unit)
    for place, group in enumerate(chart.groups):
        y = top + GAP / 2 + place * block
        middle = y + BAR * len(chart.series) / 2 + 4
        canvas.text(NAME_WIDTH - 8, middle, shortened(group, NAME_LETTERS), "label", "end")
        for number, series in enumerate(chart.series):
            _bar(canvas, x, y + BAR * number, number, series.values[place], percent)
    return canvas.root


def draw_shares(chart: ShareChart, name: str) -> ET.Element:
    """One bar per whole, divided into its parts; parts that are wide enough show their share."""
    legend = legend_places(list(chart.parts))
    top = 12 + LEGEND_LINE * (legend[-1][1] + 1)
    height = top + (BAR + 5 + GAP) * len(chart.rows) + 34
    canvas = Canvas(WIDTH, height, name, chart.title, chart.description)
    canvas.patterns(len(chart.parts))
    draw_legend(canvas, list(chart.parts), legend)
    x = Axis((0, 1), NAME_WIDTH, WIDTH - 60)
    _scale(canvas, x, top, height - 34)
    for place, row in enumerate(chart.rows):
        y = top + GAP / 2 + place * (BAR + 5 + GAP)
        canvas.text(NAME_WIDTH - 8, y + 15, shortened(row.name, NAME_LETTERS), "label", "end")
        _divided(canvas, x, y, row.counts)
        canvas.text(x.end + 6, y + 15, f"n={sum(row.counts)}", "tick")
    return canvas.root


def _axis(chart: BarChart) -> Axis:
    if chart.unit == "%":
        return Axis((0, 1), NAME_WIDTH, WIDTH - 60)
    values = (value for series in chart.series for value in series.values)
    highest = [value.interval[1] for value in values if isinstance(value, Measured)]
    return amount_axis(highest or [0.0], NAME_WIDTH, WIDTH - 60)


def _bar(canvas: Canvas, x: Axis, y: float, number: int, value: Measured | Absent, percent: bool) -> None:
    middle = y + BAR / 2
    if isinstance(value, Absent):
        canvas.text(x.start + 4, middle + 4, shortened(value.absent, 60), "tick")
        return
    canvas.bar(number, x.start, y + 1, x.at(value.value) - x.start, BAR - 2)
    low, high = map(x.at, value.interval)
    if low < high:
        canvas.line(low, middle, high, middle, "whisker")
        for end in (low, high):
            canvas.line(end, middle - 3, end, middle + 3, "whisker")
    text = f"{100 * value.value:.1f}" if percent else f"{value.value:.3g}"
    canvas.text(high + 6, middle + 4, text, "value")


def _divided(canvas: Canvas, x: Axis, y: float, counts: tuple[int, ...]) -> None:
    total = sum(counts)
    start = 0
    for number, count in enumerate(counts):
        if not count:
            continue
        left, right = x.at(start / total), x.at((start + count) / total)
        canvas.bar(number, left, y, right - left, BAR + 5)
        if right - left >= 34:
            canvas.text((left + right) / 2, y + 14, f"{100 * count / total:.0f}%", "inside", "middle")
        start += count


def _scale(canvas: Canvas, x: Axis, top: float, bottom: float, unit: str = "%") -> None:
    for tick in x.ticks():
        canvas.line(x.at(tick), top, x.at(tick), bottom, "grid")
        canvas.text(
            x.at(tick), bottom + 18, f"{100 * tick:g} %" if unit == "%" else f"{tick:.3g} {unit}", "tick", "middle"
        )


def legend_places(names: list[str]) -> list[tuple[float, int]]:
    """Left edge and line of every entry, broken into lines that fit."""
    places: list[tuple[float, int]] = []
    x, line = 8.0, 0
    for name in names:
        width = 34 + CHARACTER_WIDTH * len(name)
        if x > 8 and x + width > WIDTH:
            x, line = 8.0, line + 1
        places.append((x, line))
        x += width
    return places


def draw_legend(
    canvas: Canvas, names: list[str], places: list[tuple[float, int]], series: list[int] | None = None
) -> None:
    """Names with their patterns, where :func:`legend_places` puts them; ``series`` are 0, 1, ... if not given."""
    for number, name, (x, line) in zip(series or range(len(names)), names, places, strict=True):
        y = 6 + LEGEND_LINE * line
        canvas.bar(number % SERIES, x, y, 16, 12)
        canvas.text(x + 21, y + 10, name, "label")
