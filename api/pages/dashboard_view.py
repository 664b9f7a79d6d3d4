"""Builds the dashboard's rows, heat maps and charts from counts. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from metajudge.evidence.counting import Counted
from metajudge.report.document import Bin, ReliabilityChart, ReliabilitySeries
from metajudge.stats.interval_estimate import Estimate
from metajudge.stats.intervals import wilson
from metajudge.store.dashboard import DayCount, JudgeCount, Spending
from metajudge.store.labelled import Group, PairCount, Tenth
from metajudge.types import VerdictKind

from .figures import Part, columns, reliability

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


@dataclass(frozen=True, slots=True)
class OverTime:
    """A chart over time and the table of the same figures; ``rows`` are (span, one value a part),
    ``series`` are the colour indices of the parts. ``svg`` is None for a single span: one column is no chart.
    """

    svg: Markup | None
    parts: tuple[str, ...]
    series: tuple[int, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    totals: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Agreement of two; ``level`` from 0 (never) to :data:`LEVELS`; ``share`` is None without shared judgments."""

    share: Estimate | None
    level: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Pairwise agreement; the diagonal and pairs without overlap are None. ``left_out`` names do not fit."""

    names: tuple[str, ...]
    rows: tuple[tuple[HeatCell | None, ...], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge; precisions are over labelled judgments, None without any."""

    count: JudgeCount
    raw: Estimate | None
    kept: Estimate | None


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The cost of one model."""

    model: str
    attempts: int
    failed: int
    cost_usd: float
    unpriced: int
    input_tokens: int
    output_tokens: int


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
    return OverTime(
        svg,
        tuple(part.name for part in parts),
        tuple(part.series for part in parts),
        tuple((span, tuple(part.values[place] for part in parts)) for place, span in enumerate(spans)),
        tuple(sum(part.values) for part in parts),
    )


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
    found = {frozenset((pair.first, pair.second)): wilson(pair.same, pair.n) for pair in pairs}
    rows = tuple(tuple(_cell(found.get(frozenset((a, b)))) if a != b else None for b in chosen) for a in chosen)
    return HeatMap(tuple(chosen), rows, len(names) - len(chosen))


def _cell(share: Estimate | None) -> HeatCell:
    return HeatCell(share, 0 if share is None else min(LEVELS, int(share.estimate * (LEVELS + 1))))


def kinds_of(groups: Iterable[Group]) -> dict[str, int]:
    """Judgments by the kind of their verdict, in words."""
    kinds: Counter[VerdictKind | None] = Counter()
    for group in groups:
        kinds[group.kind] += group.n
    return {words: kinds[kind] for kind, words in KINDS.items() if kinds[kind]}


def judge_rows(counts: Iterable[JudgeCount], rows: Mapping[str | None, Mapping[str, Counted]]) -> list[JudgeRow]:
    """The table of judges; precision over the labelled judgments of the panel."""
    of_judge = ((count, rows.get(count.judge)) for count in counts)
    return [
        JudgeRow(count, None, None) if found is None else JudgeRow(count, found["all"].share, found["kept"].share)
        for count, found in of_judge
    ]


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
    return reliability("calibration", ReliabilityChart(title="Calibration", description=description, series=(series,)))


def model_rows(spent: Iterable[Spending]) -> list[ModelRow]:
    """Cost, attempts and tokens by model, the most expensive first."""
    rows: dict[str, list[float]] = {}
    for one in spent:
        row = rows.setdefault(one.model, [0.0] * 6)
        added = (one.attempts, one.failed, one.cost_usd, one.unpriced, one.input_tokens, one.output_tokens)
        rows[one.model] = [a + b for a, b in zip(row, added, strict=True)]
    made = [
        ModelRow(model, int(row[0]), int(row[1]), row[2], int(row[3]), int(row[4]), int(row[5]))
        for model, row in rows.items()
    ]
    return sorted(made, key=lambda row: (-row.cost_usd, row.model))
