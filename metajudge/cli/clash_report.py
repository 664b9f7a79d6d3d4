"""The output of ``metajudge clash``: one verdict with every judge's ranking, or the standings over many."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import typer

from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.clashes.run import ClashTotals
from metajudge.clashes.standings import Average, CandidateStanding, standings
from metajudge.judging.blinding_report import HiddenName, LeftName
from metajudge.report import Absent, Cell, Column, Report, ScatterChart, ScatterPoint, Section, Table
from metajudge.report.text import table_to_text
from metajudge.types import Ranking

PARETO = {"front": "on the front", "dominated": "dominated", "not_comparable": "not comparable"}
MOST_NAMES = 500
"""Maximum number of names that a report lists."""
QUALITY = (
    "Quality: mean share of the available Borda points, 0 to 1. Cost and latency: means over the candidate's own "
    "answers. On the front: no other candidate is at least as good in all three and better in one."
)


def print_clash(
    records: Sequence[ClashRecord],
    totals: ClashTotals,
    *,
    out: Path | None,
    judgments: Path | None,
    cycles: Table | None = None,
) -> None:
    """Prints one verdict in full, several as standings and their stability over cycles; then how to continue."""
    if len(records) == 1:
        for line in verdict_lines(records[0]):
            typer.echo(line)
    else:
        for line in _overview(totals):
            typer.echo(line)
    for block in (standings_table(records), *([_criteria_table(records[0])] if len(records) == 1 else []), cycles):
        if block is not None:
            typer.echo("")
            typer.echo(table_to_text(block))
    typer.echo("")
    for line in (*_problems(totals), _took(totals), *_next(totals, out, judgments)):
        typer.echo(line)


def summary_json(records: Sequence[ClashRecord], totals: ClashTotals, cycles: Mapping[str, Any]) -> str:
    """Summary, standings, stability over cycles and verdicts as JSON; the whole records are in ``--out``."""
    data = {
        "summary": totals.to_json(),
        "standings": standings(records),
        **({"cycles": dict(cycles)} if cycles else {}),
        "evaluations": [record.model_dump(mode="json") for record in records],
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def verdict_lines(record: ClashRecord) -> list[str]:
    """A verdict with its votes; observers are listed apart."""
    lines = [_headline(record)]
    counted = [vote for vote in record.votes if vote.role != "observer"]
    watching = [vote for vote in record.votes if vote.role == "observer"]
    lines += [f"  {_vote(vote)}" for vote in counted]
    if watching:
        lines += ["Observers (not counted):", *(f"  {_vote(vote)}" for vote in watching)]
    if record.criteria is not None:
        names = ", ".join(f"{one.name} {one.weight:.0%}" for one in record.criteria.criteria)
        why = f" ({record.criteria.why.message})" if record.criteria.why is not None else ""
        lines.append(f"Criteria, {record.criteria.source}: {names}{why}")
    lines += [f"{one.name}: no answer, {one.failure.message}" for one in record.candidates if one.failure is not None]
    return lines


def _headline(record: ClashRecord) -> str:
    tally = record.tally
    if tally is None or record.status in ("no_verdict", "error"):
        return f"{record.id}: no verdict, {record.why}"
    what = f"winner {record.winner}" if record.winner is not None else f"tie between {', '.join(record.tied)}"
    margin = "" if tally.margin is None else f", margin {tally.margin:.2f}"
    several = (tally.voters if tally.independent is None else tally.independent) > 1
    agreement = f", {tally.agreement:.0%} of the panel" if several and tally.agreement is not None else ""
    triage = "accept (unanimous)" if tally.triage == "accept" else f"escalate ({tally.why})"
    return f"{record.id}: {what}{agreement}{margin}; {triage}"


def _vote(vote: JudgeVote) -> str:
    weight = "" if vote.weight in (None, 1.0) else f" (weight {vote.weight:g})"
    own = ""
    if vote.own_first is not None:
        own = ", its own answer first" if vote.own_first else ", its own answer not first"
    ranking = (
        str(vote.ranking)
        if isinstance(vote.ranking, Ranking)
        else f"no ranking: {vote.failure and vote.failure.message}"
    )
    return f"{vote.judge}{weight}: {ranking}{own}"


def standings_table(records: Sequence[ClashRecord]) -> Table | None:
    """Wins, quality, cost, latency and the Pareto front, one row a candidate; None without a candidate."""
    found = standings(records)
    if not found:
        return None
    return Table(
        caption="Candidates",
        columns=(
            Column(title="candidate"),
            Column(title="won", kind="count"),
            Column(title="tied", kind="count"),
            Column(title="judged", kind="count"),
            Column(title="quality", kind="number"),
            Column(title="cost", kind="usd"),
            Column(title="latency, s", kind="number"),
            Column(title="first token, s", kind="number"),
            Column(title="Pareto"),
        ),
        rows=tuple(_row(one) for one in found),
        notes=(QUALITY,),
    )


def _row(one: CandidateStanding) -> tuple[Cell, ...]:
    pareto: Cell = PARETO[one.pareto.standing]
    if one.pareto.dominated_by:
        pareto = f"dominated by {', '.join(one.pareto.dominated_by)}"
    if one.pareto.why is not None:
        pareto = f"not comparable: {one.pareto.why}"
    means = [_mean(value) for value in (one.quality, one.cost_usd, one.latency_s, one.first_token_s)]
    return (one.name, one.wins, one.ties, one.judged, *means, pareto)


def _mean(value: Average) -> Cell:
    return Absent(absent=value.why or "not known") if value.mean is None else value.mean


def _criteria_table(record: ClashRecord) -> Table | None:
    """Mean score of each candidate on each criterion by the judges that count."""
    counted = [vote for vote in record.votes if vote.role != "observer" and vote.scores]
    if record.criteria is None or not counted:
        return None
    rows = []
    for name in sorted(record.answered):
        cells: list[Cell] = [name]
        for criterion in record.criteria.criteria:
            given = [vote.scores[name][criterion.key].score for vote in counted if name in vote.scores]
            cells.append(sum(given) / len(given) if given else Absent(absent="no judge scored it"))
        rows.append(tuple(cells))
    columns = (Column(title="candidate"), *(Column(title=one.name, kind="number") for one in record.criteria.criteria))
    return Table(caption="Mean scores, 1 to 5, of the judges that count", columns=columns, rows=tuple(rows))


def _overview(totals: ClashTotals) -> list[str]:
    return [
        f"{totals.evaluations} evaluations of {totals.prompts} prompts: {totals.decided} with a winner "
        f"({totals.unanimous} unanimous), {totals.tied} ties, {totals.no_verdict} without a verdict, "
        f"{totals.errors} without an answer; {totals.escalated} to escalate."
    ]


def _problems(totals: ClashTotals) -> list[str]:
    lines = [totals.blinding.sentence(), *_position(totals)]
    if totals.fallbacks:
        lines.append(f"{totals.fallbacks} evaluations use the generic criteria: the proposed ones were unusable.")
    if totals.failures:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(totals.failures.items()))
        lines.append(
            f"{totals.incomplete} evaluations are incomplete ({kinds}). "
            "Run the same command again to retry the failed calls."
        )
    if totals.bad_lines:
        lines.append(f"{totals.bad_lines} lines are not valid prompts and were skipped.")
    return lines


def _position(totals: ClashTotals) -> list[str]:
    """Judges whose votes follow the order shown."""
    return [f"Caution: {one.sentence()}." for one in totals.first_shown if one.reported]


def _took(totals: ClashTotals) -> str:
    cost = f"${totals.known_cost_usd:.4f}"
    if totals.cost_usd is None:
        cost = f"at least {cost}, a price or the usage is unknown"
    earlier = f" ({totals.reused} evaluations from an earlier run)" if totals.reused else ""
    return f"{totals.calls} calls{earlier}, {cost}, {totals.total_s:.1f} s."


def _next(totals: ClashTotals, out: Path | None, judgments: Path | None) -> list[str]:
    lines = []
    if totals.end.next_step is not None:
        lines.append(totals.end.next_step)
    if out is not None:
        lines.append(f"Records: {out}")
    if judgments is not None:
        lines.append(f"{totals.judgments_written} rankings: metajudge vet {judgments} --agent PROVIDER:MODEL")
    return lines


def report_of(records: Sequence[ClashRecord], totals: ClashTotals) -> Report:
    """The standings with their plot, and every verdict."""
    found = standings(records)
    blocks = [block for block in (standings_table(records), *_scatters(found)) if block is not None]
    verdicts = tuple(verdict_lines(record)[0] for record in records[:200])
    sections = [Section(title="Quality, cost and latency", blocks=tuple(blocks))]
    sections.append(Section(title="Verdicts", paragraphs=verdicts or ("None.",)))
    sections += [_blinding_section(records, totals), _position_section(totals)]
    first = records[0] if records else None
    return Report(
        title="Clash",
        summary=(*_overview(totals), *_problems(totals)),
        sections=tuple(sections),
        provenance={
            "seed": "" if first is None else str(first.seed),
            "panel": "" if first is None else ", ".join(first.panel),
            "metajudge": "" if first is None else first.metajudge_version,
            "run": totals.run_id or "",
        },
    )


def _blinding_section(records: Sequence[ClashRecord], totals: ClashTotals) -> Section:
    """Names hidden in each answer, and names that were left in."""
    columns = tuple(Column(title=title) for title in ("evaluation", "answer", "place", "text", "what"))
    rows: list[tuple[Cell, ...]] = []
    for record in records:
        report = record.blinding
        if report is not None:
            whats = [*(f"hidden: {one.kind}" for one in report.hidden), *(f"left: {one.why}" for one in report.left)]
            names: list[HiddenName | LeftName] = [*report.hidden, *report.left]
            rows += [
                (record.id, one.candidate, f"{one.start} to {one.end}", one.text, what)
                for one, what in zip(names, whats, strict=True)
            ]
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
        points = []
        for one in found:
            x = one.cost_usd.mean if axis == "cost" else one.latency_s.mean
            if x is not None and one.quality.mean is not None:
                points.append(
                    ScatterPoint(name=one.name, x=x, y=one.quality.mean, marked=one.pareto.standing == "front")
                )
        left_out = len(found) - len(points)
        omitted = f" Left out, as their {axis} is unknown: {left_out}." if left_out else ""
        if points:
            charts.append(
                ScatterChart(
                    title=f"Quality against {axis}",
                    description=f"Discs: on the Pareto front of quality, cost and latency; crosses: not.{omitted}",
                    x_title=of,
                    y_title="quality",
                    points=tuple(points),
                )
            )
    return charts
