"""Builds the dashboard's rows, heat maps and charts (SVG) from counts. Pure.

Colours come from classes; adjacent series also differ in pattern.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

from markupsafe import Markup

from metajudge.report.charts import draw_reliability
from metajudge.report.document import Bin, ReliabilityChart, ReliabilitySeries
from metajudge.report.svg import Axis, Canvas, frame, share_axis
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import wilson
from metajudge.store.dashboard import DayCount, Spending
from metajudge.store.labelled import Group, PairCount, Tenth
from metajudge.types import VerdictKind

from .standing import Ladder, curve, thinned

WIDTH, HEIGHT = 720.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 16.0, 28.0, 46.0
COLUMNS = 60
"""Columns of a chart over time, at most; longer periods get wider ones."""

HEAT = 12
"""Agents or judges of a heat map, at most."""

LEVELS = 5
OUTCOMES = {
    "kept": "kept",
    "not_kept": "discarded",
    "asked": "a person is asked",
    "unscored": "no decision",
    "no_verdict": "no verdict",
    "failed": "failed",
}
ACTIONS = {"APPROVE": "approve", "REVIEW": "review", "REVIEW_PRIORITY": "review first", "REJECT": "reject"}
KINDS: dict[VerdictKind | None, str] = {
    "pairwise": "pairwise verdicts",
    "ranking": "rankings",
    "grade": "grades",
    "category": "categories",
    None: "without a verdict",
}
_MODELS = 6
_SUMMED = ("attempts", "failed", "cost_usd", "unpriced", "input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class OverTime:
    """A chart over time, and its parts with a value for each span; ``svg`` is None for a single one."""

    svg: Markup | None
    parts: "Sequence[Part]"
    spans: Sequence[str]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Agreement of two; ``share`` is None without shared judgments."""

    share: Estimate | None

    @property
    def level(self) -> int:
        """From 0 (never) to :data:`LEVELS`."""
        return 0 if self.share is None else min(LEVELS, int(self.share.estimate * (LEVELS + 1)))


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Pairwise agreement; the diagonal and pairs without overlap are None. ``left_out`` names do not fit."""

    names: tuple[str, ...]
    rows: tuple[tuple[HeatCell | None, ...], ...]
    left_out: int


def over_time(name: str, title: str, counts: Sequence[DayCount], kinds: Mapping[str, str]) -> OverTime | None:
    """Counts by day as columns; None without any.

    Args:
        kinds: kind -> its name on the page; other kinds are left out.
    """
    values = {(count.day, count.kind): float(count.n) for count in counts}
    return _over_time(name, title, values, kinds, "Assessments")


def cost_over_time(spent: Sequence[Spending]) -> OverTime | None:
    """US dollars by day and model; the most expensive models by name, the others together."""
    cost: Counter[str] = Counter()
    for one in spent:
        cost[one.model] += one.cost_usd  # type: ignore[assignment]
    named = [model for model, _ in sorted(cost.items(), key=lambda pair: (-pair[1], pair[0]))]
    kinds = {model: model for model in (named if len(named) <= _MODELS else named[: _MODELS - 1])}
    others = "all other models"
    values: dict[tuple[int, str], float] = {}
    for one in spent:
        kind = one.model if one.model in kinds else others
        values[one.day, kind] = values.get((one.day, kind), 0.0) + one.cost_usd
    if any(kind == others for _, kind in values):
        kinds[others] = others
    if not any(values.values()):
        return None
    return _over_time("cost", "Cost per day", values, kinds, "US dollars")


def _over_time(
    name: str, title: str, values: Mapping[tuple[int, str], float], kinds: Mapping[str, str], unit: str
) -> OverTime | None:
    days = sorted({day for day, kind in values if kind in kinds})
    if not days:
        return None
    width = -(-(days[-1] - days[0] + 1) // COLUMNS)
    starts = list(range(days[0], days[-1] + 1, width))
    sums: Counter[tuple[int, str]] = Counter()
    for (day, kind), value in values.items():
        sums[(day - days[0]) // width, kind] += value  # type: ignore[assignment]
    used = [kind for kind in kinds if any(sums[place, kind] for place in range(len(starts)))] or list(kinds)[:1]
    parts = [
        Part(kinds[kind], list(kinds).index(kind), tuple(sums[place, kind] for place in range(len(starts))))
        for kind in used
    ]
    spans = [_span(start, width) for start in starts]
    description = f"{unit} by {'day' if width == 1 else f'{width} days'}, stacked: {', '.join(p.name for p in parts)}."
    labels = [_date(start).strftime("%b %-d") for start in starts]
    svg = columns(name, title, description, labels, parts, unit) if len(starts) > 1 else None
    return OverTime(svg, parts, spans)


def _date(day: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(days=day)


def _span(start: int, width: int) -> str:
    first = _date(start).strftime("%Y-%m-%d")
    return first if width == 1 else f"{first} to {_date(start + width - 1).strftime('%Y-%m-%d')}"


def heat_map(pairs: Sequence[PairCount]) -> HeatMap | None:
    """Pairwise agreement of those with the most shared judgments; None without pairs."""
    shared: Counter[str] = Counter()
    for pair in pairs:
        shared[pair.first] += pair.n
        shared[pair.second] += pair.n
    if not shared:
        return None
    names = sorted(sorted(shared), key=lambda one: -shared[one])
    chosen = sorted(names[:HEAT])
    found = {frozenset((pair.first, pair.second)): HeatCell(wilson(pair.same, pair.n)) for pair in pairs}
    none = HeatCell(None)
    rows = tuple(tuple(found.get(frozenset((a, b)), none) if a != b else None for b in chosen) for a in chosen)
    return HeatMap(tuple(chosen), rows, len(names) - len(chosen))


def kinds_of(groups: Iterable[Group]) -> dict[str, int]:
    """Judgments by the kind of their verdict, in words."""
    kinds: Counter[VerdictKind | None] = Counter()
    for group in groups:
        kinds[group.kind] += group.n
    return {words: kinds[kind] for kind, words in KINDS.items() if kinds[kind]}


def calibration_bins(tenths: Iterable[Tenth]) -> list[Bin]:
    """Predicted probability against the observed share correct, by tenths; empty without labelled probabilities.

    As :func:`metajudge.calibration.quality.reliability_bins`, with intervals by question.
    """
    from metajudge.stats.clustered import counted_proportion

    found = []
    for one in tenths:
        right = counted_proportion(list(one.kinds), list(one.kinds.values()))
        predicted = one.total / one.n
        found.append(Bin(predicted=predicted, observed=right.estimate, low=right.low, high=right.high, n=one.n))
    return found


def calibration_chart(bins: Sequence[Bin]) -> Markup:
    """The reliability diagram."""
    n = sum(one.n for one in bins)
    description = (
        f"Horizontal: mean predicted probability by tenths. Vertical: share correct, 95 % interval by question, "
        f"{n} labelled judgments; the dashed diagonal is perfect calibration."
    )
    series = ReliabilitySeries(name=f"this panel, n={n}", bins=tuple(bins))
    chart = ReliabilityChart(title="Calibration", description=description, series=(series,))
    return as_svg(draw_reliability(chart, "calibration"))


def model_rows(spent: Iterable[Spending]) -> list[Spending]:
    """Cost, attempts and tokens by model over all days, the most expensive first."""
    rows: dict[str, Spending] = {}
    for one in spent:
        had = rows.get(one.model)
        sums = {} if had is None else {name: getattr(had, name) + getattr(one, name) for name in _SUMMED}
        rows[one.model] = replace(one, **sums)
    return sorted(rows.values(), key=lambda row: (-row.cost_usd, row.model))


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


def plane_of(ladder: Ladder) -> tuple[Axis, Axis]:
    """The axes of a ladder's curve: coverage to the right, precision upwards."""
    y = share_axis([point.precision.low for point in thinned(curve(ladder))], HEIGHT - BOTTOM, TOP)
    return Axis((0, 1), LEFT, WIDTH - RIGHT), y


