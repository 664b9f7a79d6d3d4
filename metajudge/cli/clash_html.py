"""The report of ``metajudge clash``: standings and plots, then every evaluation with all it has to show."""

from collections.abc import Sequence

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import ClashTotals
from metajudge.clashes.sheet import ClashSheet, VoteSheet, full_sheet
from metajudge.clashes.standings import CandidateStanding, Standings
from metajudge.clashes.summary import self_preference
from metajudge.cli.clash_report import (
    category_table,
    first_words,
    mean_cell,
    overview,
    problems,
    ranked_by,
    sentences_of,
    standings_table,
)
from metajudge.judging.blinding_report import HiddenName, LeftName
from metajudge.report.document import (
    Absent,
    Cell,
    Column,
    Fold,
    Passage,
    Report,
    ScatterChart,
    ScatterPoint,
    Section,
    Table,
)

MOST_NAMES = 500
"""Names that a report lists at most."""
MOST_SHOWN = 200
"""Evaluations that a report shows at most."""


def report_of(records: Sequence[ClashRecord], totals: ClashTotals, found: Standings) -> Report:
    """The standings with their plot, and every evaluation."""
    blocks = [block for block in (standings_table(found), *_scatters(found.candidates)) if block is not None]
    lines = tuple(sentences_of(found))
    sections = [Section(title="Quality, cost and latency", paragraphs=lines, blocks=tuple(blocks))]
    categories = category_table(records)
    if categories is not None:
        sections.append(Section(title="Categories", blocks=(categories,)))
    own = tuple(f"{one.sentence()}." for one in self_preference(records))
    if own:
        sections.append(Section(title="Judges on their own answers", paragraphs=own))
    sections.append(_evaluations(records))
    sections += [_blinding_section(records, totals), _position_section(totals)]
    first = records[0] if records else None
    return Report(
        title="Clash",
        summary=(*overview(totals), *problems(totals)),
        sections=tuple(sections),
        provenance={
            "seed": "" if first is None else str(first.seed),
            "panel": "" if first is None else ", ".join(first.panel),
            "metajudge": "" if first is None else first.metajudge_version,
            "run": totals.run_id or "",
        },
    )


def _evaluations(records: Sequence[ClashRecord]) -> Section:
    """Every evaluation, the divided ones first; a single one stands open."""
    ordered = sorted(records, key=lambda record: record.tally is not None and record.tally.triage == "accept")
    folds = tuple(evaluation_fold(full_sheet(record), opened=len(records) == 1) for record in ordered[:MOST_SHOWN])
    more = len(ordered) - MOST_SHOWN
    said = (f"{more} more are in the records.",) if more > 0 else ()
    intro = ("Those for people to decide come first; open one for its answers, rankings and reasons.",)
    return Section(
        title="Verdicts", paragraphs=(*intro, *said) if folds else ("No evaluation was made.",), blocks=folds
    )


def evaluation_fold(sheet: ClashSheet, *, opened: bool = False) -> Fold:
    """One evaluation: question, answers, criteria, rankings, reasons, votes and observers."""
    blocks: list[Passage | Table] = [Passage(title="Question", text=sheet.question)]
    if sheet.reference:
        blocks.append(Passage(title="Reference answer", text=sheet.reference))
    for one in sheet.answers:
        title = f"Answer of {one.name}{' (best)' if one.best else ''}{', truncated' if one.cut else ''}"
        blocks.append(Passage(title=title, text=one.text or "(empty)"))
    blocks += [table for table in (_scores(sheet), _votes("Rankings", sheet.votes)) if table is not None]
    blocks += _reasons(sheet.votes)
    observers = _votes("Observers, not counted", sheet.observers)
    blocks += [] if observers is None else [observers, *_reasons(sheet.observers)]
    facts = tuple(f"{name}: {value}." for name, value in sheet.facts)
    missing = tuple(f"{name}: no answer, {why}." for name, why in sheet.missing)
    return Fold(
        title=f"{sheet.id}: {sheet.verdict} ({sheet.triage}). {first_words(sheet.question)}",
        paragraphs=(*facts, *missing, *sheet.notices),
        blocks=tuple(blocks),
        open=opened,
    )


