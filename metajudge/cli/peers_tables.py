"""Tables of peer evaluation: places, agreement with people, consensus against single evaluators."""

from collections.abc import Callable, Iterable, Sequence

from metajudge.peers.alignment import ReferenceAlignment
from metajudge.peers.figures import MEASURES, Figure, Measure
from metajudge.peers.findings import SOURCE, PeerFindings, PublishedValue
from metajudge.peers.standing import ModelStanding
from metajudge.report.document import Absent, Cell, ShareChart, ShareRow, Table
from metajudge.report.tables import Head, Row, cell_of, columns, table_with

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
