"""The output of ``metajudge clash``: one verdict with every judge's ranking, or the standings over many; its report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer

from metajudge.clashes.concordance import by_category, self_preference
from metajudge.clashes.record import ClashRecord, JudgeVote, wants_person
from metajudge.clashes.run import ClashTotals
from metajudge.clashes.sheet import ClashSheet, VoteSheet, full_sheet, triage_of, verdict_of
from metajudge.clashes.standings import Average, CandidateStanding, Standings
from metajudge.cli.options import advised, counted, echo_lines
from metajudge.files.command_line import command
from metajudge.judging.blinding import HiddenName, LeftName
from metajudge.judging.criteria import Criterion
from metajudge.report.document import (
    Absent,
    Cell,
    Fold,
    Measured,
    Passage,
    Report,
    ScatterChart,
    ScatterPoint,
    Section,
    Table,
)
from metajudge.report.tables import Head, Row, columns, dollars, one_line, table_to_text, table_with
from metajudge.runs.totals import in_words
from metajudge.stats.interval_estimate import Estimate

MOST_NAMES = 500
"""Names that a report lists at most."""
MOST_SHOWN = 200
"""Evaluations that a report shows at most."""
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


def best_answers(record: ClashRecord) -> list[str]:
    """The winning answer, or those that share the first place, before anything else."""
    sheet = full_sheet(record)
    lines = []
    for one in sheet.best:
        what = "Winning answer" if len(sheet.best) == 1 else "Shares the first place"
        text = "\n".join(f"  {shown(line)}" for line in (one.given.text or "").splitlines()) or "  (empty)"
        lines += [f"{what}, by {one.given.name}:", text, ""]
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
    lines += [f"  {_vote(vote)}" for vote in record.votes if vote.counted]
    watching = [f"  {_vote(vote)}" for vote in record.votes if not vote.counted]
    lines += ["Observers (not counted):", *watching] if watching else []
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
    ranking = f"no ranking: {vote.failure and vote.failure.message}" if vote.groups is None else str(vote.ranking)
    return f"{vote.judge}{weight}: {ranking}{f', {own}' if (own := _own(vote)) else ''}"


def _own(vote: JudgeVote) -> str:
    return "" if vote.own_first is None else f"its own answer {'first' if vote.own_first else 'not first'}"


def ranked_by(one: VoteSheet) -> str:
    """A judge's ranking in a cell, or why there is none."""
    own = _own(one.vote)
    return f"no ranking: {one.problem}" if one.written is None else f"{one.written}{f' ({own})' if own else ''}"


def standings_table(found: Standings) -> Table | None:
    """Wins, quality, cost, latency and the Pareto front, one row a candidate; None without a candidate."""
    if not found.candidates:
        return None
    few = Absent(absent=f"too few prompts ({found.prompts})")
    return table_with(
        "Candidates",
        found.candidates,
        ("candidate", lambda one: one.name),
        (("won", "count"), lambda one: one.wins),
        (("tied", "count"), lambda one: one.ties),
        (("judged", "count"), lambda one: one.judged),
        (("quality", "number"), lambda one: _mean(one.quality, one.share)),
        (("best", "percent"), lambda one: few if one.best is None else one.best),
        (("cost", "usd"), lambda one: _mean(one.cost_usd)),
        (("latency, s", "number"), lambda one: _mean(one.latency_s)),
        (("first token, s", "number"), lambda one: _mean(one.first_token_s)),
        ("Pareto", pareto_words),
        notes=(QUALITY, FRONT),
    )


def _mean(value: Average, share: Estimate | None = None) -> Cell:
    if value.mean is None:
        return Absent(absent=value.why or "not known")
    return value.mean if share is None else Measured(value=value.mean, low=share.low, high=share.high)


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
    none = Absent(absent="no evaluation has a winner")
    return table_with(
        "Categories",
        rows,
        ("category", lambda row: row.category or "(none)"),
        (("evaluations", "count"), lambda row: row.evaluations),
        (("with a winner", "count"), lambda row: row.decided),
        (("unanimous", "count"), lambda row: row.unanimous),
        (("ties", "count"), lambda row: row.tied),
        (("for people", "count"), lambda row: row.escalated),
        ("most often won by", lambda row: f"{', '.join(row.best)} ({row.won})" if row.best else none),
    )


def criteria_table(record: ClashRecord) -> Table | None:
    """Mean score of each candidate on each criterion by the judges that count."""
    sheet = full_sheet(record)
    if not sheet.scored:
        return None
    rows: list[Row] = [
        (name, *(mean_cell(sheet, name, one) for one in sheet.criteria)) for name in sorted(record.answered)
    ]
    heads: list[Head] = ["candidate", *((one.name, "number") for one in sheet.criteria)]
    caption = "Mean scores, 1 to 5, of the judges that count"
    return Table(caption=caption, columns=columns(*heads), rows=tuple(rows))


def mean_cell(sheet: ClashSheet, label: str, criterion: Criterion) -> Cell:
    """Mean score of an answer on a criterion as a cell."""
    mean = sheet.mean(label, criterion.key)
    return Absent(absent="no judge scored it") if mean is None else mean


