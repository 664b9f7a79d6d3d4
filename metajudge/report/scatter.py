"""A chart of named points: one figure against another, with the points nobody beats told apart by their shape."""

import math
from xml.etree import ElementTree as ET

from metajudge.report.document import ScatterChart
from metajudge.report.svg import CHARACTER_WIDTH, Axis, Canvas, shortened, spread

WIDTH, HEIGHT = 720.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 230.0, 30.0, 48.0
LABEL_LETTERS = int((RIGHT - 26) / CHARACTER_WIDTH)
MARKED, PLAIN = 0, 4
"""Series whose shapes and colours stand for a marked point (a disc) and for another one (a cross)."""


def draw_scatter(chart: ScatterChart, name: str) -> ET.Element:
    """A mark for each point, and its name at the right with a thin line to it."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    x = _axis([point.x for point in chart.points], LEFT, WIDTH - RIGHT)
    y = _axis([point.y for point in chart.points], HEIGHT - BOTTOM, TOP)
    for tick in x.ticks():
        canvas.line(x.at(tick), y.start, x.at(tick), y.start + 4, "axis")
        canvas.text(x.at(tick), y.start + 18, f"{tick:.3g}", "tick", "middle")
    for tick in y.ticks():
        canvas.line(x.start, y.at(tick), x.end, y.at(tick), "grid")
        canvas.text(x.start - 8, y.at(tick) + 4, f"{tick:.3g}", "tick", "end")
    canvas.line(x.start, y.start, x.end, y.start, "axis")
    canvas.text((x.start + x.end) / 2, HEIGHT - 8, chart.x_title, "label", "middle")
    canvas.text(4, TOP - 16, chart.y_title, "label")
    places = spread([y.at(point.y) for point in chart.points], 16, TOP + 4, HEIGHT - BOTTOM)
    left = WIDTH - RIGHT + 18
    for point, place in zip(chart.points, places, strict=True):
        canvas.path([(x.at(point.x), y.at(point.y)), (left - 14, place), (left - 8, place)], "leader")
    for point, place in zip(chart.points, places, strict=True):
        series = MARKED if point.marked else PLAIN
        canvas.marker(series, x.at(point.x), y.at(point.y), 6)
        canvas.marker(series, left - 2, place, 4)
        canvas.text(left + 6, place + 4, shortened(point.name, LABEL_LETTERS), "direct")
    return canvas.root


class _RoundAxis(Axis):
    """An axis over any range, with ticks at round values."""

    def ticks(self) -> list[float]:
        """Four steps from end to end."""
        return [self.low + (self.high - self.low) * step / 4 for step in range(5)]


def _axis(values: list[float], start: float, end: float) -> Axis:
    """From 0 to a round value above the largest; all ends differ, also where every value is 0."""
    top = max(values)
    if top <= 0:
        return _RoundAxis(0.0, 1.0, start, end)
    unit = 10.0 ** math.floor(math.log10(top))
    return _RoundAxis(0.0, next(step * unit for step in (1, 2, 4, 6, 8, 10) if step * unit >= top), start, end)
