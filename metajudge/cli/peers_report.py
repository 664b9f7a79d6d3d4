"""The findings of peer evaluation: their tables, and the report made of them."""

from collections.abc import Callable, Iterable, Sequence

from metajudge.judging.ranking_replies import written as order_text
from metajudge.peers.alignment import ReferenceAlignment
from metajudge.peers.figures import MEASURES, Figure, Measure
from metajudge.peers.findings import SOURCE, DomainFindings, PeerFindings, PublishedValue
from metajudge.peers.influence import Influence, LeaveOut, WorstBallots
from metajudge.peers.standing import EvaluatorPair, ModelStanding
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
    ShareChart,
    ShareRow,
    Table,
)
from metajudge.report.tables import Head, Row, cell_of, columns, table_with
from metajudge.runs.totals import in_words

MEASURE_NAMES: dict[Measure, str] = {"pearson": "Pearson", "kendall": "Kendall tau-b"}
PLACES = (
    "Places count from 1 (best). SIE: in the consensus of all ballots of a question, averaged over questions. SFE: the "
    "same without the model's own ballots. Span: over all equally good overall orders.",
    "Intervals come from resampled questions.",
)
SELF = ("SE: the place a model gives itself. PE: the place the others give it. Below 0: it puts itself higher.",)
PUBLISHED_NOTE = (
    f"Published values: {SOURCE}. Reference values from other models and questions, neither a target nor a test."
)


def standings_table(findings: PeerFindings) -> Table:
    """Every model's place in the consensus, with and without its own ballots."""
    counted = findings.include_self
    shown: list[tuple[Head, Callable[[ModelStanding], Cell]]] = [("Model", lambda one: one.model)]
    if counted != "no":
        shown += [
            (("Overall place", "number"), lambda one: peer_cell(one.overall)),
            ("Span", _span),
            (("SIE", "number"), lambda one: peer_cell(one.sie)),
        ]
    if counted != "yes":
        shown.append((("SFE", "number"), lambda one: peer_cell(one.sfe)))
    if counted == "both":
        shown.append((("SIE less SFE", "number"), lambda one: peer_cell(one.sie_less_sfe)))
    shown.append((("Questions", "count"), lambda one: one.questions))
    return table_with(f"Places by {findings.rule}", findings.standings, *shown, notes=PLACES)


def self_table(findings: PeerFindings) -> Table:
    """Every model's place by its own ballots and by the others'."""
    return table_with(
        "Self and peers",
        findings.standings,
        ("Model", lambda one: one.model),
        (("SE", "number"), lambda one: peer_cell(one.se)),
        (("PE", "number"), lambda one: peer_cell(one.pe)),
        (("SE less PE", "number"), lambda one: peer_cell(one.se_less_pe)),
        notes=SELF,
    )


def alignment_table(
    found: ReferenceAlignment, measure: Measure, published: Sequence[PublishedValue], *, rows_of_paper: bool = True
) -> Table:
    """Agreement of consensus, rules, cut ballots and single evaluators with one human ranking.

    Args:
        published: figures of the paper, for Pearson's correlation.
        rows_of_paper: as rows of the table, else in one note.
    """
    heads = columns(
        "Ranking",
        ("Median", "number", "over questions, with a bootstrap interval"),
        *(("Lower quartile", "number"), ("Upper quartile", "number"), ("IQR", "number")),
        ("Macro", "number", "of places averaged over questions"),
        ("Pooled", "number", "of the rule over all ballots at once"),
        ("Questions", "count", "with a defined correlation"),
    )
    rows: list[Row] = []
    for row in (one for one in found.rows if one.measure == measure):
        micro = row.micro
        figures = (micro.median, micro.lower_quartile, micro.upper_quartile, micro.iqr, row.macro, row.pooled)
        rows.append((row.shown_name, *map(peer_cell, figures), micro.n))
    published = published if measure == "pearson" else ()
    rows += [row for row in map(_published_row, published) if row is not None and rows_of_paper]
    notes = _reference_notes(found)
    if published:
        figures_of_paper = "; ".join(f"{one.name} {one.value:g}" for one in published)
        notes += (PUBLISHED_NOTE,) if rows_of_paper else (f"{PUBLISHED_NOTE} {figures_of_paper}.",)
    title = f"{MEASURE_NAMES[measure]} correlation with {found.reference}"
    return Table(caption=title, columns=heads, rows=tuple(rows), notes=notes)


def _published_row(one: PublishedValue) -> Row | None:
    nothing = Absent(absent="not reported in the paper")
    if one.figure == "micro median Pearson":
        return (f"  published: {one.name}", one.value, *[nothing] * 6)
    if one.figure == "macro Pearson":
        return (f"  published: {one.name}", *[nothing] * 4, one.value, *[nothing] * 2)
    return None


