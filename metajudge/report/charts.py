"""The charts of a report as SVG: curves and points, bars, intervals, a histogram."""

import math
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from metajudge.report.document import (
    Absent,
    BarChart,
    Chart,
    CoverageChart,
    Histogram,
    IntervalChart,
    IntervalRow,
    Kind,
    Measured,
    ReliabilityChart,
    ScatterChart,
    ShareChart,
)
from metajudge.report.svg import (
    BOTTOM,
    CHARACTER_WIDTH,
    DASHES,
    HEIGHT,
    RIGHT,
    SERIES,
    TOP,
    WIDTH,
    Axis,
    Canvas,
    amount_axis,
    frame,
    name_at_right,
    share_axis,
    shortened,
)
from metajudge.report.tables import short_figure
from metajudge.types.frozen import Finite

LEFT, WIDE_LEFT = 48.0, 64.0
"""Left margins: beside per cents, and beside larger numbers."""
NAME_WIDTH = 214.0
NAME_LETTERS = int((NAME_WIDTH - 18) / CHARACTER_WIDTH)
BAR, GAP = 15.0, 12.0
LINE, LINE_GAP = 18.0, 8.0
LEGEND_LINE = 20.0
FIGURE_WIDTH = 74.0
"""Room at the right of an interval chart for a row's figures."""
TICKS = 6
MARKED, PLAIN = 0, 4
"""Series whose shapes and colours show a marked point (a disc) and another one (a cross)."""
_MARGIN, _PLOT = 24.0, 200.0
"""Of a histogram: the margin at its right, and its height."""


def draw_coverage(chart: CoverageChart, name: str) -> ET.Element:
    """Curves from right (everything kept) to left (only the best), bands around them, single selections as marks."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    seen = [p.interval[0] for curve in chart.curves for p in curve.points] + [mark.precision for mark in chart.marks]
    x = Axis((0, 1), LEFT, WIDTH - RIGHT)
    y = share_axis([*seen, *([chart.raw] if chart.raw is not None else [])], HEIGHT - BOTTOM, TOP)
    frame(canvas, x, y, "Coverage: share of judgments kept, %", "Precision of the kept, %")
    if chart.raw is not None:
        canvas.line(x.at(0), y.at(chart.raw), x.at(1), y.at(chart.raw), "reference")
    for series, curve in enumerate(chart.curves):
        upper = [(x.at(p.coverage), y.at(p.interval[1])) for p in curve.points]
        lower = [(x.at(p.coverage), y.at(p.interval[0])) for p in reversed(curve.points)]
        canvas.path(upper + lower, f"band s{series % SERIES}", closed=True)
    for series, curve in enumerate(chart.curves):
        places = [(x.at(p.coverage), y.at(p.value)) for p in curve.points]
        canvas.path(places, f"curve s{series % SERIES}", DASHES[series % SERIES])
        step = max(1, len(places) // 6)
        for at in places[series % step :: step] if len(places) > 1 else places:
            canvas.marker(series, *at)
    for number, mark in enumerate(chart.marks, start=len(chart.curves)):
        canvas.marker(number, x.at(mark.coverage), y.at(mark.precision), 6)
    _coverage_labels(canvas, chart, x, y)
    return canvas.root


def draw_reliability(chart: ReliabilityChart, name: str) -> ET.Element:
    """Stated probability to the right, observed share upwards, with intervals; on the diagonal both agree."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    x = Axis((0, 1), LEFT, WIDTH - RIGHT)
    y = Axis((0, 1), HEIGHT - BOTTOM, TOP)
    frame(canvas, x, y, "Stated probability of being right, %", "Share that was right, %")
    canvas.line(x.at(0), y.at(0), x.at(1), y.at(1), "reference")
    for number, series in enumerate(chart.series):
        style = f"s{number % SERIES}"
        places = [(x.at(b.predicted), y.at(b.value)) for b in series.bins]
        for b in series.bins:
            low, high = map(y.at, b.interval)
            canvas.line(x.at(b.predicted), low, x.at(b.predicted), high, f"whisker {style}")
        canvas.path(places, f"curve {style}", DASHES[number % SERIES])
        for place in places:
            canvas.marker(number, *place)
    ends = [y.at(series.bins[-1].value) for series in chart.series]
    names = [series.name for series in chart.series]
    starts = [x.at(series.bins[-1].predicted) for series in chart.series]
    name_at_right(canvas, list(range(len(names))), names, starts, ends)
    return canvas.root