def overview(totals: ClashTotals) -> list[str]:
    """The counts of a run in a sentence."""
    return [
        f"{counted(totals.evaluations, 'evaluation')} of {counted(totals.prompts, 'prompt')}: {totals.decided} with a "
        f"winner ({totals.unanimous} unanimous), {counted(totals.tied, 'tie')}, {totals.no_verdict} without a verdict, "
        f"{totals.errors} without an answer; {totals.escalated} to escalate."
    ]


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
    lines = [f"For people to decide: {counted(len(wanted), 'evaluation')}."]
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
    earlier = f" ({counted(totals.reused, 'evaluation')} from an earlier run)" if totals.reused else ""
    calls = f"{counted(totals.calls, 'call')}{earlier}"
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
    lines = [*filter(None, [totals.end.next_step])]
    if written.out is not None:
        lines.append(f"Records: {written.out}")
    if written.judgments is not None:
        what = f"{totals.judgments_written} {'ranking' if totals.judgments_written == 1 else 'rankings'}"
        lines.append(f"{what}: {command('vet', str(written.judgments), '--agent', 'PROVIDER:MODEL')}")
    return lines


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
    shown = tuple(f"{one.sentence()}." for one in totals.first_shown)
    shown = shown or ("No judge gave a ranking with one best answer.",)
    sections += [_blinding_section(records, totals), Section(title="Order shown", paragraphs=shown)]
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
    folds = tuple(evaluation_fold(record, opened=len(records) == 1) for record in ordered[:MOST_SHOWN])
    more = len(ordered) - MOST_SHOWN
    said = (f"{more} more are in the records.",) if more > 0 else ()
    intro = ("Those for people to decide come first; open one for its answers, rankings and reasons.",)
    return Section(
        title="Verdicts", paragraphs=(*intro, *said) if folds else ("No evaluation was made.",), blocks=folds
    )


def evaluation_fold(record: ClashRecord, *, opened: bool = False) -> Fold:
    """One evaluation: question, answers, criteria, rankings, reasons, votes and observers."""
    sheet = full_sheet(record)
    blocks: list[Passage | Table] = [Passage(title="Question", text=record.question)]
    if record.reference:
        blocks.append(Passage(title="Reference answer", text=record.reference))
    for one in sheet.answers:
        title = f"Answer of {one.given.name}{' (best)' if one.best else ''}{', truncated' if one.cut else ''}"
        blocks.append(Passage(title=title, text=one.given.text or "(empty)"))
    if sheet.scored:
        blocks.append(_scores(sheet))
    for caption, votes in (("Rankings", sheet.votes), ("Observers, not counted", sheet.observers)):
        blocks += [_votes(caption, votes)] if votes else []
        blocks += _reasons(votes)
    facts = tuple(f"{name}: {value}." for name, value in sheet.facts)
    missing = tuple(f"{name}: no answer, {why}." for name, why in sheet.missing)
    return Fold(
        title=f"{record.id}: {verdict_of(record)} ({triage_of(record)}). {first_words(record.question)}",
        paragraphs=(*facts, *missing, *record.notices),
        blocks=tuple(blocks),
        open=opened,
    )


def _scores(sheet: ClashSheet) -> Table:
    heads: list[Head] = ["criterion", *((one.given.name, "number") for one in sheet.answers)]
    rows: list[Row] = [
        (
            f"{one.name} ({one.weight:.0%}){f': {one.asks}' if one.asks else ''}",
            *(mean_cell(sheet, answer.label, one) for answer in sheet.answers),
        )
        for one in sheet.criteria
    ]
    caption = f"Criteria, {sheet.criteria_source}; mean scores of 1 to 5"
    return Table(caption=caption, columns=columns(*heads), rows=tuple(rows))


def _votes(caption: str, votes: Sequence[VoteSheet]) -> Table:
    none = Absent(absent="observers have no weight")
    return table_with(
        caption,
        votes,
        ("judge", lambda one: one.vote.judge),
        ("ranking, best first", ranked_by),
        (("weight", "number"), lambda one: none if one.vote.weight is None else one.vote.weight),
    )


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
            found.append(Passage(title=f"Reasons of {vote.vote.judge}", text="\n".join(lines)))
    return found


def _blinding_section(records: Sequence[ClashRecord], totals: ClashTotals) -> Section:
    """Names hidden in each answer, and names that were left in."""
    rows: list[Row] = []
    for record in records:
        names: list[HiddenName | LeftName] = []
        if record.blinding is not None:
            names = [*record.blinding.hidden, *record.blinding.left]
        for one in names:
            what = f"hidden: {one.kind}" if isinstance(one, HiddenName) else f"left: {one.why}"
            rows.append((record.id, one.candidate, f"{one.start} to {one.end}", one.text, what))
    more = (f"{len(rows) - MOST_NAMES} more are in the records.",) if len(rows) > MOST_NAMES else ()
    heads = columns("evaluation", "answer", "place", "text", "what")
    table = Table(caption="Names in the answers", columns=heads, rows=tuple(rows[:MOST_NAMES]), notes=more)
    said = (totals.blinding.sentence() or "None.",)
    return Section(title="Blinding", paragraphs=said, blocks=(table,) if rows else ())


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