def precision_coverage(name: str, ladder: Ladder, coverage: float, precision: float) -> Markup:
    """The curve with its band, and a mark at the chosen threshold."""
    points, (x, y) = thinned(curve(ladder)), plane_of(ladder)
    description = (
        "Vertical: precision of the kept judgments with a label, 95 % band by question. Horizontal: share of all "
        "judgments that is kept. The line marks the chosen threshold; the figures next to it give its values."
    )
    canvas = Canvas(WIDTH, HEIGHT, name, "Precision against coverage", description)

    def at(coverage: float, precision: float) -> tuple[float, float]:
        return x.at(coverage), y.at(max(precision, y.span[0]))

    frame(canvas, x, y, "Coverage: share of judgments kept, %", "Precision of kept judgments, %")
    upper = [at(point.coverage, point.precision.high) for point in points]
    lower = [at(point.coverage, point.precision.low) for point in reversed(points)]
    canvas.path(upper + lower, "band s0", closed=True)
    canvas.path([at(point.coverage, point.precision.estimate) for point in points], "curve s0")
    root = canvas.root
    at_x, at_y = at(coverage, precision)
    place = {"x1": f"{at_x:.2f}", "x2": f"{at_x:.2f}", "y1": f"{y.end:g}", "y2": f"{y.start:g}"}
    ET.SubElement(root, "line", {**place, "class": "now", "id": f"{name}-line"})
    ET.SubElement(
        root, "circle", {"cx": f"{at_x:.2f}", "cy": f"{at_y:.2f}", "r": "7", "class": "now", "id": f"{name}-dot"}
    )
    return as_svg(root)