def _coverage_labels(canvas: Canvas, chart: CoverageChart, x: Axis, y: Axis) -> None:
    """Every curve, mark and the level line named at the right, with a thin line to where it ends."""
    names = [curve.name for curve in chart.curves] + [mark.name for mark in chart.marks]
    ends = [max(curve.points, key=lambda p: p.coverage) for curve in chart.curves]
    starts = [x.at(p.coverage) for p in ends] + [x.at(mark.coverage) for mark in chart.marks]
    heights = [y.at(p.value) for p in ends] + [y.at(mark.precision) for mark in chart.marks]
    series = list(range(len(names)))
    if chart.raw is not None:
        names.append(f"everything kept: {100 * chart.raw:.1f}")
        starts.append(x.at(1))
        heights.append(y.at(chart.raw))
        series.append(-1)
    name_at_right(canvas, series, names, starts, heights)


def draw_bars(chart: BarChart, name: str) -> ET.Element:
    """One bar per series in every group, with its interval as a whisker and its figure beside it."""
    block = BAR * len(chart.series) + GAP
    bars = block * len(chart.groups)
    canvas, top = _with_legend(chart, name, [series.name for series in chart.series], bars + 34)
    x, percent = Axis((0, 1), NAME_WIDTH, WIDTH - 60), chart.unit == "%"
    if not percent:
        values = (value for series in chart.series for value in series.values)
        highest = [value.interval[1] for value in values if isinstance(value, Measured)]
        x = amount_axis(highest or [0.0], NAME_WIDTH, WIDTH - 60)
    _scale(canvas, x, top, top + bars, _per_cent if percent else lambda tick: f"{tick:.3g} {chart.unit}")
    for place, group in enumerate(chart.groups):
        y = top + GAP / 2 + place * block
        middle = y + BAR * len(chart.series) / 2 + 4
        canvas.text(NAME_WIDTH - 8, middle, shortened(group, NAME_LETTERS), "label", "end")
        for number, series in enumerate(chart.series):
            _bar(canvas, x, y + BAR * number, number, series.values[place], percent)
    return canvas.root


def draw_shares(chart: ShareChart, name: str) -> ET.Element:
    """One bar per whole, divided into its parts; parts that are wide enough show their share."""
    bars = (BAR + 5 + GAP) * len(chart.rows)
    canvas, top = _with_legend(chart, name, list(chart.parts), bars + 34)
    x = Axis((0, 1), NAME_WIDTH, WIDTH - 60)
    _scale(canvas, x, top, top + bars, _per_cent)
    for place, row in enumerate(chart.rows):
        y = top + GAP / 2 + place * (BAR + 5 + GAP)
        canvas.text(NAME_WIDTH - 8, y + 15, shortened(row.name, NAME_LETTERS), "label", "end")
        total, start = sum(row.counts), 0
        for number, count in enumerate(row.counts):
            if count:
                left, right = x.at(start / total), x.at((start + count) / total)
                canvas.bar(number, left, y, right - left, BAR + 5)
                if right - left >= 34:
                    canvas.text((left + right) / 2, y + 14, f"{100 * count / total:.0f}%", "inside", "middle")
            start += count
        canvas.text(x.end + 6, y + 15, f"n={total}", "tick")
    return canvas.root


def _bar(canvas: Canvas, x: Axis, y: float, number: int, value: Measured | Absent, percent: bool) -> None:
    middle = y + BAR / 2
    if isinstance(value, Absent):
        canvas.text(x.start + 4, middle + 4, shortened(value.absent, 60), "tick")
        return
    canvas.bar(number, x.start, y + 1, x.at(value.value) - x.start, BAR - 2)
    low, high = map(x.at, value.interval)
    if low < high:
        _whisker(canvas, low, high, middle, 3, "whisker")
    text = f"{100 * value.value:.1f}" if percent else f"{value.value:.3g}"
    canvas.text(high + 6, middle + 4, text, "value")


