"""Drawing: a small canvas that makes SVG elements, and the marks of series.

Colours are those of Okabe and Ito ("Color Universal Design", 2008) and are only ever named by class, so that the
page decides how they look in light, in dark and in print. No series is identified by colour alone: lines have
dashes and markers, areas have patterns, and both have labels.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree as ET

SERIES = 8
"""Number of distinct series; further ones repeat from the first."""

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 2", "6 2 1 2 1 2")
CHARACTER_WIDTH = 7.0
"""Average width of a letter in the charts' 12 px font, for placing labels."""

WIDTH, HEIGHT = 720.0, 380.0
RIGHT, TOP, BOTTOM = 230.0, 30.0, 48.0
"""A chart of points, and its margins; names are in the right one."""
LABEL_LETTERS = int((RIGHT - 26) / CHARACTER_WIDTH)


class Canvas:
    """One chart: a drawing area of fixed size, described for those who cannot see it."""

    def __init__(self, width: float, height: float, name: str, title: str, description: str) -> None:
        self.width, self.height, self.name = width, height, name
        self.root = ET.Element(
            "svg",
            {
                "viewBox": f"0 0 {_number(width)} {_number(height)}",
                "width": _number(width),
                "height": _number(height),
                "role": "img",
                "aria-labelledby": f"{name}-title {name}-description",
            },
        )
        self._add("title", {"id": f"{name}-title"}, title)
        self._add("desc", {"id": f"{name}-description"}, description)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self._add("line", {**_numbers(x1=x1, y1=y1, x2=x2, y2=y2), "class": style})

    def text(self, x: float, y: float, words: str, style: str = "label", anchor: str = "start") -> None:
        self._add("text", {**_numbers(x=x, y=y), "text-anchor": anchor, "class": style}, words)

    def path(self, points: list[tuple[float, float]], style: str, dash: str = "", *, closed: bool = False) -> None:
        corners = [f"{'L' if place else 'M'}{_number(x)} {_number(y)}" for place, (x, y) in enumerate(points)]
        attributes = {"d": " ".join(corners) + (" Z" if closed else ""), "class": style}
        if dash:
            attributes["stroke-dasharray"] = dash
        self._add("path", attributes)

    def marker(self, series: int, x: float, y: float, size: float = 4.5) -> None:
        """A shape of its own for each series, filled with the series' colour."""
        shape = _SHAPES[series % SERIES]
        corners = [(x + size * dx, y + size * dy) for dx, dy in shape]
        self.path(corners, f"marker s{series % SERIES}", closed=True)

    def bar(self, series: int, x: float, y: float, width: float, height: float) -> None:
        """A filled area with the series' pattern on its colour."""
        place = _numbers(x=x, y=y, width=width, height=height)
        self._add("rect", {**place, "class": f"bar s{series % SERIES}"})
        self._add("rect", {**place, "fill": f"url(#{self.name}-p{series % SERIES})"})

    def patterns(self, count: int) -> None:
        """Defines the patterns of the first ``count`` series; needed before :meth:`bar`."""
        definitions = self._add("defs", {})
        for series in range(min(count, SERIES)):
            attributes = {"id": f"{self.name}-p{series}", "patternUnits": "userSpaceOnUse", "width": "8", "height": "8"}
            pattern = ET.SubElement(definitions, "pattern", attributes)
            for stroke in _STROKES[series]:
                ET.SubElement(pattern, "path", {"d": stroke, "class": "hatch"})

    def _add(self, tag: str, attributes: dict[str, str], words: str | None = None) -> ET.Element:
        element = ET.SubElement(self.root, tag, attributes)
        element.text = words
        return element


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from values to pixels.

    Attributes:
        span: the lowest and the highest value.
        start, end: their places.
        quarters: whether ticks are at the quarters of the span.
    """

    span: tuple[float, float]
    start: float
    end: float
    quarters: bool = False

    def at(self, value: float) -> float:
        low, high = self.span
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values, a handful of them, both ends included."""
        low, high = self.span
        if self.quarters:
            return [low + (high - low) * step / 4 for step in range(5)]
        steps = [(high - low) / step for step in (0.02, 0.05, 0.1, 0.2, 0.25)]
        counts = [round(count) for count in steps if abs(count % 1 - 0.5) > 0.499]
        count = next((count for count in counts if count <= 7), 5)
        step = (high - low) / count
        return [round(low + place * step, 6) for place in range(count + 1)]


def share_axis(values: list[float], start: float, end: float) -> Axis:
    """An axis for shares: from the round tenth below the smallest value to 1."""
    low = math.floor(min([*values, 0.9]) * 10 + 1e-9) / 10
    return Axis((low, 1.0), start, end)


