"""Charts of the dashboard as SVG: colours come from classes, adjacent series also differ in pattern. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from markupsafe import Markup

from metajudge.report.charts import draw_reliability
from metajudge.report.document import ReliabilityChart
from metajudge.report.svg import Axis, Canvas, frame, share_axis

from .standing import Ladder, curve, thinned

WIDTH, HEIGHT = 720.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 16.0, 28.0, 46.0


@dataclass(frozen=True, slots=True)
class Part:
    """A series of a column chart: one value for each column, at least 0."""

    name: str
    series: int
    values: tuple[float, ...]


def as_svg(root: ET.Element) -> Markup:
    """The element as text, escaped by ElementTree."""
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 - escaped by ElementTree


def columns(name: str, title: str, description: str, days: Sequence[str], parts: Sequence[Part], unit: str) -> Markup:
    """Stacked columns, one for each day (or another span), with labels on some of them."""
    canvas = Canvas(WIDTH, 240, name, title, description)
    canvas.patterns(max((part.series for part in parts), default=0) + 1)
    totals = [sum(part.values[place] for part in parts) for place in range(len(days))]
    top = round_above(max(totals, default=0))
    y = Axis((0, top), 240 - 30, TOP)
    for quarter in range(5):
        value = top * quarter / 4
        canvas.line(LEFT, y.at(value), WIDTH - RIGHT, y.at(value), "grid")
        canvas.text(LEFT - 8, y.at(value) + 4, f"{value:.4g}", "tick", "end")
    canvas.text(4, TOP - 14, unit, "label")
    width = (WIDTH - RIGHT - LEFT) / max(1, len(days))
    for place in range(len(days)):
        low = 0.0
        for part in parts:
            value = part.values[place]
            if value > 0:
                inner = min(width * 0.82, 46)
                left = LEFT + width * place + (width - inner) / 2
                canvas.bar(part.series, left, y.at(low + value), inner, y.at(low) - y.at(low + value))
                low += value
    step = max(1, -(-len(days) // 8))
    for place in range(0, len(days), step):
        canvas.text(LEFT + width * (place + 0.5), 240 - 12, days[place], "tick", "middle")
    canvas.line(LEFT, y.at(0), WIDTH - RIGHT, y.at(0), "axis")
    return as_svg(canvas.root)


def round_above(value: float) -> float:
    """The axis maximum: a round positive number, at least ``value``, that divides into four steps."""
    if value <= 0:
        return 4.0
    unit = 1.0
    while unit < value:
        unit *= 10
    while unit / 10 >= value:
        unit /= 10
    return next(unit / 10 * step for step in (1, 1.2, 1.6, 2, 4, 6, 8, 10) if unit / 10 * step >= value * (1 - 1e-12))


@dataclass(frozen=True, slots=True)
class Plane:
    """The axes of the chart of precision against coverage, for the script that moves its mark."""

    left: float
    right: float
    top: float
    bottom: float
    lowest: float

    def at(self, coverage: float, precision: float) -> tuple[float, float]:
        share = (max(precision, self.lowest) - self.lowest) / (1 - self.lowest)
        return self.left + coverage * (self.right - self.left), self.bottom - share * (self.bottom - self.top)


def plane_of(ladder: Ladder) -> Plane:
    """The axes of a ladder's curve."""
    y = share_axis([point.precision.low for point in thinned(curve(ladder))], HEIGHT - BOTTOM, TOP)
    return Plane(LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, y.span[0])


def precision_coverage(name: str, ladder: Ladder, coverage: float, precision: float) -> Markup:
    """The curve with its band, and a mark at the chosen threshold."""
    points, plane = thinned(curve(ladder)), plane_of(ladder)
    description = (
        "Vertical: precision of the kept judgments with a label, 95 % band by question. Horizontal: share of all "
        "judgments that is kept. The line marks the chosen threshold; the figures next to it give its values."
    )
    canvas = Canvas(WIDTH, HEIGHT, name, "Precision against coverage", description)
    x, y = Axis((0, 1), plane.left, plane.right), Axis((plane.lowest, 1), plane.bottom, plane.top)
    frame(canvas, x, y, "Coverage: share of judgments kept, %", "Precision of kept judgments, %")
    upper = [plane.at(point.coverage, point.precision.high) for point in points]
    lower = [plane.at(point.coverage, point.precision.low) for point in reversed(points)]
    canvas.path(upper + lower, "band s0", closed=True)
    canvas.path([plane.at(point.coverage, point.precision.estimate) for point in points], "curve s0")
    root = canvas.root
    at_x, at_y = plane.at(coverage, precision)
    place = {"x1": f"{at_x:.2f}", "x2": f"{at_x:.2f}", "y1": f"{plane.top:g}", "y2": f"{plane.bottom:g}"}
    ET.SubElement(root, "line", {**place, "class": "now", "id": f"{name}-line"})
    ET.SubElement(
        root, "circle", {"cx": f"{at_x:.2f}", "cy": f"{at_y:.2f}", "r": "7", "class": "now", "id": f"{name}-dot"}
    )
    return as_svg(root)


def reliability(name: str, chart: ReliabilityChart) -> Markup:
    """The reliability diagram."""
    return as_svg(draw_reliability(chart, name))
