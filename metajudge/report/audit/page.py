"""An audit as a report: the whole page, and the card for a pull request."""

from collections.abc import Iterator

from metajudge.audit.card import Confusion, CorrectedRate, Jury
from metajudge.report.audit import charts, tables, words
from metajudge.report.audit.published import AuditDocument, AuditedJudge
from metajudge.report.document import Block, Cell, Column, Listing, Report, Section, Table

MOST_RATES = 10
"""Rates that are shown outside of the judges' own sections: those that change most."""
RATES = "The naive rate and the corrected one"

OVER_TIME = "Share of verdicts by stretch of time, with 95 % intervals."


def page(found: AuditDocument) -> Report:
    """Everything that was found, with charts."""
    sections = [_holds(found), _side_by_side(found)]
    sections += [_judge(found, judge) for judge in found.judges]
    sections += [_jury(jury) for jury in found.juries]
    sections += _independence(found)
    if found.next:
        sections.append(_next(found))
    if found.notices:
        sections.append(Section(title="Notes", paragraphs=found.notices))
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
    findings = tuple(f"{judge.judge}: {check.sentence}" for judge, check in found.findings)
    sections.append(Section(title="Findings", paragraphs=findings or ("None.",)))
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


def _change(rate: CorrectedRate) -> float:
    """How far the correction moves a rate; rates that cannot be corrected come last."""
    return -1.0 if rate.ppi is None else abs(rate.naive.estimate - rate.ppi.estimate)


def _changed_most(found: AuditDocument) -> list[CorrectedRate]:
    """The rates that the correction moves most."""
    every = [rate for judge in found.judges for rate in judge.rates]
    return sorted(every, key=_change, reverse=True)[:MOST_RATES]


def _underpowered(judge: AuditedJudge) -> str:
    weak = [one for one in judge.checks if one.status == "underpowered"]
    needs = [f"{one.title} ({words.needed(one)})" for one in weak]
    return f"{judge.judge}: {'; '.join(needs)}." if needs else ""


def _holds(found: AuditDocument) -> Section:
    rows = tuple(words.holdings_in_words(found.holdings))
    held = Table(caption="What the file holds", columns=(Column(title="What"), Column(title="Held")), rows=rows)
    return Section(title="What the file holds and supports", blocks=(held, tables.supports(found)))


def _side_by_side(found: AuditDocument) -> Section:
    blocks: list[Block | None] = [charts.agreement(found), tables.comparison(found)]
    title = "The rates that the correction changes most"
    blocks += [*charts.rates(_changed_most(found), title, judges=True), charts.scale_use(found)]
    return Section(title="Judges side by side", blocks=_present(blocks))


def _judge(found: AuditDocument, judge: AuditedJudge) -> Section:
    several = len({one.kind for one in found.judges}) > 1
    blocks: list[Block | None] = [
        _figures(judge),
        charts.effects(judge),
        tables.checks(judge) if judge.checks else None,
    ]
    blocks += [*charts.rates(judge.rates, f"{RATES}, by {judge.judge}"), *tables.rates(judge.rates, RATES)]
    blocks += [_classes(judge), _confusion(judge.confusion) if judge.confusion else None]
    blocks += [
        charts.groups(judge.over_time, f"{judge.judge} over time", OVER_TIME),
        charts.groups(judge.versions, f"Versions of {judge.judge}", "Share of verdicts, with 95 % intervals."),
        charts.groups(judge.categories, f"{judge.judge} by category", "Share of verdicts, with 95 % intervals."),
    ]
    blocks += [_contested(judge), tables.worst(judge.worst) if judge.worst else None]
    return Section(
        title=f"Judge {tables.name_of(judge, several=several)}",
        paragraphs=tuple(_said(judge)),
        blocks=_present(blocks),
    )


def _said(judge: AuditedJudge) -> Iterator[str]:
    one, many = words.KINDS[judge.kind]
    yield (
        f"{words.counted(judge.n - judge.n_no_verdict, one, many)} on {words.counted(judge.questions, 'question')}, "
        f"{judge.n_labelled:,} comparable with a label; {judge.n_no_verdict:,} without a verdict."
    )
    yield from (f"{check.title}: {check.sentence}" for check in judge.findings)


