"""A histogram whose bars are divided into parts."""

from xml.etree import ElementTree as ET

from metajudge.report.bars import LEGEND_LINE, draw_legend, legend_places
from metajudge.report.document import Histogram
from metajudge.report.intervals import RoundAxis
from metajudge.report.svg import WIDTH, Canvas, amount_axis, frame

LEFT, RIGHT, BOTTOM, PLOT = 64.0, 24.0, 48.0, 200.0


def draw_histogram(chart: Histogram, name: str) -> ET.Element:
    """Upright bars, the parts stacked in their order, and a line at the reference value."""
    legend = legend_places([part.name for part in chart.parts])
    top = 40 + LEGEND_LINE * (legend[-1][1] + 1)
    canvas = Canvas(WIDTH, top + PLOT + BOTTOM, name, chart.title, chart.description)
    series = [number if part.series is None else part.series for number, part in enumerate(chart.parts)]
    canvas.patterns(max(series) + 1)
    draw_legend(canvas, [part.name for part in chart.parts], legend, series)
    x = RoundAxis(chart.edges[0], chart.edges[-1], LEFT, WIDTH - RIGHT)
    totals = [sum(part.counts[place] for part in chart.parts) for place in range(len(chart.edges) - 1)]
    y = amount_axis([float(max(totals))], top + PLOT, top)
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