def _scores(sheet: ClashSheet) -> Table | None:
    """Mean scores by criterion of the judges that count."""
    if not sheet.scored:
        return None
    rows = []
    for criterion in sheet.criteria:
        cells = [mean_cell(sheet, one.label, criterion) for one in sheet.answers]
        asks = f": {criterion.asks}" if criterion.asks else ""
        rows.append((f"{criterion.name} ({criterion.weight:.0%}){asks}", *cells))
    return Table(
        caption=f"Criteria, {sheet.criteria_source}; mean scores of 1 to 5",
        columns=(Column(title="criterion"), *(Column(title=one.name, kind="number") for one in sheet.answers)),
        rows=tuple(rows),
    )


def _votes(caption: str, votes: Sequence[VoteSheet]) -> Table | None:
    if not votes:
        return None
    rows = tuple(
        (vote.judge, ranked_by(vote), Absent(absent="observers have no weight") if vote.weight is None else vote.weight)
        for vote in votes
    )
    columns = (Column(title="judge"), Column(title="ranking, best first"), Column(title="weight", kind="number"))
    return Table(caption=caption, columns=columns, rows=rows)


def _reasons(votes: Sequence[VoteSheet]) -> list[Passage]:
    """What each judge wrote: its comparison, then its scores with their reasons."""
    found = []
    for vote in votes:
        lines = [vote.comparison] if vote.comparison else []
        lines += [
            f"{one.label}, {one.criterion}: {one.score}{f' ({one.reason})' if one.reason else ''}"
            for one in vote.scores
        ]
        if lines:
            found.append(Passage(title=f"Reasons of {vote.judge}", text="\n".join(lines)))
    return found


def _blinding_section(records: Sequence[ClashRecord], totals: ClashTotals) -> Section:
    """Names hidden in each answer, and names that were left in."""
    columns = tuple(Column(title=title) for title in ("evaluation", "answer", "place", "text", "what"))
    rows: list[tuple[Cell, ...]] = []
    for record in records:
        report = record.blinding
        if report is not None:
            names: list[HiddenName | LeftName] = [*report.hidden, *report.left]
            for one in names:
                what = f"hidden: {one.kind}" if isinstance(one, HiddenName) else f"left: {one.why}"
                rows.append((record.id, one.candidate, f"{one.start} to {one.end}", one.text, what))
    more = (f"{len(rows) - MOST_NAMES} more are in the records.",) if len(rows) > MOST_NAMES else ()
    table = Table(caption="Names in the answers", columns=columns, rows=tuple(rows[:MOST_NAMES]), notes=more)
    return Section(
        title="Blinding", paragraphs=(totals.blinding.sentence() or "None.",), blocks=(table,) if rows else ()
    )


def _position_section(totals: ClashTotals) -> Section:
    """Each judge's position bias: how often it ranks the answer shown first as the best."""
    sentences = tuple(f"{one.sentence()}." for one in totals.first_shown)
    return Section(title="Order shown", paragraphs=sentences or ("No judge gave a ranking with one best answer.",))


def _scatters(found: Sequence[CandidateStanding]) -> list[ScatterChart]:
    charts = []
    for axis, of in (("cost", "mean cost of an answer, $"), ("latency", "mean latency of an answer, s")):
        points = [
            ScatterPoint(name=one.name, x=x, y=one.quality.mean, marked=one.pareto.standing == "front")
            for one in found
            if (x := (one.cost_usd if axis == "cost" else one.latency_s).mean) is not None
            and one.quality.mean is not None
        ]
        left_out = len(found) - len(points)
        omitted = f" Left out, as their {axis} is unknown: {left_out}." if left_out else ""
        if points:
            charts.append(
                ScatterChart(
                    title=f"Quality against {axis}",
                    description=f"Discs: on the Pareto front of quality, cost and latency; crosses: not, or not "
                    f"decided by the prompts.{omitted}",
                    x_title=of,
                    y_title="quality",
                    points=tuple(points),
                )
            )
    return charts
