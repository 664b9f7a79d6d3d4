"""The output of ``metajudge clash``: one verdict with every judge's ranking, or the standings over many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import typer

from metajudge.clashes.decided import wants_person
from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.clashes.run import ClashTotals
from metajudge.clashes.sheet import ClashSheet, CriterionSheet, VoteSheet, full_sheet, verdict_of
from metajudge.clashes.standings import Average, CandidateStanding, Standings
from metajudge.clashes.summary import by_category, self_preference
from metajudge.cli.options import advised, echo_lines
from metajudge.files.command_line import command
from metajudge.report.document import Absent, Cell, Column, Measured, Table
from metajudge.report.tables import dollars, one_line, table_to_text
from metajudge.runs.totals import in_words
from metajudge.types import Ranking

LISTED = 20
"""Evaluations for people that are listed at most."""
WORDS = 60
"""Characters of a question that a list shows."""
QUALITY = (
    "Quality: mean share of the available Borda points, 0 to 1, with a 95 % interval by prompt. Best: share of "
    "resampled prompts in which it has the highest quality. Cost and latency: means over the candidate's own answers."
)
FRONT = (
    "On the front: another is at least as good in all three and better in one in at most 5 % of resampled prompts. "
    "Dominated: another is so in nearly all; of equal candidates any is called dominated with a chance of at most 5 %."
)


@dataclass(frozen=True, slots=True)
class Written:
    """What a run wrote, and where people decide.

    Attributes:
        out, judgments: the files, where there are some.
        reviews: evaluation's id -> its review in the store.
    """

    out: Path | None = None
    judgments: Path | None = None
    reviews: Mapping[str, str] = field(default_factory=dict)


def print_clash(
    records: Sequence[ClashRecord],
    totals: ClashTotals,
    found: Standings,
    written: Written,
    *,
    cycles: Table | None = None,
) -> None:
    """Prints one verdict in full, several as standings and what they have in common; then how to continue."""
    one = records[0] if len(records) == 1 else None
    if one is not None:
        lines = [*best_answers(one), *verdict_lines(one)]
        tables = [standings_table(found), criteria_table(one)]
    else:
        lines = overview(totals)
        tables = [standings_table(found), category_table(records), cycles]
    echo_lines(lines)
    for table in tables:
        if table is not None:
            typer.echo("")
            typer.echo(table_to_text(table))
    typer.echo("")
    own = [] if one is not None else [f"{preference.sentence()}." for preference in self_preference(records)]
    echo_lines([*sentences_of(found), *own, *problems(totals)])
    sent = filter(None, [totals.webhook_sentence])
    echo_lines([*_for_people(records, written), took(totals, records), *sent, *_next(totals, written)])


def summary_json(
    records: Sequence[ClashRecord],
    totals: ClashTotals,
    cycles: Mapping[str, Any],
    found: Standings,
    reviews: Mapping[str, str],
) -> str:
    """Summary, standings, stability over cycles and verdicts as JSON; the whole records are in ``--out``."""
    data: dict[str, Any] = {
        "summary": totals.to_json(),
        "standings": [one.model_dump() for one in found.candidates],
        **({} if found.lead is None else {"lead": found.lead.to_json()}),
        **({} if found.choice is None else {"choice": {**_plain(found.choice), "sentence": found.choice.sentence()}}),
        "categories": by_category(records),
        "self_preference": [one.to_json() for one in self_preference(records)],
        **({"cycles": dict(cycles)} if cycles else {}),
        "reviews": dict(reviews),
        "evaluations": [record.model_dump(mode="json") for record in records],
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def best_answers(record: ClashRecord) -> list[str]:
    """The winning answer, or those that share the first place, before anything else."""
    sheet = full_sheet(record)
    lines = []
    for one in sheet.best:
        what = "Winning answer" if len(sheet.best) == 1 else "Shares the first place"
        text = "\n".join(f"  {shown(line)}" for line in one.text.splitlines()) or "  (empty)"
        lines += [f"{what}, by {one.name}:", text, ""]
    return lines


def shown(line: str) -> str:
    """A line of a model's text without control characters and terminal codes; tabs and spaces stay."""
    return "".join(letter if letter.isprintable() or letter == "\t" else "\N{REPLACEMENT CHARACTER}" for letter in line)


def first_words(question: str) -> str:
    """How a question begins, for lists."""
    line = one_line(question)
    return line if len(line) <= WORDS else f"{line[: WORDS - 1].rstrip()}…"


def verdict_lines(record: ClashRecord) -> list[str]:
    """A verdict with its votes; observers are listed apart."""
    lines = [headline(record)]
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


def headline(record: ClashRecord) -> str:
    """One evaluation in a line: winner, agreement, margin, triage."""
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


