"""A chart of named points: one figure against another, with the points nobody beats told apart by their shape."""

from xml.etree import ElementTree as ET

from metajudge.report.document import ScatterChart
from metajudge.report.svg import CHARACTER_WIDTH, Canvas, amount_axis, shortened, spread

WIDTH, HEIGHT = 720.0, 380.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 230.0, 30.0, 48.0
LABEL_LETTERS = int((RIGHT - 26) / CHARACTER_WIDTH)
MARKED, PLAIN = 0, 4
"""Series whose shapes and colours stand for a marked point (a disc) and for another one (a cross)."""


def draw_scatter(chart: ScatterChart, name: str) -> ET.Element:
    """A mark for each point, and its name at the right with a thin line to it."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    x = amount_axis([point.x for point in chart.points], LEFT, WIDTH - RIGHT)
    y = amount_axis([point.y for point in chart.points], HEIGHT - BOTTOM, TOP)
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
