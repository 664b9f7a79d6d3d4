"""``metajudge review``: the queue of what people decide, in the terminal."""

import time
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.loop import say
from metajudge.cli.options import JsonOption, StoreOption, advised, echo_json, echo_lines
from metajudge.cli.review_options import (
    MAKER,
    BlindOption,
    CategoryOption,
    DecidedBlindOption,
    JudgeOption,
    LeaseOption,
    MineOption,
    OutcomeOption,
    ReasonOption,
    ReviewArgument,
    ReviewerOption,
    ScoreOption,
    SomebodyOption,
    StatusOption,
    VerdictOption,
    all_states,
    claimed_of_item,
    look_for_patterns,
    say_proposals,
    sheet_of,
)
from metajudge.cli.review_report import agreement_data, print_sheet, print_stats
from metajudge.cli.review_session import review_session
from metajudge.cli.stored import with_store
from metajudge.errors import InputError
from metajudge.feedback.proposals import Proposal
from metajudge.reviewables.deciding import (
    Carried,
    Imported,
    Recorded,
    amend,
    decide,
    decide_item,
    decide_several,
    import_answers,
    machine_said,
)
from metajudge.reviewables.files import export_rows, read_answers, sheet_row, write_rows
from metajudge.reviewables.opening import existing_state, is_settled, must_be_blind, reviewable_of, view_of
from metajudge.reviewables.parts import record_of
from metajudge.reviewables.reviewable import Answer
from metajudge.reviewables.sheet import Sheet, sheet_data
from metajudge.reviews.agreement import reviewer_agreement
from metajudge.reviews.queue import Progress, ReviewFilter
from metajudge.reviews.review import Comment, ReviewState, ReviewStatus, reviewer_name
from metajudge.reviews.seen import Onlooker
from metajudge.runs.exit_codes import ExitCode
from metajudge.store import Store

app = typer.Typer(help="Review what a policy sent to people: claim, decide, export, import.", no_args_is_help=True)
app.command("session")(review_session)


