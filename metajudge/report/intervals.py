"""A chart of figures with their intervals, one below the other: shares, or effects around a level line."""

import math
from xml.etree import ElementTree as ET

from metajudge.report.bars import NAME_LETTERS, NAME_WIDTH, WIDTH, legend_places
from metajudge.report.document import IntervalChart, IntervalMark, IntervalRow, Kind
from metajudge.report.svg import Axis, Canvas, shortened
from metajudge.report.tables import write_figure

LINE, GAP = 18.0, 8.0
LEGEND_LINE = 20.0
FIGURE_WIDTH = 74.0
"""Room at the right for a row's figures."""
TICKS = 6


def draw_intervals(chart: IntervalChart, name: str) -> ET.Element:
    """A mark and a whisker for each figure, its value at the right; the series by shape and colour."""
    places = legend_places(list(chart.series)) if len(chart.series) > 1 else []
    top = 14 + (LEGEND_LINE * (places[-1][1] + 1) if places else 0)
    heights = [LINE * max(1, len(row.marks)) + GAP for row in chart.rows]
    bottom = top + sum(heights)
    canvas = Canvas(WIDTH, bottom + 34, name, chart.title, chart.description)
    for number, (series, (left, line)) in enumerate(zip(chart.series, places, strict=False)):
        canvas.marker(number, left + 8, 12 + LEGEND_LINE * line)
        canvas.text(left + 21, 16 + LEGEND_LINE * line, series, "label")
    x = span_axis(_values(chart), NAME_WIDTH, WIDTH - FIGURE_WIDTH, shares=chart.kind == "percent")
    for tick in x.ticks():
        canvas.line(x.at(tick), top, x.at(tick), bottom, "grid")
        canvas.text(x.at(tick), bottom + 18, _tick(tick, chart.kind), "tick", "middle")
    if chart.reference is not None:
        canvas.line(x.at(chart.reference), top, x.at(chart.reference), bottom, "reference")
    y = top
    for row, height in zip(chart.rows, heights, strict=True):
        _row(canvas, x, y + GAP / 2, row, chart.kind)
        y += height
    return canvas.root


def _row(canvas: Canvas, x: Axis, y: float, row: IntervalRow, kind: Kind) -> None:
    middle = y + LINE * max(1, len(row.marks)) / 2
    canvas.text(NAME_WIDTH - 8, middle + 4, shortened(row.name, NAME_LETTERS), "label", "end")
    if not row.marks:
        canvas.text(x.start + 4, middle + 4, shortened(row.absent or "not measured", 60), "tick")
    for number, mark in enumerate(row.marks):
        _mark(canvas, x, y + LINE * (number + 0.5), mark, kind)


def _mark(canvas: Canvas, x: Axis, y: float, mark: IntervalMark, kind: Kind) -> None:
    value = mark.value
    ends = [min(max(end, x.span[0]), x.span[1]) for end in value.interval]
    low, high = map(x.at, ends)
    canvas.line(low, y, high, y, f"whisker s{mark.series}")
    for end in (low, high):
        canvas.line(end, y - 4, end, y + 4, f"whisker s{mark.series}")
    canvas.marker(mark.series, x.at(value.value), y, 5)
    canvas.text(x.end + 10, y + 4, _written(value.value, kind), "value")


def _values(chart: IntervalChart) -> list[float]:
    figures = [mark.value for row in chart.rows for mark in row.marks]
    ends = [end for one in figures for end in (one.value, *one.interval)]
    return ends if chart.reference is None else [*ends, chart.reference]


def _written(value: float, kind: Kind) -> str:
    return f"{value:.2f}" if kind == "number" else write_figure(value, kind)


def _tick(value: float, kind: Kind) -> str:
    if kind == "number":
        return f"{value:g}"
    return f"{100 * value:g} %" if kind == "percent" else f"{100 * value:+g}".replace("+0", "0")


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