def _figures(judge: AuditedJudge) -> Table | None:
    if not judge.figures:
        return None
    columns = (
        Column(title="Figure"),
        Column(title="Value (95 %)"),
        Column(title="n", kind="count"),
        Column(title="Questions", kind="count"),
        Column(title="Definition"),
    )
    rows = tuple(
        (
            words.figure_title(name, judge),
            words.value_and_interval(figure, words.figure_kind(name, judge)),
            figure.n,
            figure.questions,
            figure.method,
        )
        for name, figure in judge.figures.items()
    )
    return Table(caption=f"Figures of {judge.judge}", columns=columns, rows=rows)


def _classes(judge: AuditedJudge) -> Table | None:
    if not judge.classes:
        return None
    columns = (
        Column(title="Class"),
        Column(title="Sensitivity %", kind="percent", note="of what people call so, the share the judge calls so"),
        Column(
            title="Specificity %", kind="percent", note="of what people call otherwise, the share it calls otherwise"
        ),
        Column(title="Labelled so", kind="count"),
        Column(title="Called so", kind="count"),
    )
    rows = tuple(
        (one.value, words.cell(one.sensitivity), words.cell(one.specificity), one.n_labelled, one.n_given)
        for one in judge.classes
    )
    return Table(caption="By class of the label", columns=columns, rows=rows)


def _confusion(counts: Confusion) -> Table:
    columns = (Column(title="Label \\ verdict"), *(Column(title=name, kind="count") for name in counts.classes))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *row) for name, row in zip(counts.classes, counts.counts, strict=True)
    )
    left = f"{words.counted(counts.omitted, 'labelled verdict')} in no cell"
    return Table(caption="Verdicts by label", columns=columns, rows=rows, notes=(left,) if counts.omitted else ())


def _contested(judge: AuditedJudge) -> Table | None:
    if judge.contested is None:
        return None
    columns = (
        Column(title="Errors"),
        Column(title="People disagree %", kind="percent"),
        Column(title="People agree %", kind="percent"),
        Column(title="Difference, points", kind="points"),
    )
    one = judge.contested
    row = (judge.judge, words.cell(one.disagreed), words.cell(one.agreed), words.cell(one.difference))
    note = "A higher error rate where people disagree is expected of any judge: the label itself is less sure"
    return Table(caption="Where people themselves disagree", columns=columns, rows=(row,), notes=(note,))


def _jury(jury: Jury) -> Section:
    columns = (Column(title="Judge"), Column(title="Why it can be dropped"))
    dropped = Table(caption="Judges that can be dropped", columns=columns, rows=jury.drop) if jury.drop else None
    blocks: list[Block | None] = [charts.panels(jury), dropped, _pairs(jury)]
    several = f" ({words.KINDS[jury.kind][1]})"
    return Section(title=f"What the jury is worth{several}", paragraphs=(_jury_words(jury),), blocks=_present(blocks))


def _jury_words(jury: Jury) -> str:
    if jury.effective is None:
        return jury.sentence
    worth = words.value_and_interval(jury.effective, "number")
    return (
        f"{words.counted(len(jury.judges), 'judge')} err as much together as {worth} independent ones. {jury.sentence}"
    )


def _pairs(jury: Jury) -> Table | None:
    if not jury.pairs:
        return None
    columns = (
        Column(title="Judges"),
        Column(title="Same verdict %", kind="percent"),
        Column(title="Correlation of errors", kind="number", note=f"errors by: {jury.reference}"),
    )
    rows = tuple(
        (
            f"{one.first} and {one.second}",
            words.cell(one.agreement),
            words.cell(one.error_correlation, "one of the two never errs, or nothing can be compared"),
        )
        for one in jury.pairs
    )
    return Table(caption="Every two judges", columns=columns, rows=rows)


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
    return tuple(one for one in blocks if one is not None)