@app.command("next")
def take_next(
    reviewer: ReviewerOption,
    judge: JudgeOption = None,
    category: CategoryOption = None,
    mine: MineOption = False,
    by_item: Annotated[
        bool, typer.Option("--by-item", help="Claim and show all reviews of the next item together.")
    ] = False,
    blind: BlindOption = False,
    lease: LeaseOption = 900.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Claim the next review and show it: priority first, then the closest calls, then the oldest.

    Exit code 1: nothing is left to review.
    """
    wanted = ReviewFilter(judge=judge, category=category, assigned=reviewer_name(reviewer) if mine else None)

    async def main(opened: Store) -> tuple[list[Sheet], Progress]:
        state = await opened.reviews.claim(reviewer, now=time.time(), lease_s=lease, wanted=wanted)
        states = [] if state is None else [state]
        if state is not None and by_item:
            states = await claimed_of_item(opened, state, reviewer_name(reviewer), lease)
        sheets = [await sheet_of(opened, one, reviewer_name(reviewer), blind=blind) for one in states]
        return sheets, await opened.reviews.progress(reviewer_name(reviewer), now=time.time(), wanted=wanted)

    sheets, progress = with_store(store, main, maker=MAKER)
    if not sheets:
        typer.echo("Nothing is left to review." if not as_json else "null")
        raise typer.Exit(ExitCode.INCOMPLETE)
    if as_json:
        rows = [_as_json(one) for one in sheets]
        echo_json({"item_id": sheets[0].item_id, "reviews": rows} if by_item else rows[0])
        return
    _print_together(sheets)
    typer.echo(f"\nDecided: {progress}")


def _print_together(sheets: list[Sheet]) -> None:
    before = None
    if len(sheets) > 1:
        typer.echo(
            f"{len(sheets)} reviews of item {sheets[0].item_id}. A verdict of your own holds for those of the same "
            "responses to the same question: `review decide REVIEW --verdict ... --item` records it on each. "
            "Outcomes and scores belong to one review.\n"
        )
    for one in sheets:
        if before is not None:
            typer.echo("\n" + "-" * 40)
        print_sheet(one, before=before)
        before = one


@app.command()
def show(
    review: ReviewArgument,
    reviewer: SomebodyOption = None,
    blind: BlindOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a review and its decisions."""

    async def main(opened: Store) -> Sheet:
        return await sheet_of(opened, await existing_state(opened, review), reviewer, blind=blind)

    sheet = with_store(store, main, maker=MAKER)
    if as_json:
        echo_json(_as_json(sheet))
    else:
        print_sheet(sheet)


def _as_json(sheet: Sheet) -> dict[str, object]:
    """The row of an export, and the sheet itself."""
    return {**sheet_row(sheet), "sheet": sheet_data(sheet)}


@app.command()
def claim(
    review: ReviewArgument, reviewer: ReviewerOption, lease: LeaseOption = 900.0, store: StoreOption = None
) -> None:
    """Claim a given review; claiming it again renews the lease."""

    async def main(opened: Store) -> ReviewState | None:
        return await opened.reviews.claim(reviewer, review_id=review, now=time.time(), lease_s=lease)

    with_store(store, main, maker=MAKER)
    typer.echo(f"{review} is claimed for {lease:g} s: {advised('review', 'show', review, '--reviewer', reviewer)}")


@app.command()
def release(review: ReviewArgument, reviewer: ReviewerOption, store: StoreOption = None) -> None:
    """Give a claimed review back."""

    async def main(opened: Store) -> None:
        await opened.reviews.release(review, reviewer, now=time.time())

    with_store(store, main, maker=MAKER)
    typer.echo(f"{review} is open again.")


@app.command("decide")
def decide_reviews(
    reviews: Annotated[list[str], typer.Argument(metavar="REVIEW...")],
    reviewer: ReviewerOption,
    outcome: OutcomeOption = None,
    verdict: VerdictOption = None,
    score: ScoreOption = None,
    blind: DecidedBlindOption = False,
    item: Annotated[
        bool,
        typer.Option(
            "--item",
            help="Record your own verdict on all reviews of the item whose responses and question are the same.",
        ),
    ] = False,
    reason: ReasonOption = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide reviews you have claimed (see `review next`); the same decision again changes nothing.

    One answer to several reviews is recorded as made in bulk.
    """
    if item and len(reviews) > 1:
        raise InputError("--item finds the other reviews of the item: name one review")
    answer = Answer(outcome, verdict, tuple(score or ()), reason, blind)
    person = Onlooker(reviewer_name(reviewer))

    async def main(opened: Store) -> tuple[Carried, list[str], list[Proposal], Progress]:
        if item:
            done = await decide_item(opened, reviews[0], person, answer)
        elif len(reviews) > 1:
            done = await decide_several(opened, reviews, person, answer)
        else:
            done = Carried((await decide(opened, reviews[0], person, answer),), {})
        told = [await _told(opened, one, person) for one in done.recorded]
        found = await look_for_patterns(opened, [one.state for one in done.recorded])
        return done, told, found, await opened.reviews.progress(reviewer_name(reviewer), now=time.time())

    done, told, proposals, progress = with_store(store, main, maker=MAKER, decides=True)
    say_proposals(proposals)
    for name, why in done.left_out.items():
        say(f"{name}: not recorded: {why}")
    if as_json:
        rows = [{**record_of(one.state, person.reviewer, blind=False)} for one in done.recorded]
        echo_json(rows[0] if len(reviews) == 1 and not item else {"recorded": rows, "left_out": done.left_out})
    else:
        for one, text in zip(done.recorded, told, strict=True):
            _print_recorded(one, text)
        typer.echo(f"Decided: {progress}")
    if done.left_out and not item:
        raise typer.Exit(ExitCode.INCOMPLETE)


async def _told(opened: Store, one: Recorded, person: Onlooker) -> str:
    """What the machine said, for a person who has just decided blind and has nothing more to decide on the subject."""
    if not one.decision.blind or not await is_settled(opened, one.state, person.reviewer):
        return ""
    found = await reviewable_of(opened, one.state, whole=False)
    await view_of(opened, found, person, blind=False)
    return machine_said(found)


def _print_recorded(one: Recorded, told: str) -> None:
    made = one.decision
    bulk = ", in bulk" if made.bulk else ""
    typer.echo(
        f"{made.review_id}: {made.outcome.value} by {made.reviewer}{bulk}; the review is {one.state.status.value}."
    )
    echo_lines(filter(None, (one.seen and f"It {one.seen}.", told)))


@app.command("amend")
def amend_decision(
    review: ReviewArgument,
    reviewer: ReviewerOption,
    reason: Annotated[str, typer.Option(help="Why the earlier decision is replaced.")],
    outcome: OutcomeOption = None,
    verdict: VerdictOption = None,
    score: ScoreOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace your decision by another one; the earlier one stays in the history."""
    person = Onlooker(reviewer_name(reviewer))

    async def main(opened: Store) -> tuple[Recorded, list[Proposal]]:
        done = await amend(opened, review, person, Answer(outcome, verdict, tuple(score or ()), reason))
        return done, await look_for_patterns(opened, [done.state])

    done, proposals = with_store(store, main, maker=MAKER, decides=True)
    say_proposals(proposals)
    if as_json:
        echo_json(record_of(done.state, person.reviewer, blind=False))
        return
    earlier = next((one for one in done.state.history if one.decision_id == done.decision.amends), None)
    if not done.new or earlier is None:
        typer.echo(f"{review}: {done.decision.outcome.value} by {done.decision.reviewer}, as before.")
        return
    typer.echo(
        f"{review}: {done.decision.outcome.value} by {done.decision.reviewer}, instead of {earlier.outcome.value}."
    )


@app.command()
def comment(
    review: ReviewArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    reviewer: ReviewerOption,
    store: StoreOption = None,
) -> None:
    """Add a remark to a review; remarks are kept and never changed."""

    async def main(opened: Store) -> None:
        if not 0 < len(text) <= 10_000:
            raise InputError(f"a comment has 1 to 10,000 characters, not {len(text)}")
        made = Comment(review_id=review, author=reviewer_name(reviewer), at=time.time(), text=text)
        await opened.reviews.comment(made)

    with_store(store, main, maker=MAKER)
    typer.echo(f"{review}: comment recorded.")


@app.command()
def assign(
    reviewer: Annotated[str, typer.Argument(metavar="NAME", help="Who is to review.")],
    reviews: Annotated[list[str] | None, typer.Argument(metavar="[REVIEW...]")] = None,
    by: Annotated[str, typer.Option(help="Who assigns; default METAJUDGE_REVIEWER.", envvar="METAJUDGE_REVIEWER")] = "",
    first: Annotated[
        int | None, typer.Option(help="Assign so many open reviews that nobody has, in the order of the queue.", min=1)
    ] = None,
    judge: JudgeOption = None,
    category: CategoryOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take them back.")] = False,
    store: StoreOption = None,
) -> None:
    """Give reviews to a person: they are offered to those alone to whom they are assigned."""
    if bool(reviews) == (first is not None):
        raise InputError("name the reviews, or say how many with --first N")

    async def main(opened: Store) -> int:
        names = list(reviews or ())
        if first is not None:
            found = await all_states(opened, ReviewFilter(ReviewStatus.OPEN, judge, category))
            names = [one.review.review_id for one in found if bool(one.assigned) == remove][:first]
        return await opened.reviews.assign(names, reviewer, by=by, now=time.time(), on=not remove)

    count = with_store(store, main, maker=MAKER)
    typer.echo(f"{count} reviews {'taken from' if remove else 'assigned to'} {reviewer}.")


@app.command("list")
def list_reviews(
    status: StatusOption = None,
    judge: JudgeOption = None,
    category: CategoryOption = None,
    item: Annotated[str | None, typer.Option(help="Only reviews of this item.", metavar="ITEM")] = None,
    assigned: Annotated[str | None, typer.Option(help="Only reviews assigned to this person.", metavar="NAME")] = None,
    reviewer: SomebodyOption = None,
    blind: BlindOption = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after this review; printed below each page.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List reviews in the order of the queue."""
    wanted = ReviewFilter(status, judge, category, item_id=item, assigned=assigned)

    async def main(opened: Store) -> tuple[list[tuple[ReviewState, bool]], str | None]:
        page = await opened.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)
        hidden = [blind or await must_be_blind(opened, one, reviewer) for one in page.reviews]
        return list(zip(page.reviews, hidden, strict=True)), page.next_cursor

    found, following = with_store(store, main, maker=MAKER)
    if as_json:
        records = [record_of(state, reviewer, blind=hidden) for state, hidden in found]
        echo_json({"reviews": records, "next_cursor": following})
        return
    for state, hidden in found:
        typer.echo(_line(state, reviewer, hidden=hidden))
    if following:
        typer.echo(f"More: --cursor {following}")


def _line(state: ReviewState, reviewer: str | None, *, hidden: bool) -> str:
    one = state.review
    who = [c.reviewer for c in state.claims] + [f"for {name}" for name in state.assigned]
    if hidden:
        return f"{one.review_id}  {state.status.value:<8} item {one.item_id}  {', '.join(who)}"
    margin = "" if one.margin is None else f" margin {one.margin:.3g}"
    decided = record_of(state, reviewer, blind=False)["decisions"]
    who = [f"{d['outcome']} by {d['reviewer']}" for d in decided] + who
    return (
        f"{one.review_id}  {state.status.value:<8} {one.action}{margin}  {one.judge or one.subject}  {', '.join(who)}"
    )


@app.command()
def stats(reviewer: SomebodyOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Count reviews by status, say how far a reviewer has come, and measure agreement between reviewers."""

    async def main(opened: Store) -> tuple[dict[ReviewStatus, int], list[ReviewState], Progress | None]:
        now = time.time()
        progress = None if reviewer is None else await opened.reviews.progress(reviewer_name(reviewer), now=now)
        return await opened.reviews.counts(now=now), await all_states(opened, ReviewFilter()), progress

    counts, states, progress = with_store(store, main, maker=MAKER)
    found = reviewer_agreement(states)
    if as_json:
        data = {"counts": {status.value: count for status, count in counts.items()}, **agreement_data(found)}
        if progress is not None:
            data["progress"] = {"done": progress.done, "total": progress.total, "median_s": progress.seconds}
        echo_json(data)
        return
    print_stats(counts, found)
    if progress is not None:
        typer.echo(f"{reviewer} decided {progress}")


@app.command("export")
def export_reviews(
    out: Annotated[Path, typer.Option(help="A .csv or .jsonl file.", metavar="FILE")],
    status: StatusOption = None,
    assigned: Annotated[str | None, typer.Option(help="Only reviews assigned to this person.", metavar="NAME")] = None,
    blind: BlindOption = False,
    store: StoreOption = None,
) -> None:
    """Write reviews with their texts to decide them elsewhere: fill in outcome and reviewer, then import."""

    async def main(opened: Store) -> tuple[int, int]:
        rows, hidden = [], 0
        for state in await all_states(opened, ReviewFilter(status, assigned=assigned)):
            sheet = await sheet_of(opened, state, None, blind=blind)
            hidden += sheet.blind and not blind
            rows += export_rows(sheet, state.decisions)
        return write_rows(rows, out), hidden

    count, hidden = with_store(store, main, maker=MAKER)
    typer.echo(f"{count} rows written to {out}.")
    if hidden:
        say(f"{hidden} reviews are written blind: their policy wants decisions before the machine's result is shown")


@app.command("import")
def import_decisions(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    reviewer: Annotated[str | None, typer.Option(help="Reviewer for rows without one in the file.")] = None,
    store: StoreOption = None,
) -> None:
    """Read decisions from a .csv or .jsonl file: all of them or, at the first error, none."""
    rows = read_answers(file, reviewer=reviewer)

    async def main(opened: Store) -> tuple[Imported, list[Proposal]]:
        done = await import_answers(opened, rows)
        states = [await existing_state(opened, name) for name in dict.fromkeys(row.review_id for row in rows)]
        return done, await look_for_patterns(opened, states)

    done, proposals = with_store(store, main, maker=MAKER, decides=True)
    say_proposals(proposals)
    for line in done.seen:
        say(line)
    counted = f", {len(done.seen)} of blind reviews count as seen" if done.seen else ""
    typer.echo(f"{done.new} decisions imported, {len(rows) - done.new} were already stored{counted}.")
