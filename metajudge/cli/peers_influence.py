"""Places as a chart, the consensus of each question, and what evaluators do to the result: blocks of the report."""

from metajudge.cli.peers_tables import MEASURE_NAMES, columns
from metajudge.judging.ranking_replies import written as order_text
from metajudge.peers.alignment import ReferenceAlignment
from metajudge.peers.correlation import MEASURES
from metajudge.peers.figures import Figure
from metajudge.peers.findings import PeerFindings
from metajudge.peers.influence import Influence, LeaveOut, WorstBallots
from metajudge.report.document import (
    Absent,
    Cell,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Measured,
    Section,
    Table,
)

SERIES = {"both": ("SIE", "SFE"), "yes": ("SIE",), "no": ("SFE",)}


def places_chart(findings: PeerFindings) -> IntervalChart:
    """Every model's mean place with its interval, the best model first."""
    names = SERIES[findings.include_self]
    rows = []
    for one in sorted(findings.standings, key=lambda s: _value(s.sfe if names == ("SFE",) else s.sie)):
        figures = [{"SIE": one.sie, "SFE": one.sfe}[name] for name in names]
        marks = [_mark(series, figure) for series, figure in enumerate(figures)]
        there = tuple(mark for mark in marks if mark is not None)
        absent = "" if there else figures[0].absent or "unknown"
        rows.append(IntervalRow(name=one.model, marks=there, absent=absent))
    return IntervalChart(
        title="Mean place over the questions, 1 is best",
        description="Every model's mean place in the consensus of a question; intervals from resampled questions.",
        kind="number",
        series=names,
        rows=tuple(rows),
    )


def agreement_chart(found: ReferenceAlignment) -> IntervalChart | None:
    """Agreement of the consensus, of the rules and of each evaluator alone with one human ranking."""
    rows: dict[str, list[IntervalMark]] = {}
    for row in found.rows:
        mark = _mark(MEASURES.index(row.measure), row.micro.median)
        name = f"{row.name} alone" if row.kind == "single" else row.name
        if mark is not None:
            rows.setdefault(name, []).append(mark)
    if not rows:
        return None
    return IntervalChart(
        title=f"Agreement with {found.reference}: median over questions",
        description="Pearson's and Kendall's correlation with the human ranking, with bootstrap intervals.",
        kind="number",
        series=tuple(MEASURE_NAMES[measure] for measure in MEASURES),
        rows=tuple(IntervalRow(name=name, marks=tuple(marks)) for name, marks in rows.items()),
        reference=0.0,
    )


def questions_table(findings: PeerFindings) -> Table:
    """The consensus of every question."""
    return Table(
        caption=f"Consensus of each question by {findings.rule}",
        columns=(
            *columns("Question", "Domain"),
            *columns("Ballots", kind="count"),
            *columns("Order"),
            *columns("Equally good orders", kind="count"),
        ),
        rows=tuple(
            (
                one.question_id,
                one.domain or Absent(absent="no domain"),
                one.ballots,
                order_text(one.ranking) if one.ranking else Absent(absent="the rule gives no order"),
                one.optima if one.optima else Absent(absent="not counted by this rule"),
            )
            for one in findings.by_question
        ),
        notes=("Models joined by = have the same mean place over all equally good orders.",),
    )


def influence_section(found: Influence) -> Section:
    """What single evaluators, and those named together, do to the result."""
    blocks = (left_out_table(found), *((worst_table(found),) if found.worst else ()))
    paragraphs = [
        "Left out: the consensus of the other evaluators' ballots. Order by mean place over questions, with everybody: "
        f"{order_text(found.order)}."
    ]
    if found.worst_absent is not None:
        paragraphs.append(f"The worst ballots were not looked for: {found.worst_absent}.")
    return Section(title="Influence of evaluators", paragraphs=tuple(paragraphs), blocks=blocks)


def left_out_table(found: Influence) -> Table:
    """The consensus without each evaluator, and without those named together."""
    return Table(
        caption="Evaluators left out",
        columns=columns("Without", "Order", "Places that change", "First place", "Questions with another first place"),
        rows=tuple(_left_out_row(one) for one in found.left_out),
    )


def _left_out_row(one: LeaveOut) -> tuple[Cell, ...]:
    who = ", ".join(one.without)
    if one.absent is not None:
        return (who, *[Absent(absent=one.absent)] * 4)
    moved = "; ".join(f"{m.model} {m.before:.2f} to {m.after:.2f}" for m in one.moved) or "none"
    changed = f"{one.questions_changed} of {one.questions}"
    return (who, order_text(one.order), moved, "changes" if one.winner_changes else "stays", changed)


def worst_table(found: Influence) -> Table:
    """What other ballots of each evaluator, or of those named together, could do."""
    return Table(
        caption="Worst ballots: one model first, the others against the consensus, in every question",
        columns=(
            *columns("Evaluator", "Could lift most"),
            *columns("Mean place, from", "Mean place, to", kind="number"),
            *columns("Place", "Could put first"),
        ),
        rows=tuple(_worst_row(one) for one in found.worst),
        notes=("A lower bound of what an evaluator could do; its real ballots are replaced, the others' stay.",),
    )


def _worst_row(one: WorstBallots) -> tuple[Cell, ...]:
    place = f"{one.place_before} to {one.place_after}" if one.place_before != one.place_after else "stays"
    return (", ".join(one.who), one.favours, one.before, one.after, place, ", ".join(one.can_win) or "nobody else")


def influence_lines(found: Influence) -> list[str]:
    """What the screen says: who changes the order when left out, and who could change the first place."""
    moves = [left for left in found.left_out if left.moved and left.absent is None]
    lines = []
    for left in moves:
        first = "; the first place changes" if left.winner_changes else ""
        lines.append(f"Without {', '.join(left.without)}: {order_text(left.order)}{first}.")
    if not moves:
        lines.append("Leaving any one evaluator out changes no place in the order by mean places.")
    strong: dict[tuple[str, ...], list[str]] = {}
    for one in found.worst:
        if one.can_win:
            strong.setdefault(one.can_win, []).append(" with ".join(one.who))
    lines += [
        f"With other ballots {', '.join(who)} could{' each' if len(who) > 1 else ''} put first: {', '.join(models)}."
        for models, who in strong.items()
    ]
    if found.worst and not strong:
        lines.append("No single evaluator could put another model first by voting against the consensus.")
    if found.worst_absent is not None:
        lines.append(f"The worst ballots were not looked for: {found.worst_absent}.")
    return lines


def _mark(series: int, figure: Figure) -> IntervalMark | None:
    if figure.value is None:
        return None
    low = figure.value if figure.low is None else figure.low
    high = figure.value if figure.high is None else figure.high
    return IntervalMark(series=series, value=Measured(value=figure.value, low=low, high=high))


def _value(figure: Figure) -> float:
    return float("inf") if figure.value is None else figure.value