def ranked_by(vote: VoteSheet) -> str:
    """A judge's ranking in a cell, or why there is none."""
    own = "" if vote.own_first is None else f" (its own answer {'first' if vote.own_first else 'not first'})"
    return f"no ranking: {vote.problem}" if vote.written is None else f"{vote.written}{own}"


def standings_table(found: Standings) -> Table | None:
    """Wins, quality, cost, latency and the Pareto front, one row a candidate; None without a candidate."""
    if not found.candidates:
        return None
    return Table(
        caption="Candidates",
        columns=(
            Column(title="candidate"),
            *(Column(title=title, kind="count") for title in ("won", "tied", "judged")),
            Column(title="quality", kind="number"),
            Column(title="best", kind="percent"),
            Column(title="cost", kind="usd"),
            Column(title="latency, s", kind="number"),
            Column(title="first token, s", kind="number"),
            Column(title="Pareto"),
        ),
        rows=tuple(_row(one, found.prompts) for one in found.candidates),
        notes=(QUALITY, FRONT),
    )


def _row(one: CandidateStanding, prompts: int) -> tuple[Cell, ...]:
    quality: Cell = _mean(one.quality)
    if one.quality.mean is not None and one.share is not None:
        quality = Measured(value=one.quality.mean, low=one.share.low, high=one.share.high)
    best: Cell = Absent(absent=f"too few prompts ({prompts})") if one.best is None else one.best
    means = [_mean(value) for value in (one.cost_usd, one.latency_s, one.first_token_s)]
    return (one.name, one.wins, one.ties, one.judged, quality, best, *means, pareto_words(one))


def pareto_words(one: CandidateStanding) -> str:
    """A candidate's place on the front, with how sure it is."""
    pareto = one.pareto
    by = ", ".join(pareto.dominated_by)
    if pareto.standing == "front":
        return "on the front"
    if pareto.standing == "dominated":
        return f"dominated by {by} (in {(pareto.probability or 0):.1%} of resamples)"
    if pareto.standing == "undecided":
        perhaps = f"; perhaps dominated by {by} ({pareto.probability:.0%})" if by and pareto.probability else ""
        return f"not decided: {pareto.why}{perhaps}"
    return f"not comparable: {pareto.why}"


def sentences_of(found: Standings) -> list[str]:
    """Whether the best is ahead and what it would take to know, and the choice within limits."""
    lines = [] if found.lead is None else [f"{found.lead.sentence()}."]
    return lines + ([] if found.choice is None else [found.choice.sentence()])


def category_table(records: Sequence[ClashRecord]) -> Table | None:
    """One row a category; None where no prompt has one."""
    rows = by_category(records)
    if not rows:
        return None
    titles = ("evaluations", "with a winner", "unanimous", "ties", "for people")
    counts = (Column(title=one, kind="count") for one in titles)
    return Table(
        caption="Categories",
        columns=(Column(title="category"), *counts, Column(title="most often won by")),
        rows=tuple(
            (
                row.category or "(none)",
                *(row.evaluations, row.decided, row.unanimous, row.tied, row.escalated),
                f"{', '.join(row.best)} ({row.won})" if row.best else Absent(absent="no evaluation has a winner"),
            )
            for row in rows
        ),
    )


def _mean(value: Average) -> Cell:
    return Absent(absent=value.why or "not known") if value.mean is None else value.mean


def criteria_table(record: ClashRecord) -> Table | None:
    """Mean score of each candidate on each criterion by the judges that count."""
    sheet = full_sheet(record)
    if not sheet.scored:
        return None
    rows = tuple(
        (name, *(mean_cell(sheet, name, criterion) for criterion in sheet.criteria)) for name in sorted(record.answered)
    )
    columns = (Column(title="candidate"), *(Column(title=one.name, kind="number") for one in sheet.criteria))
    return Table(caption="Mean scores, 1 to 5, of the judges that count", columns=columns, rows=rows)


def mean_cell(sheet: ClashSheet, label: str, criterion: CriterionSheet) -> Cell:
    """Mean score of an answer on a criterion as a cell."""
    mean = sheet.mean(label, criterion.key)
    return Absent(absent="no judge scored it") if mean is None else mean


