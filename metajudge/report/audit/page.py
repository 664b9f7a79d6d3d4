"""An audit as a report: the whole page, and the card for a pull request."""

from collections.abc import Iterable, Iterator, Sequence

from metajudge.audit.card import AuditDocument, AuditedJudge, Check, Confusion, CorrectedRate, Figure, Group, Jury
from metajudge.report.audit import tables, words
from metajudge.report.audit.tables import name_of
from metajudge.report.document import (
    Block,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Listing,
    Measured,
    Report,
    Section,
    ShareChart,
    ShareRow,
    Table,
)
from metajudge.report.tables import Head, Row, columns, table_with

MOST_RATES = 10
"""Rates that are shown outside of the judges' own sections: those that change most."""
RATES = "The naive rate and the corrected one"

OVER_TIME = "Share of verdicts by stretch of time, with 95 % intervals."
STATUSES = ("underpowered", "finding", "none")
"""In the order of the chart's series, which gives a finding the colour that stands out."""
MOST_PARTS = 8


def agreement(found: AuditDocument) -> IntervalChart | None:
    """How often each judge is right by people's labels, or like its peers where there are no labels."""
    by_labels = any("accuracy" in judge.figures for judge in found.judges)
    name = "accuracy" if by_labels else "peer_agreement"
    if not any(name in judge.figures for judge in found.judges):
        return None
    rows = [_row(name_of(judge, found), judge.figures.get(name)) for judge in found.judges]
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
        mark = _mark(one, STATUSES.index(one.status), one.null, one.relevant_effect)
        rows.append(IntervalRow(name=one.title, marks=(mark,) if mark else ()))
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
    parts = [(kind, [_rate(one, judges) for one in some]) for kind, some in words.by_kind(given)]
    return [
        IntervalChart(
            title=title,
            description="With 95 % intervals. The naive interval leaves out the errors of the judge.",
            kind="percent" if kind == "percent" else "number",
            series=("naive", "prediction-powered", "Rogan-Gladen", "labels alone"),
            rows=tuple(row for row in rows if len(row.marks) > 1),
        )
        for kind, rows in parts
        if any(len(row.marks) > 1 for row in rows)
    ]


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


def _mark(one: Figure | Check | None, series: int, null: float = 0.0, unit: float = 1.0) -> IntervalMark | None:
    """A figure and its interval as distances from a value, in units."""
    if one is None or one.estimate is None:
        return None
    low, high = one.interval or (one.estimate, one.estimate)
    value, low, high = ((end - null) / unit for end in (one.estimate, low, high))
    return IntervalMark(series=series, value=Measured(value=value, low=low, high=high))


def _in_order(values: Iterable[str]) -> tuple[str, ...]:
    """Different values; numbers in their order, words as they come."""
    found = list(dict.fromkeys(values))
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(found)


def page(found: AuditDocument) -> Report:
    """Everything that was found, with charts."""
    rows = tuple(words.holdings_in_words(found.holdings))
    held = Table(caption="What the file holds", columns=columns("What", "Held"), rows=rows)
    sections = [
        _side_by_side(found),
        *([_next(found)] if found.next else []),
        Section(title="What the file holds and supports", blocks=(held, tables.supports(found))),
        *(_judge(found, judge) for judge in found.judges),
        *map(_jury, found.juries),
        *_independence(found),
        *([Section(title="Notes", paragraphs=found.notices)] if found.notices else []),
    ]
    return Report(
        title="Judge audit",
        summary=(f"{words.headline(found)}.", words.summary(found)),
        sections=tuple(sections),
        provenance=_provenance(found),
    )