def amount_axis(values: list[float], start: float, end: float) -> Axis:
    """From 0 to a round value above the largest; all ends differ, also where every value is 0."""
    top, highest = max(values), 1.0
    if top > 0:
        unit = 10.0 ** math.floor(math.log10(top))
        highest = next(step * unit for step in (1, 2, 4, 6, 8, 10) if step * unit >= top)
    return Axis((0.0, highest), start, end, quarters=True)


def frame(
    canvas: Canvas,
    x: Axis,
    y: Axis,
    across: str,
    upwards: str,
    write: Callable[[float], str] = lambda share: f"{100 * share:g}",
) -> None:
    """Axes with their ticks, a grid and their titles.

    Args:
        write: a tick's value as text; as per cent if not given.
    """
    for tick in x.ticks():
        canvas.line(x.at(tick), y.start, x.at(tick), y.start + 4, "axis")
        canvas.text(x.at(tick), y.start + 18, write(tick), "tick", "middle")
    for tick in y.ticks():
        canvas.line(x.start, y.at(tick), x.end, y.at(tick), "grid")
        canvas.text(x.start - 8, y.at(tick) + 4, write(tick), "tick", "end")
    canvas.line(x.start, y.start, x.end, y.start, "axis")
    canvas.text((x.start + x.end) / 2, canvas.height - 8, across, "label", "middle")
    canvas.text(4, y.end - 16, upwards, "label")


def name_at_right(
    canvas: Canvas, series: list[int], names: list[str], starts: list[float], heights: list[float]
) -> None:
    """Names at the right of a chart of :data:`WIDTH`, each with a thin line to where it belongs.

    Args:
        series: whose mark is shown beside a name; negative for none.
        starts, heights: where the lines begin.
    """
    left = WIDTH - RIGHT + 18
    places = spread(heights, 16, TOP + 4, HEIGHT - BOTTOM)
    for number, name, start, height, place in zip(series, names, starts, heights, places, strict=True):
        canvas.path([(start, height), (left - 14, place), (left - 8, place)], "leader")
        if number >= 0:
            canvas.marker(number, left - 2, place, 4)
        canvas.text(left + 6, place + 4, shortened(name, LABEL_LETTERS), "direct")


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Moves labels apart until they are ``gap`` away from each other, staying within bounds where they can."""
    order = sorted(range(len(places)), key=lambda place: places[place])
    moved: list[float] = []
    for position, place in enumerate(order):
        room = high - gap * (len(order) - 1 - position)
        wanted = min(max(places[place], low), max(room, low))
        moved.append(wanted if not moved else max(wanted, moved[-1] + gap))
    result = [0.0] * len(places)
    for place, value in zip(order, moved, strict=True):
        result[place] = value
    return result


def shortened(words: str, letters: int) -> str:
    """A name cut in the middle to at most this many letters; the chart's table has it in full."""
    clean = " ".join(words.split())
    if len(clean) <= letters:
        return clean
    tail = (letters - 1) * 2 // 3
    return f"{clean[: letters - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{clean[-tail:]}"


def _polygon(corners: int, turn: float = -90.0) -> tuple[tuple[float, float], ...]:
    angles = [math.radians(turn + 360 * corner / corners) for corner in range(corners)]
    return tuple((math.cos(angle), math.sin(angle)) for angle in angles)


_ARM = ((-0.33, -1.1), (0.33, -1.1), (0.33, -0.33))
_CROSS = (*_ARM, *((-y, x) for x, y in _ARM), *((-x, -y) for x, y in _ARM), *((y, -x) for x, y in _ARM))
_TURNED = tuple(((x - y) * 0.72, (x + y) * 0.72) for x, y in _CROSS)
_STAR = tuple((radius * x, radius * y) for radius, (x, y) in zip((1.3, 0.55) * 5, _polygon(10), strict=True))
_SHAPES = (_polygon(16), _polygon(4, -45), _polygon(3), _polygon(4), _CROSS, _polygon(3, 90), _TURNED, _STAR)

_STROKES = (
    (),
    ("M-2 2 L2 -2 M0 8 L8 0 M6 10 L10 6",),
    ("M0 2 H8 M0 6 H8",),
    ("M-2 6 L2 10 M0 0 L8 8 M6 -2 L10 2",),
    ("M2 0 V8 M6 0 V8",),
    ("M0 8 L8 0 M0 0 L8 8",),
    ("M4 2 V6 M2 4 H6",),
    ("M0 4 H8 M4 0 V8",),
)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _numbers(**values: float) -> dict[str, str]:
    return {name: _number(value) for name, value in values.items()}