def _reference_notes(found: ReferenceAlignment) -> tuple[str, ...]:
    notes = []
    if found.missing:
        notes.append(f"Not in the human ranking, removed from the ballots first: {', '.join(found.missing)}.")
    if found.unknown:
        notes.append(f"In the human ranking but not in this run: {', '.join(found.unknown)}.")
    if found.ties:
        notes.append(f"Tied in the human ranking: {'; '.join(' = '.join(group) for group in found.ties)}.")
    return tuple(notes)


def top_k_table(found: ReferenceAlignment, published: Sequence[PublishedValue]) -> Table:
    """Effect of cutting the ballots, with the published figure."""
    rows = _by_measure((f"top {one.k}", one.relative) for one in found.top_k_changes)
    nothing = Absent(absent="not reported in the paper")
    rows += [(f"  published: {one.name}", one.value, nothing) for one in published if one.row == "top_k"]
    changes: list[Head] = [(f"{MEASURE_NAMES[m]}, relative change of the median", "number") for m in MEASURES]
    heads = columns("Ballots cut to", *changes)
    return Table(caption="Effect of cutting the ballots", columns=heads, rows=tuple(rows), notes=(PUBLISHED_NOTE,))


def difference_table(found: ReferenceAlignment) -> Table:
    """The consensus less each evaluator alone."""
    return Table(
        caption="Consensus against each evaluator alone: difference of the medians",
        columns=columns(
            "Evaluator alone", *((f"{MEASURE_NAMES[m]}, consensus less evaluator", "number") for m in MEASURES)
        ),
        rows=tuple(_by_measure((one.evaluator, one.median) for one in found.differences)),
        notes=("On the questions where both correlations are defined; intervals from resampled questions.",),
    )


def _by_measure(figures: Iterable[tuple[str, Figure]]) -> list[Row]:
    """A row for each name, with its figures by all measures in order."""
    found: dict[str, list[Cell]] = {}
    for name, figure in figures:
        found.setdefault(name, []).append(peer_cell(figure))
    return [(name, *cells) for name, cells in found.items()]


def difference_chart(found: ReferenceAlignment) -> ShareChart:
    """Number of questions on which the consensus agrees more, as much, or less with people."""
    rows = [
        ShareRow(name=one.evaluator, counts=(one.better, one.equal, one.worse))
        for one in found.differences
        if one.measure == "kendall" and one.better + one.equal + one.worse
    ]
    return ShareChart(
        title="Questions on which the consensus agrees more with people than the evaluator alone (Kendall tau-b)",
        description="For every evaluator the questions on which the consensus agrees more, as much, or less.",
        parts=("more", "as much", "less"),
        rows=tuple(rows) or (ShareRow(name="no question", counts=(0, 0, 0)),),
    )


def peer_cell(figure: Figure) -> Cell:
    """A figure as a cell of a table."""
    return cell_of(figure, figure.absent)


def _span(one: ModelStanding) -> Cell:
    if one.best is None or one.worst is None:
        return Absent(absent=one.overall.absent or "unknown")
    return str(one.best) if one.best == one.worst else f"{one.best} to {one.worst}"


def figure_in_words(figure: Figure) -> str:
    """A figure as text."""
    if figure.value is None:
        return figure.absent or "unknown"
    interval = "" if figure.low is None else f" ({figure.low:.3f} to {figure.high:.3f})"
    return f"{figure.value:.3f}{interval}"


SERIES = {"both": ("SIE", "SFE"), "yes": ("SIE",), "no": ("SFE",)}


def places_chart(findings: PeerFindings) -> IntervalChart:
    """Every model's mean place with its interval, the best model first."""
    names = SERIES[findings.include_self]

    def place(one: ModelStanding) -> float:
        value = (one.sfe if names == ("SFE",) else one.sie).value
        return float("inf") if value is None else value

    rows = []
    for one in sorted(findings.standings, key=place):
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

    def cells(one: LeaveOut) -> Row:
        if one.absent is not None:
            return (Absent(absent=one.absent),) * 4
        moved = "; ".join(f"{m.model} {m.before:.2f} to {m.after:.2f}" for m in one.moved) or "none"
        changed = f"{one.questions_changed} of {one.questions}"
        return order_text(one.order), moved, "changes" if one.winner_changes else "stays", changed

    heads = columns("Without", "Order", "Places that change", "First place", "Questions with another first place")
    rows = tuple((", ".join(one.without), *cells(one)) for one in found.left_out)
    left_out = Table(caption="Evaluators left out", columns=heads, rows=rows)
    blocks = (left_out, *((worst_table(found),) if found.worst else ()))
    paragraphs = [
        "Left out: the consensus of the other evaluators' ballots. Order by mean place over questions, with everybody: "
        f"{order_text(found.order)}."
    ]
    if found.worst_absent is not None:
        paragraphs.append(f"The worst ballots were not looked for: {found.worst_absent}.")
    return Section(title="Influence of evaluators", paragraphs=tuple(paragraphs), blocks=blocks)


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


def _mark(series: int, figure: Figure) -> IntervalMark | None:
    if figure.value is None:
        return None
    low, high = figure.interval
    return IntervalMark(series=series, value=Measured(value=figure.value, low=low, high=high))


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