def card(found: AuditDocument) -> Report:
    """What a pull request should show: the judges side by side, the findings, the corrected rates."""
    blocks = (tables.comparison(found),) if found.judges else ()
    sections = [Section(title="Judges", paragraphs=() if found.judges else found.notices, blocks=blocks)]
    sections.append(Section(title="Findings, the costliest first", paragraphs=_findings(found) or ("None.",)))
    every = [rate for judge in found.judges for rate in judge.rates]
    if every:
        left = len(every) - MOST_RATES
        more = (f"The {MOST_RATES} rates that change most; {left:,} more are in the report.",) if left > 0 else ()
        rows = tables.rates(_changed_most(found), RATES)
        sections.append(Section(title="Corrected rates", paragraphs=more, blocks=tuple(rows)))
    if found.juries:
        sections.append(Section(title="Jury", paragraphs=tuple(_jury_words(one) for one in found.juries)))
    sections += _independence(found)
    weak = tuple(text for judge in found.judges if (text := _underpowered(judge)))
    if weak:
        sections.append(Section(title="Underpowered", paragraphs=weak))
    return Report(
        title="Judge audit", summary=(f"{words.headline(found)}.", words.summary(found)), sections=tuple(sections)
    )


def _independence(found: AuditDocument) -> list[Section]:
    told = tuple(words.independence(found.independence))
    return [Section(title="Whether the judges are independent (without labels)", paragraphs=told)] if told else []


def _changed_most(found: AuditDocument) -> list[CorrectedRate]:
    """The rates that the correction moves most; those that cannot be corrected come last."""
    every = [rate for judge in found.judges for rate in judge.rates]

    def moved(one: CorrectedRate) -> float:
        return -1.0 if one.ppi is None else abs(one.naive.estimate - one.ppi.estimate)

    return sorted(every, key=moved, reverse=True)[:MOST_RATES]


def _underpowered(judge: AuditedJudge) -> str:
    weak = [one for one in judge.checks if one.status == "underpowered"]
    needs = [f"{one.title}: {one.sentence}" if one.unsure else f"{one.title} ({words.needed(one)})" for one in weak]
    return f"{judge.judge}: {'; '.join(needs)}." if needs else ""


def _side_by_side(found: AuditDocument) -> Section:
    title = "The rates that the correction changes most"
    others = _present([*rates(_changed_most(found), title, judges=True), scale_use(found)])
    blocks = (*_present([agreement(found)]), tables.comparison(found), *others)
    return Section(title="Judges side by side", paragraphs=_findings(found), blocks=blocks)


def _findings(found: AuditDocument) -> tuple[str, ...]:
    """Every finding, the costliest first."""
    return tuple(
        f"{name_of(judge, found)}: {check.title}"
        + ("" if check.cost is None else f", {100 * check.cost:.1f} % of its verdicts likely wrong by it")
        + f". {check.sentence}"
        for judge, check in found.findings
    )


def _judge(found: AuditDocument, judge: AuditedJudge) -> Section:
    blocks: list[Block | None] = [_figures(judge), effects(judge), tables.checks(judge)]
    blocks += [*rates(judge.rates, f"{RATES}, by {judge.judge}"), *tables.rates(judge.rates, RATES)]
    blocks += [_classes(judge), _confusion(judge.confusion) if judge.confusion else None]
    blocks += [
        groups(judge.over_time, f"{judge.judge} over time", OVER_TIME),
        groups(judge.versions, f"Versions of {judge.judge}", "Share of verdicts, with 95 % intervals."),
        groups(judge.categories, f"{judge.judge} by category", "Share of verdicts, with 95 % intervals."),
    ]
    blocks += [_contested(judge), tables.worst(judge.worst)]
    title = f"Judge {tables.name_of(judge, found)}"
    return Section(title=title, paragraphs=tuple(_said(judge)), blocks=_present(blocks))


def _said(judge: AuditedJudge) -> Iterator[str]:
    one, many = words.KINDS[judge.kind]
    yield (
        f"{words.counted(judge.n - judge.n_no_verdict, one, many)} on {words.counted(judge.questions, 'question')}, "
        f"{judge.n_labelled:,} comparable with a label; {judge.n_no_verdict:,} without a verdict."
    )
    yield from (f"{check.title}: {check.sentence}" for check in judge.findings)
    if judge.alternative is not None:
        yield f"{words.alternative(judge.alternative)}."


def _figures(judge: AuditedJudge) -> Table:
    return table_with(
        f"Figures of {judge.judge}",
        judge.figures.items(),
        ("Figure", lambda one: words.figure_title(one[0], judge)),
        ("Value (95 %)", lambda one: words.value_and_interval(one[1], words.figure_kind(one[0], judge))),
        (("n", "count"), lambda one: one[1].n),
        (("Questions", "count"), lambda one: one[1].questions),
        ("Definition", lambda one: one[1].method),
    )


