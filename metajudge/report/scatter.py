"""A chart of named points: one figure against another, with points on the Pareto front in another shape."""

from xml.etree import ElementTree as ET

from metajudge.report.document import ScatterChart
from metajudge.report.svg import BOTTOM, HEIGHT, RIGHT, TOP, WIDTH, Canvas, amount_axis, frame, name_at_right

LEFT = 64.0
MARKED, PLAIN = 0, 4
"""Series whose shapes and colours show a marked point (a disc) and another one (a cross)."""


def draw_scatter(chart: ScatterChart, name: str) -> ET.Element:
    """A mark for each point, and its name at the right with a thin line to it."""
    canvas = Canvas(WIDTH, HEIGHT, name, chart.title, chart.description)
    x = amount_axis([point.x for point in chart.points], LEFT, WIDTH - RIGHT)
    y = amount_axis([point.y for point in chart.points], HEIGHT - BOTTOM, TOP)
    frame(canvas, x, y, chart.x_title, chart.y_title, "{:.3g}".format)
    series = [MARKED if point.marked else PLAIN for point in chart.points]
    starts, heights = [x.at(point.x) for point in chart.points], [y.at(point.y) for point in chart.points]
    name_at_right(canvas, series, [point.name for point in chart.points], starts, heights)
    for number, start, height in zip(series, starts, heights, strict=True):
        canvas.marker(number, start, height, 6)
    return canvas.root