def _whisker(canvas: Canvas, low: float, high: float, y: float, half: float, style: str) -> None:
    canvas.line(low, y, high, y, style)
    for end in (low, high):
        canvas.line(end, y - half, end, y + half, style)


def _scale(canvas: Canvas, x: Axis, top: float, bottom: float, write: Callable[[float], str]) -> None:
    for tick in x.ticks():
        canvas.line(x.at(tick), top, x.at(tick), bottom, "grid")
        canvas.text(x.at(tick), bottom + 18, write(tick), "tick", "middle")


def _per_cent(share: float) -> str:
    return f"{100 * share:g} %"


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


def _with_legend(
    chart: Chart, name: str, names: list[str], room: float, series: Sequence[int] = (), gap: float = 12
) -> tuple[Canvas, float]:
    """A canvas with the names of the series and their patterns, and where the room below them begins."""
    places, series = legend_places(names), series or range(len(names))
    top = gap + LEGEND_LINE * (places[-1][1] + 1)
    canvas = Canvas(WIDTH, top + room, name, chart.title, chart.description)
    canvas.patterns(max(series) + 1)
    for number, one, (x, line) in zip(series, names, places, strict=True):
        y = 6 + LEGEND_LINE * line
        canvas.bar(number % SERIES, x, y, 16, 12)
        canvas.text(x + 21, y + 10, one, "label")
    return canvas, top


def draw_intervals(chart: IntervalChart, name: str) -> ET.Element:
    """A mark and a whisker for each figure, its value at the right; the series by shape and colour."""
    places = legend_places(list(chart.series)) if len(chart.series) > 1 else []
    top = 14 + (LEGEND_LINE * (places[-1][1] + 1) if places else 0)
    heights = [LINE * max(1, len(row.marks)) + LINE_GAP for row in chart.rows]
    bottom = top + sum(heights)
    canvas = Canvas(WIDTH, bottom + 34, name, chart.title, chart.description)
    for number, (series, (left, line)) in enumerate(zip(chart.series, places, strict=False)):
        canvas.marker(number, left + 8, 12 + LEGEND_LINE * line)
        canvas.text(left + 21, 16 + LEGEND_LINE * line, series, "label")
    figures = [mark.value for row in chart.rows for mark in row.marks]
    ends = [end for one in figures for end in (one.value, *one.interval)]
    ends += [] if chart.reference is None else [chart.reference]
    x = span_axis(ends, NAME_WIDTH, WIDTH - FIGURE_WIDTH, shares=chart.kind == "percent")
    _scale(canvas, x, top, bottom, _TICKS.get(chart.kind, lambda tick: f"{100 * tick:+g}".replace("+0", "0")))
    if chart.reference is not None:
        canvas.line(x.at(chart.reference), top, x.at(chart.reference), bottom, "reference")
    y = top
    for row, height in zip(chart.rows, heights, strict=True):
        _row(canvas, x, y + LINE_GAP / 2, row, chart.kind)
        y += height
    return canvas.root


def _row(canvas: Canvas, x: Axis, y: float, row: IntervalRow, kind: Kind) -> None:
    middle = y + LINE * max(1, len(row.marks)) / 2
    canvas.text(NAME_WIDTH - 8, middle + 4, shortened(row.name, NAME_LETTERS), "label", "end")
    if not row.marks:
        canvas.text(x.start + 4, middle + 4, shortened(row.absent or "not measured", 60), "tick")
    for number, mark in enumerate(row.marks):
        at, value = y + LINE * (number + 0.5), mark.value
        low, high = (x.at(min(max(end, x.span[0]), x.span[1])) for end in value.interval)
        _whisker(canvas, low, high, at, 4, f"whisker s{mark.series}")
        canvas.marker(mark.series, x.at(value.value), at, 5)
        canvas.text(x.end + 10, at + 4, short_figure(value.value, kind), "value")


