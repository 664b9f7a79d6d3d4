"""Charts of points in a square: precision against coverage, and reliability."""

from xml.etree import ElementTree as ET

from metajudge.report.document import CoverageChart, Curve, ReliabilityChart, ReliabilitySeries
from metajudge.report.svg import (
    BOTTOM,
    DASHES,
    HEIGHT,
    RIGHT,
    SERIES,
    TOP,
    WIDTH,
    Axis,
    Canvas,
    frame,
    name_at_right,
    share_axis,
)

LEFT = 48.0


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
        _band(canvas, x, y, series, curve)
    for series, curve in enumerate(chart.curves):
        _curve(canvas, x, y, series, curve)
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
        _reliability_points(canvas, x, y, number, series)
    ends = [y.at(series.bins[-1].value) for series in chart.series]
    names = [series.name for series in chart.series]
    starts = [x.at(series.bins[-1].predicted) for series in chart.series]
    name_at_right(canvas, list(range(len(names))), names, starts, ends)
    return canvas.root


def _band(canvas: Canvas, x: Axis, y: Axis, series: int, curve: Curve) -> None:
    upper = [(x.at(p.coverage), y.at(p.interval[1])) for p in curve.points]
    lower = [(x.at(p.coverage), y.at(p.interval[0])) for p in reversed(curve.points)]
    canvas.path(upper + lower, f"band s{series % SERIES}", closed=True)


def _curve(canvas: Canvas, x: Axis, y: Axis, series: int, curve: Curve) -> None:
    places = [(x.at(p.coverage), y.at(p.value)) for p in curve.points]
    canvas.path(places, f"curve s{series % SERIES}", DASHES[series % SERIES])
    step = max(1, len(places) // 6)
    for at in places[series % step :: step] if len(places) > 1 else places:
        canvas.marker(series, *at)


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


def _reliability_points(canvas: Canvas, x: Axis, y: Axis, number: int, series: ReliabilitySeries) -> None:
    style = f"s{number % SERIES}"
    places = [(x.at(b.predicted), y.at(b.value)) for b in series.bins]
    for b in series.bins:
        low, high = map(y.at, b.interval)
        canvas.line(x.at(b.predicted), low, x.at(b.predicted), high, f"whisker {style}")
    canvas.path(places, f"curve {style}", DASHES[number % SERIES])
    for place in places:
        canvas.marker(number, *place)