def _classes(judge: AuditedJudge) -> Table:
    so = "of what people call so, the share the judge calls so"
    otherwise = "of what people call otherwise, the share it calls otherwise"
    return table_with(
        "By class of the label",
        judge.classes,
        ("Class", lambda one: one.value),
        (("Sensitivity %", "percent", so), lambda one: words.cell(one.sensitivity)),
        (("Specificity %", "percent", otherwise), lambda one: words.cell(one.specificity)),
        (("Labelled so", "count"), lambda one: one.n_labelled),
        (("Called so", "count"), lambda one: one.n_given),
    )


def _confusion(counts: Confusion) -> Table:
    heads: list[Head] = ["Label \\ verdict", *((name, "count") for name in counts.classes)]
    rows: list[Row] = [(name, *row) for name, row in zip(counts.classes, counts.counts, strict=True)]
    left = f"{words.counted(counts.omitted, 'labelled verdict')} in no cell"
    return Table(
        caption="Verdicts by label", columns=columns(*heads), rows=tuple(rows), notes=(left,) if counts.omitted else ()
    )


def _contested(judge: AuditedJudge) -> Table:
    return table_with(
        "Where people themselves disagree",
        [] if judge.contested is None else [judge.contested],
        ("Errors", lambda _: judge.judge),
        (("People disagree %", "percent"), lambda one: words.cell(one["disagreed"])),
        (("People agree %", "percent"), lambda one: words.cell(one["agreed"])),
        (("Difference, points", "points"), lambda one: words.cell(one["difference"])),
        notes=("A higher error rate where people disagree is expected of any judge: the label itself is less sure",),
    )


def _jury(jury: Jury) -> Section:
    titles = columns("Judge", "Why it can be dropped")
    dropped = Table(caption="Judges that can be dropped", columns=titles, rows=jury.drop)
    blocks: list[Block | None] = [panels(jury), dropped, _pairs(jury)]
    several = f" ({words.KINDS[jury.kind][1]})"
    return Section(title=f"What the jury is worth{several}", paragraphs=(_jury_words(jury),), blocks=_present(blocks))


def _jury_words(jury: Jury) -> str:
    if jury.effective is None:
        return jury.sentence
    worth = words.value_and_interval(jury.effective, "number")
    return (
        f"{words.counted(len(jury.judges), 'judge')} err as much together as {worth} independent ones. {jury.sentence}"
    )


def _pairs(jury: Jury) -> Table:
    why = "one of the two never errs, or nothing can be compared"
    return table_with(
        "Every two judges",
        jury.pairs,
        ("Judges", lambda one: f"{one.first} and {one.second}"),
        (("Same verdict %", "percent"), lambda one: words.cell(one.agreement)),
        (
            ("Correlation of errors", "number", f"errors by: {jury.reference}"),
            lambda one: words.cell(one.error_correlation, why),
        ),
    )


def _next(found: AuditDocument) -> Section:
    """The next steps, those without a command as sentences."""
    said = tuple(f"{words.started(one.goal)}: {words.plain_name(one.reason)}." for one in found.next if not one.command)
    blocks = tuple(
        Listing(caption=f"{words.started(one.goal)}: {words.plain_name(one.reason)}", lines=(one.command,))
        for one in found.next
        if one.command
    )
    return Section(title="Next", paragraphs=said, blocks=blocks)


def _provenance(found: AuditDocument) -> dict[str, str]:
    given = {"input": words.listed(found.inputs, 20)} if found.inputs else {}
    level = f"{100 * found.level:g} % for all findings of one judge together (Holm)"
    intervals = "95 %, by question: verdicts on one question are not taken as independent"
    return given | {"level": level, "intervals": intervals, "metajudge": found.made_by}


def _present(blocks: list[Block | None]) -> tuple[Block, ...]:
    """What has something to show."""
    return tuple(one for one in blocks if one is not None and (not isinstance(one, Table) or one.rows))