_TICKS: dict[Kind, Callable[[float], str]] = {"number": "{:g}".format, "percent": _per_cent}


class RoundAxis(Axis):
    """An axis between multiples of a round step."""

    def ticks(self) -> list[float]:
        """Every multiple of the step."""
        low, high = self.span
        step = round_step(high - low)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [round(number * step, 9) for number in range(first, last + 1)]


def round_step(span: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that divides a span into at most :data:`TICKS` parts."""
    unit = 10.0 ** math.floor(math.log10(span / TICKS))
    return next(step * unit for step in (1, 2, 2.5, 5, 10) if span <= step * unit * TICKS * (1 + 1e-9))


def span_axis(values: list[float], start: float, end: float, *, shares: bool = False) -> Axis:
    """An axis that covers all values and ends at round ones.

    Args:
        shares: the values are shares: the axis stays within [0, 1].
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low < 1e-9:
        low, high = low - 0.05, high + 0.05
    step = round_step(high - low)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    if shares:
        low, high = min(max(0.0, low), min(values, default=0.0)), max(min(1.0, high), max(values, default=1.0))
    return RoundAxis((round(low, 9), round(high, 9)), start, end)


def draw_histogram(chart: Histogram, name: str) -> ET.Element:
    """Upright bars, the parts stacked in their order, and a line at the reference value."""
    series = [number if part.series is None else part.series for number, part in enumerate(chart.parts)]
    canvas, top = _with_legend(chart, name, [part.name for part in chart.parts], _PLOT + BOTTOM, series, 40)
    x = RoundAxis((chart.edges[0], chart.edges[-1]), WIDE_LEFT, WIDTH - _MARGIN)
    totals = [sum(part.counts[place] for part in chart.parts) for place in range(len(chart.edges) - 1)]
    y = amount_axis([float(max(totals))], top + _PLOT, top)
    frame(canvas, x, y, chart.x_title, "Judgments", "{:,.4g}".format)
    for place, (low, high) in enumerate(zip(chart.edges[:-1], chart.edges[1:], strict=True)):
        below = 0
        for number, part in zip(series, chart.parts, strict=True):
            count = part.counts[place]
            if count:
                upper, lower = y.at(below + count), y.at(below)
                canvas.bar(number, x.at(low) + 1, upper, max(x.at(high) - x.at(low) - 2, 1.0), lower - upper)
            below += count
    if chart.reference is not None and chart.edges[0] <= chart.reference <= chart.edges[-1]:
        at = x.at(chart.reference)
        canvas.line(at, top - 6, at, y.start, "threshold")
        right = at > (x.start + x.end) / 2
        canvas.text(at + (-5 if right else 5), top - 2, f"{chart.reference:.4g}", "value", "end" if right else "start")
    return canvas.root


def draw_scatter(chart: ScatterChart, name: str) -> ET.Element:
    """A mark for each point, and its name at the right with a thin line to it."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    x = amount_axis([point.x for point in chart.points], WIDE_LEFT, WIDTH - RIGHT)
    y = amount_axis([point.y for point in chart.points], HEIGHT - BOTTOM, TOP)
    frame(canvas, x, y, chart.x_title, chart.y_title, "{:.3g}".format)
    series = [MARKED if point.marked else PLAIN for point in chart.points]
    starts, heights = [x.at(point.x) for point in chart.points], [y.at(point.y) for point in chart.points]
    name_at_right(canvas, series, [point.name for point in chart.points], starts, heights)
    for number, start, height in zip(series, starts, heights, strict=True):
        canvas.marker(number, start, height, 6)
    return canvas.root


_DRAWERS: dict[type[Finite], Callable[[Any, str], ET.Element]] = {
    CoverageChart: draw_coverage,
    ReliabilityChart: draw_reliability,
    BarChart: draw_bars,
    ShareChart: draw_shares,
    IntervalChart: draw_intervals,
    Histogram: draw_histogram,
    ScatterChart: draw_scatter,
}


def draw(chart: Finite, name: str) -> ET.Element:
    """The ``svg`` element of a chart; ``name`` is unique on its page."""
    return _DRAWERS[type(chart)](chart, name)
