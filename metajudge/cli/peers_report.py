"""The findings of peer evaluation as a report, and its main tables for a terminal."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from metajudge.cli.peers_tables import (
    MEASURE_NAMES,
    alignment_table,
    difference_chart,
    difference_table,
    figure_in_words,
    peer_cell,
    self_table,
    standings_table,
    top_k_table,
)
from metajudge.judging.ranking_replies import written as order_text
from metajudge.peers.alignment import ReferenceAlignment
from metajudge.peers.figures import MEASURES, Figure
from metajudge.peers.findings import DomainFindings, PeerFindings
from metajudge.peers.influence import Influence, LeaveOut, WorstBallots
from metajudge.peers.run import PeersTotals
from metajudge.peers.standing import EvaluatorPair
from metajudge.report.document import (
    Absent,
    Block,
    Cell,
    Fold,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Measured,
    Report,
    Section,
    Table,
)
from metajudge.report.tables import Head, Row, columns, table_to_text, table_with
from metajudge.runs.totals import in_words

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
        if mark is not None:
            rows.setdefault(row.shown_name, []).append(mark)
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
    no_domain, no_order = Absent(absent="no domain"), Absent(absent="the rule gives no order")
    uncounted = Absent(absent="not counted by this rule")
    return table_with(
        f"Consensus of each question by {findings.rule}",
        findings.by_question,
        ("Question", lambda one: one.question_id),
        ("Domain", lambda one: one.domain or no_domain),
        (("Ballots", "count"), lambda one: one.ballots),
        ("Order", lambda one: order_text(one.ranking) if one.ranking else no_order),
        (("Equally good orders", "count"), lambda one: one.optima or uncounted),
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
    heads = columns("Without", "Order", "Places that change", "First place", "Questions with another first place")
    return Table(caption="Evaluators left out", columns=heads, rows=tuple(map(_left_out_row, found.left_out)))


def _left_out_row(one: LeaveOut) -> Row:
    who = ", ".join(one.without)
    if one.absent is not None:
        return (who, *[Absent(absent=one.absent)] * 4)
    moved = "; ".join(f"{m.model} {m.before:.2f} to {m.after:.2f}" for m in one.moved) or "none"
    changed = f"{one.questions_changed} of {one.questions}"
    return (who, order_text(one.order), moved, "changes" if one.winner_changes else "stays", changed)


def worst_table(found: Influence) -> Table:
    """What other ballots of each evaluator, or of those named together, could do."""

    def place(one: WorstBallots) -> str:
        return f"{one.place_before} to {one.place_after}" if one.place_before != one.place_after else "stays"

    return table_with(
        "Worst ballots: one model first, the others against the consensus, in every question",
        found.worst,
        ("Evaluator", lambda one: ", ".join(one.who)),
        ("Could lift most", lambda one: one.favours),
        (("Mean place, from", "number"), lambda one: one.before),
        (("Mean place, to", "number"), lambda one: one.after),
        ("Place", place),
        ("Could put first", lambda one: ", ".join(one.can_win) or "none"),
        notes=("A lower bound of what an evaluator could do; its real ballots are replaced, the others' stay.",),
    )


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
    low, high = figure.interval
    return IntervalMark(series=series, value=Measured(value=figure.value, low=low, high=high))


def _value(figure: Figure) -> float:
    return float("inf") if figure.value is None else figure.value


def report_of(findings: PeerFindings) -> Report:
    """The whole report."""
    sections = [
        _standings_section(findings),
        *(_reference_section(one, findings) for one in findings.references),
        *([] if findings.influence is None else [influence_section(findings.influence)]),
        _rules_section(findings),
        _evaluators_section(findings),
    ]
    if findings.domains:
        sections.append(Section(title="Domains", blocks=tuple(domain_tables(findings.domains, findings))))
    if findings.lost or findings.left_out:
        sections.append(_lost_section(findings))
    return Report(
        title="Peer evaluation",
        summary=(overview(findings), *(f"Caution: {one.message}." for one in findings.cautions)),
        sections=tuple(sections),
        provenance={**{name: str(value) for name, value in findings.settings.items()}, **findings.provenance},
    )


def print_findings(findings: PeerFindings) -> Iterable[str]:
    """What the command prints: overview, places, agreement with every human ranking, cautions."""
    yield overview(findings)
    yield ""
    yield table_to_text(standings_table(findings))
    yield ""
    yield table_to_text(self_table(findings))
    for one in findings.references:
        yield ""
        if one.absent is not None:
            yield one.absent
            continue
        for measure in MEASURES:
            yield table_to_text(alignment_table(one, measure, findings.published, rows_of_paper=False))
            yield ""
    for table in domain_tables(findings.domains, findings) if findings.domains else ():
        yield ""
        yield table_to_text(table)
    if findings.influence is not None:
        yield ""
        yield from influence_lines(findings.influence)
    for caution in findings.cautions:
        yield ""
        yield f"Caution: {caution.message}."


def summary_lines(totals: PeersTotals, out: Path) -> Iterable[str]:
    """Calls and cost of a run, what is missing, and how to resume."""
    asked = f"{totals.questions} questions: {totals.answers} answers, {totals.ballots} ballots in {out}"
    yield f"{asked} ({totals.reused} from earlier runs)."
    yield totals.blinding.sentence()
    for model, kinds in totals.lost_by_model.items():
        yield f"Missing from {model}: {in_words(kinds)}. Run the same command again to retry the failed calls."
    cost = f"${totals.known_cost_usd:.4f}"
    if totals.cost_usd is None:
        why = "a price or the usage is unknown: give each agent its price in a panel file (--config)"
        cost = f"at least {cost}, {why}" if totals.known_cost_usd else f"cost unknown ({why})"
    usage = totals.usage
    yield f"{totals.calls} calls, {usage.input_tokens:,} input and {usage.output_tokens:,} output tokens, {cost}."
    if totals.reused and totals.all_attempts_usd is not None:
        yield f"All attempts in the files, earlier runs included: ${totals.all_attempts_usd:.4f}."
    if totals.end.next_step is not None:
        yield totals.end.next_step
    yield ""


def overview(findings: PeerFindings) -> str:
    """Who ranked what, and the overall order."""
    lost = f", {len(findings.lost)} ballots lost to failures" if findings.lost else ""
    out = f", {len(findings.left_out)} questions not counted" if findings.left_out else ""
    counts = (
        f"{len(findings.models)} models, {len(findings.evaluators)} evaluators, {findings.questions} questions, "
        f"{findings.ballots} ballots{lost}{out}."
    )
    free = f"Order by self-free places: {order_text(findings.self_free_order)}."
    if findings.include_self == "no":
        return f"{counts} {free}"
    optima = findings.ambiguity.overall_optima
    least = "" if findings.ambiguity.overall_counted else "at least "
    several = f" ({least}{optima:,} orders are equally good)" if optima is not None and optima > 1 else ""
    order = (
        f"none: {findings.overall_absent}" if findings.overall_absent else f"{order_text(findings.overall)}{several}"
    )
    overall = f"Overall order by {findings.rule}: {order}."
    return f"{counts} {overall}" if findings.include_self == "yes" else f"{counts} {overall} {free}"


def _standings_section(findings: PeerFindings) -> Section:
    ambiguity = findings.ambiguity
    rows = tuple((f"{voters} ballots", *counts) for voters, counts in ambiguity.by_voters.items())
    blocks: list[Block] = [
        places_chart(findings),
        standings_table(findings),
        Fold(title="Places that models give themselves, and that the others give them", blocks=(self_table(findings),)),
        Fold(title=f"Every question: {len(findings.by_question)}", blocks=(questions_table(findings),)),
    ]
    if rows:
        share = f"Share: {figure_in_words(ambiguity.share)} (Wilson interval)."
        heads = columns("Questions with", ("Questions", "count"), ("Several orders", "count"))
        caption = "Questions with several equally good orders"
        blocks.append(Table(caption=caption, columns=heads, rows=rows, notes=(share,)))
    orders = "; ".join(" > ".join(order) for order in ambiguity.orders) if (ambiguity.overall_optima or 0) > 1 else ""
    paragraphs = (f"Equally good overall orders, the first of them: {orders}.",) if orders else ()
    return Section(title="Consensus", paragraphs=paragraphs, blocks=tuple(blocks))


def _reference_section(found: ReferenceAlignment, findings: PeerFindings) -> Section:
    title = f"Agreement with {found.reference}"
    if found.absent is not None:
        return Section(title=title, paragraphs=(found.absent,))
    chart = agreement_chart(found)
    blocks: list[Block] = [] if chart is None else [chart]
    blocks.append(difference_chart(found))
    tables = [alignment_table(found, measure, findings.published) for measure in MEASURES]
    tables += [top_k_table(found, findings.published)] if found.top_k_changes else []
    tables.append(difference_table(found))
    blocks += [Fold(title=table.caption, blocks=(table,)) for table in tables]
    return Section(title=title, paragraphs=_best_single_paragraphs(found), blocks=tuple(blocks))


def _best_single_paragraphs(found: ReferenceAlignment) -> tuple[str, ...]:
    sentences = []
    for one in found.best_single:
        if one.median.value is None:
            sentences.append(f"{MEASURE_NAMES[one.measure]}: {one.median.absent}.")
            continue
        names = " and ".join(one.evaluators)
        sentences.append(
            f"{MEASURE_NAMES[one.measure]}: the evaluator that agrees best alone is {names} (median "
            f"{one.median.value:.3f}, chosen on the same questions, which favours it); the consensus differs by "
            f"{figure_in_words(one.difference)}."
        )
    return tuple(sentences)


def _rules_section(findings: PeerFindings) -> Section:
    table = table_with(
        "Every rule over all ballots at once",
        findings.rules,
        ("Rule", lambda one: one.rule),
        (
            "Order over all ballots",
            lambda one: Absent(absent=one.absent) if one.absent is not None else order_text(one.ranking),
        ),
    )
    orders = {row[1] for row in table.rows if isinstance(row[1], str)}
    agree = "All rules give the same order." if len(orders) == 1 else f"The rules give {len(orders)} different orders."
    return Section(title="Rules", paragraphs=(agree,), blocks=(Fold(title=table.caption, blocks=(table,)),))


def _evaluators_section(findings: PeerFindings) -> Section:
    agreement, effect = (
        "mean tau-b with the other evaluators' ballots",
        "mean tau-b of an answer's place and its position in the prompt; above 0 for one that prefers what it reads "
        "first",
    )
    table = table_with(
        "Evaluators",
        findings.evaluator_standings,
        ("Evaluator", lambda one: one.evaluator),
        (("Ballots", "count"), lambda one: one.ballots),
        ("Lost", lambda one: in_words(one.lost) or "none"),
        (("Agreement", "number", agreement), lambda one: peer_cell(one.agreement)),
        (("Order effect", "number", effect), lambda one: peer_cell(one.order_effect)),
        (
            ("p", "number", "of the order effect, two-sided, not corrected for several evaluators"),
            lambda one: peer_cell(one.order_p),
        ),
    )
    if not findings.pairs:
        return Section(title="Evaluators", blocks=(table,))
    shown: list[tuple[Head, Callable[[EvaluatorPair], Cell]]] = [
        ("Pair", lambda one: f"{one.first}, {one.second}"),
        (("Agreement", "number", "mean tau-b over questions"), lambda one: peer_cell(one.agreement)),
        (
            ("Shared errors", "number", "correlation of errors that skill does not explain"),
            lambda one: peer_cell(one.error_correlation),
        ),
    ]
    if findings.people is not None:
        head: Head = (f"Shared errors against {findings.people}", "number")
        shown.append((head, lambda one: peer_cell(one.error_correlation_to_people)))
    pairs = table_with("Evaluators two by two", findings.pairs, *shown, notes=_independence_notes(findings))
    return Section(title="Evaluators", blocks=(table, Fold(title=pairs.caption, blocks=(pairs,))))


def domain_tables(domains: Sequence[DomainFindings], findings: PeerFindings) -> list[Table]:
    """Mean places by domain, and agreement with every human ranking where there is one."""
    places = Table(
        caption=f"Mean place by domain ({findings.rule}, {'SFE' if findings.include_self == 'no' else 'SIE'})",
        columns=columns("Model", *((f"{one.domain} (n = {one.questions})", "number") for one in domains)),
        rows=tuple((name, *(peer_cell(one.places[name]) for one in domains)) for name in findings.models),
    )
    rows: list[Row] = []
    for one in domains:
        for found in one.references:
            row = next((r for r in found.rows if r.kind in ("consensus", "self_free") and r.measure == "pearson"), None)
            if row is not None:
                best = next(b for b in found.best_single if b.measure == "pearson")
                figures = map(peer_cell, (row.micro.median, row.macro, best.difference))
                rows.append((one.domain, found.reference, *figures, row.micro.n))
    heads = columns(
        *("Domain", "Human ranking", ("Median Pearson", "number"), ("Macro Pearson", "number")),
        *(("Less the best single evaluator", "number"), ("Questions", "count")),
    )
    return [places, *([Table(caption="Agreement by domain", columns=heads, rows=tuple(rows))] if rows else [])]


def _lost_section(findings: PeerFindings) -> Section:
    lost = table_with(
        "Lost ballots",
        findings.lost,
        ("Question", lambda one: one.question_id),
        ("Evaluator", lambda one: one.evaluator),
        ("Kind", lambda one: one.kind),
        ("Why", lambda one: one.message),
    )
    left_out = table_with(
        "Questions that are not counted",
        findings.left_out,
        ("Question", lambda one: one.question_id),
        ("Why", lambda one: one.reason),
    )
    return Section(title="Failures", blocks=tuple(table for table in (lost, left_out) if table.rows))


def _independence_notes(findings: PeerFindings) -> tuple[str, ...]:
    found = findings.independence
    worth, shared = figure_in_words(found.effective), figure_in_words(found.mean_error_correlation)
    notes = [f"Worth {worth} independent evaluators; mean of shared errors {shared}."]
    notes += [f"Clique: {', '.join(clique)}." for clique in found.cliques]
    notes += [f"{found.caution}."] if found.caution else []
    if findings.people is not None:
        notes.append(
            f"Against {findings.people}: one ranking is taken as the truth for every question, so differences between "
            "questions count as shared errors."
        )
    return tuple(notes)