def overview(totals: ClashTotals) -> list[str]:
    """The counts of a run in a sentence."""
    return [
        f"{_count(totals.evaluations, 'evaluation')} of {_count(totals.prompts, 'prompt')}: {totals.decided} with a "
        f"winner ({totals.unanimous} unanimous), {_count(totals.tied, 'tie')}, {totals.no_verdict} without a verdict, "
        f"{totals.errors} without an answer; {totals.escalated} to escalate."
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def problems(totals: ClashTotals) -> list[str]:
    """What was hidden, and what went wrong."""
    lines = [totals.blinding.sentence()]
    lines += [f"Caution: {one.sentence()}." for one in totals.first_shown if one.reported]  # votes by the order shown
    if totals.fallbacks:
        use = "evaluation uses" if totals.fallbacks == 1 else "evaluations use"
        lines.append(f"{totals.fallbacks} {use} the generic criteria: the proposed ones were unusable.")
    if totals.failures:
        kinds = in_words(totals.failures)
        are = "evaluation is" if totals.incomplete == 1 else "evaluations are"
        lines.append(
            f"{totals.incomplete} {are} incomplete ({kinds}). Run the same command again to retry the failed calls."
        )
    if totals.bad_lines:
        are = "line is not a valid prompt and was" if totals.bad_lines == 1 else "lines are not valid prompts and were"
        lines.append(f"{totals.bad_lines} {are} skipped.")
    return lines


def _for_people(records: Sequence[ClashRecord], written: Written) -> list[str]:
    """The evaluations that people have to decide, each with the command that opens it."""
    wanted = [record for record in records if wants_person(record)]
    if not wanted:
        return []
    lines = [f"For people to decide: {_count(len(wanted), 'evaluation')}."]
    for record in wanted[:LISTED] if len(records) > 1 else wanted:
        review = written.reviews.get(record.id)
        opens = f"  {advised('review', 'show', review)}" if review else ""
        why = f" ({record.tally.why})" if record.tally is not None and record.winner is not None else ""
        lines.append(f"  {record.id}: {verdict_of(record)}{why}  {first_words(record.question)!r}{opens}")
    if len(wanted) > LISTED and len(records) > 1:
        lines.append(f"  {len(wanted) - LISTED} more: {advised('review', 'list', '--status', 'open')}")
    apart = sum(record.id not in written.reviews for record in wanted)
    if apart:
        lines.append(
            f"{apart} of them {'is' if apart == 1 else 'are'} not in the review queue: the same command with --review "
            "puts them there, also those of earlier runs and those with a failed call."
        )
    if written.reviews:
        lines.append(f"Decide them: {advised('review', 'next', '--reviewer', 'NAME')}")
        lines.append(f"Then compare: {advised('clash', '--compare-people')}")
    return lines


def took(totals: ClashTotals, records: Sequence[ClashRecord]) -> str:
    """Calls, dollars and seconds; where a cost is not known, whose, and how to state it."""
    earlier = f" ({_count(totals.reused, 'evaluation')} from an earlier run)" if totals.reused else ""
    calls = f"{_count(totals.calls, 'call')}{earlier}"
    if totals.cost_usd is not None:
        return f"{calls}, {dollars(totals.cost_usd)}, {totals.total_s:.1f} s."
    known = "an unknown cost" if totals.known_cost_usd == 0 else f"{dollars(totals.known_cost_usd)} and an unknown part"
    whose = ", ".join(unpriced(records))
    of = f" of {whose}" if whose else ""
    return (
        f"{calls}, {known}, {totals.total_s:.1f} s. The price or the token usage{of} is not known: state "
        "price = { input = USD, output = USD } per million tokens, for a candidate under [[candidates]] in "
        "--candidates FILE, for a judge under [[agents]] and for the model of the criteria under [criteria] in "
        "--config FILE."
    )


def unpriced(records: Iterable[ClashRecord]) -> list[str]:
    """Candidates, judges and the model of the criteria with a reply whose cost is not known, each once."""
    found: dict[str, None] = {}
    for record in records:
        for one in record.candidates:
            if one.source == "generated" and one.failure is None and one.cost_usd is None:
                found[f"candidate {one.name}"] = None
        for vote in record.votes:
            if vote.failure is None and vote.cost_usd is None:
                found[vote.judge] = None
        if record.criteria is not None and record.criteria.cost_usd is None:
            found[f"the model of the criteria, {record.criteria.model}"] = None
    return list(found)


def _next(totals: ClashTotals, written: Written) -> list[str]:
    lines = []
    if totals.end.next_step is not None:
        lines.append(totals.end.next_step)
    if written.out is not None:
        lines.append(f"Records: {written.out}")
    if written.judgments is not None:
        what = f"{totals.judgments_written} {'ranking' if totals.judgments_written == 1 else 'rankings'}"
        lines.append(f"{what}: {command('vet', str(written.judgments), '--agent', 'PROVIDER:MODEL')}")
    return lines


def _plain(found: Any) -> dict[str, Any]:
    """A dataclass with slots as a dict, one level deep; orjson writes the rest."""
    return {name: getattr(found, name) for name in found.__dataclass_fields__}
