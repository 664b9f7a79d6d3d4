"""Tables of peer evaluation: places, agreement with people, consensus against single evaluators."""

from collections.abc import Sequence

from metajudge.peers.alignment import ReferenceAlignment
from metajudge.peers.correlation import MEASURES, Measure
from metajudge.peers.figures import Figure
from metajudge.peers.findings import SOURCE, PeerFindings, PublishedValue
from metajudge.report.document import Absent, Cell, Column, Kind, Measured, ShareChart, ShareRow, Table

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


def columns(*titles: str, kind: Kind = "text") -> tuple[Column, ...]:
    """Columns of one kind, without notes."""
    return tuple(Column(title=title, kind=kind) for title in titles)


def standings_table(findings: PeerFindings) -> Table:
    """Every model's place in the consensus, with and without its own ballots."""
    titles = ["Overall place", "Span"] if findings.include_self != "no" else []
    titles += ["SIE"] if findings.include_self != "no" else []
    titles += ["SFE"] if findings.include_self != "yes" else []
    titles += ["SIE less SFE"] if findings.include_self == "both" else []
    rows: list[tuple[Cell, ...]] = []
    for one in findings.standings:
        cells: dict[str, Cell] = {
            "Overall place": cell_of(one.overall),
            "Span": _span(one.best, one.worst, one.overall),
            "SIE": cell_of(one.sie),
            "SFE": cell_of(one.sfe),
            "SIE less SFE": cell_of(one.sie_less_sfe),
        }
        rows.append((one.model, *(cells[title] for title in titles), one.questions))
    figures = (Column(title=title, kind="text" if title == "Span" else "number") for title in titles)
    heads = (*columns("Model"), *figures, *columns("Questions", kind="count"))
    return Table(caption=f"Places by {findings.rule}", columns=heads, rows=tuple(rows), notes=PLACES)


def self_table(findings: PeerFindings) -> Table:
    """Every model's place by its own ballots and by the others'."""
    heads = (*columns("Model"), *columns("SE", "PE", "SE less PE", kind="number"))
    rows = tuple((one.model, cell_of(one.se), cell_of(one.pe), cell_of(one.se_less_pe)) for one in findings.standings)
    return Table(caption="Self and peers", columns=heads, rows=rows, notes=SELF)


def alignment_table(
    found: ReferenceAlignment, measure: Measure, published: Sequence[PublishedValue], *, rows_of_paper: bool = True
) -> Table:
    """Agreement of consensus, rules, cut ballots and single evaluators with one human ranking.

    Args:
        published: figures of the paper, for Pearson's correlation.
        rows_of_paper: as rows of the table, else in one note.
    """
    heads = (
        Column(title="Ranking"),
        Column(title="Median", kind="number", note="over questions, with a bootstrap interval"),
        *columns("Lower quartile", "Upper quartile", "IQR", kind="number"),
        Column(title="Macro", kind="number", note="of places averaged over questions"),
        Column(title="Pooled", kind="number", note="of the rule over all ballots at once"),
        Column(title="Questions", kind="count", note="with a defined correlation"),
    )
    rows: list[tuple[Cell, ...]] = []
    for row in (one for one in found.rows if one.measure == measure):
        micro = row.micro
        figures = (micro.median, micro.lower_quartile, micro.upper_quartile, micro.iqr, row.macro, row.pooled)
        name = f"{row.name} alone" if row.kind == "single" else row.name
        rows.append((name, *map(cell_of, figures), micro.n))
    published = published if measure == "pearson" else ()
    rows += [row for row in map(_published_row, published) if row is not None and rows_of_paper]
    notes = _reference_notes(found)
    if published:
        figures_of_paper = "; ".join(f"{one.name} {one.value:g}" for one in published)
        notes += (PUBLISHED_NOTE,) if rows_of_paper else (f"{PUBLISHED_NOTE} {figures_of_paper}.",)
    title = f"{MEASURE_NAMES[measure]} correlation with {found.reference}"
    return Table(caption=title, columns=heads, rows=tuple(rows), notes=notes)


def _published_row(one: PublishedValue) -> tuple[Cell, ...] | None:
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
    changes = (f"{MEASURE_NAMES[m]}, relative change of the median" for m in MEASURES)
    heads = (*columns("Ballots cut to"), *columns(*changes, kind="number"))
    by_k: dict[int, list[Cell]] = {}
    for one in found.top_k_changes:
        by_k.setdefault(one.k, []).append(cell_of(one.relative))
    rows: list[tuple[Cell, ...]] = [(f"top {k}", *cells) for k, cells in by_k.items()]
    nothing = Absent(absent="not reported in the paper")
    rows += [(f"  published: {one.name}", one.value, nothing) for one in published if one.row == "top_k"]
    return Table(caption="Effect of cutting the ballots", columns=heads, rows=tuple(rows), notes=(PUBLISHED_NOTE,))


def difference_table(found: ReferenceAlignment) -> Table:
    """The consensus less each evaluator alone."""
    measures = (f"{MEASURE_NAMES[m]}, consensus less evaluator" for m in MEASURES)
    by_name: dict[str, list[Cell]] = {}
    for one in found.differences:
        by_name.setdefault(one.evaluator, []).append(cell_of(one.median))
    return Table(
        caption="Consensus against each evaluator alone: difference of the medians",
        columns=(*columns("Evaluator alone"), *columns(*measures, kind="number")),
        rows=tuple((name, *cells) for name, cells in by_name.items()),
        notes=("On the questions where both correlations are defined; intervals from resampled questions.",),
    )


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


def cell_of(figure: Figure) -> Cell:
    """A figure as a cell of a table."""
    if figure.value is None:
        return Absent(absent=figure.absent or "unknown")
    if figure.low is None or figure.high is None:
        return figure.value
    return Measured(value=figure.value, low=figure.low, high=figure.high)


def _span(best: int | None, worst: int | None, overall: Figure) -> Cell:
    if best is None or worst is None:
        return Absent(absent=overall.absent or "unknown")
    return str(best) if best == worst else f"{best} to {worst}"


def figure_in_words(figure: Figure) -> str:
    """A figure as text."""
    if figure.value is None:
        return figure.absent or "unknown"
    interval = "" if figure.low is None else f" ({figure.low:.3f} to {figure.high:.3f})"
    return f"{figure.value:.3f}{interval}"
