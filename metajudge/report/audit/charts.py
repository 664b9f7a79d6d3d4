"""Charts of an audit."""

from collections.abc import Iterable, Sequence

from metajudge.audit.card import CorrectedRate, Figure, Group, Jury
from metajudge.report.audit import words
from metajudge.report.audit.published import AuditDocument, AuditedJudge
from metajudge.report.audit.tables import name_of
from metajudge.report.document import (
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Measured,
    ShareChart,
    ShareRow,
)

STATUSES = ("underpowered", "finding", "none")
"""In the order of the chart's series, which gives a finding the colour that stands out."""
MOST_PARTS = 8


def agreement(found: AuditDocument) -> IntervalChart | None:
    """How often each judge is right by people's labels, or like its peers where there are no labels."""
    by_labels = any("accuracy" in judge.figures for judge in found.judges)
    name = "accuracy" if by_labels else "peer_agreement"
    if not any(name in judge.figures for judge in found.judges):
        return None
    several = len({judge.kind for judge in found.judges}) > 1
    rows = [_row(name_of(judge, several=several), judge.figures.get(name)) for judge in found.judges]
    if by_labels:
        rows += [_row(f"people ({words.KINDS[one.kind][1]})", one.agreement, 1) for one in found.ceilings]
    ceiling = found.ceilings[0].agreement.estimate if by_labels and len(found.ceilings) == 1 else None
    line = " The line is the human ceiling." if ceiling is not None else ""
    title = "Right by people's labels" if by_labels else "Equal to the majority of the other judges"
    return IntervalChart(
        title=title,
        description=f"Share of verdicts, with 95 % intervals by question.{line}",
        series=("judges", "people") if by_labels and found.ceilings else ("judges",),
        rows=tuple(rows),
        reference=ceiling,
    )


def effects(judge: AuditedJudge) -> IntervalChart | None:
    """The checks of a judge on one scale: effects as multiples of the effect that is declared to matter."""
    rows = []
    for one in judge.checks:
        if one.estimate is None or one.relevant_effect <= 0:
            rows.append(IntervalRow(name=one.title, absent=words.untested(one)))
            continue
        low, high = one.interval or (one.estimate, one.estimate)
        value, low, high = ((end - one.null) / one.relevant_effect for end in (one.estimate, low, high))
        mark = IntervalMark(series=STATUSES.index(one.status), value=Measured(value=value, low=low, high=high))
        rows.append(IntervalRow(name=one.title, marks=(mark,)))
    if not any(row.marks for row in rows):
        return None
    return IntervalChart(
        title=f"Checks of {judge.judge}",
        description="Effects with 95 % intervals, in multiples of the effect that matters; 0 is no effect.",
        kind="number",
        series=tuple(words.STATUS[one].lower() for one in STATUSES),
        rows=tuple(rows),
        reference=0.0,
    )


def rates(given: Sequence[CorrectedRate], title: str, *, judges: bool = False) -> list[IntervalChart]:
    """Naive and corrected rates: a chart of shares and one of mean grades, as far as there are any.

    Args:
        judges: whether to name the judge of each rate.
    """
    charts = []
    for kind in ("percent", "number"):
        rows = [row for one in given if words.rate_kind(one) == kind and len((row := _rate(one, judges)).marks) > 1]
        if rows:
            charts.append(
                IntervalChart(
                    title=title,
                    description="With 95 % intervals. The naive interval leaves out the errors of the judge.",
                    kind="percent" if kind == "percent" else "number",
                    series=("naive", "prediction-powered", "Rogan-Gladen", "labels alone"),
                    rows=tuple(rows),
                )
            )
    return charts


def _rate(one: CorrectedRate, judges: bool) -> IntervalRow:
    given = (one.naive, one.ppi, one.rogan_gladen, one.labels_only)
    marks = tuple(mark for number, figure in enumerate(given) if (mark := _mark(figure, number)) is not None)
    return IntervalRow(name=f"{one.of}: {one.judge}" if judges else one.of, marks=marks)


def groups(given: Sequence[Group], title: str, description: str) -> IntervalChart | None:
    """Shares of right verdicts by part, such as a stretch of time; findings in the second series."""
    if not given:
        return None
    rows = tuple(_row(one.name, one.accuracy, int(one.finding)) for one in given)
    marked = any(one.finding for one in given)
    series = ("no finding", "finding") if marked else ("share",)
    return IntervalChart(title=title, description=description, series=series, rows=rows)


def scale_use(found: AuditDocument) -> ShareChart | None:
    """How the judges of one kind use the scale."""
    judges = [judge for judge in found.judges if judge.scale_use and judge.kind in ("grade", "category")]
    parts = _in_order(value for judge in judges for value in judge.scale_use)
    if not judges or len({judge.kind for judge in judges}) > 1 or not 2 <= len(parts) <= MOST_PARTS:
        return None
    rows = tuple(
        ShareRow(name=judge.judge, counts=tuple(judge.scale_use.get(part, 0) for part in parts)) for judge in judges
    )
    return ShareChart(title="Use of the scale", description="Share of the verdicts by value.", parts=parts, rows=rows)


def panels(jury: Jury) -> IntervalChart | None:
    """How often majorities of growing panels are right."""
    if len(jury.panels) < 2:
        return None
    rows = tuple(
        _row(f"{len(one.judges)}: {words.listed(one.judges, 3)}", one.accuracy, int(one == jury.cheapest))
        for one in jury.panels
    )
    chosen = any(mark.series for row in rows for mark in row.marks)
    return IntervalChart(
        title="Majorities of growing panels",
        description="Share of items whose majority is right, with 95 % intervals.",
        series=("panel", "cheapest panel that is as good as all") if chosen else ("panel",),
        rows=rows,
    )


def _row(name: str, figure: Figure | None, series: int = 0) -> IntervalRow:
    mark = _mark(figure, series)
    return IntervalRow(name=name, absent="not measured") if mark is None else IntervalRow(name=name, marks=(mark,))


def _mark(figure: Figure | None, series: int) -> IntervalMark | None:
    if figure is None:
        return None
    low, high = figure.interval or (figure.estimate, figure.estimate)
    return IntervalMark(series=series, value=Measured(value=figure.estimate, low=low, high=high))


def _in_order(values: Iterable[str]) -> tuple[str, ...]:
    """Different values; numbers in their order, words as they come."""
    found = list(dict.fromkeys(values))
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(found)
