"""``metajudge review``: the queue of what people decide, in the terminal."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli import review_options as given
from metajudge.cli.loop import say, with_store
from metajudge.cli.options import JsonOption, StoreOption, advised, echo_json, echo_lines, tell
from metajudge.cli.review_report import agreement_data, print_sheet, print_stats
from metajudge.errors import InputError
from metajudge.reviewables import deciding
from metajudge.reviewables.files import export_rows, read_answers, sheet_row, write_rows
from metajudge.reviewables.reviewable import Answer, record_of
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.agreement import reviewer_agreement
from metajudge.reviews.queue import Progress, ReviewFilter
from metajudge.reviews.review import Comment, ReviewState, ReviewStatus, reviewer_name
from metajudge.reviews.seen import Onlooker
from metajudge.runs.exit_codes import ExitCode
from metajudge.store import Store

app = typer.Typer(help="Review what a policy sent to people: claim, decide, export, import.", no_args_is_help=True)
app.command("session")(given.review_session)


@app.command("next")
def take_next(
    reviewer: given.ReviewerOption,
    judge: given.JudgeOption = None,
    category: given.CategoryOption = None,
    mine: given.MineOption = False,
    by_item: Annotated[
        bool, typer.Option("--by-item", help="Claim and show all reviews of the next item together.")
    ] = False,
    blind: given.BlindOption = False,
    lease: given.LeaseOption = 900.0,
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
            states = await given.claimed_of_item(opened, state, reviewer_name(reviewer), lease)
        sheets = [await given.sheet_of(opened, one, reviewer_name(reviewer), blind=blind) for one in states]
        return sheets, await opened.reviews.progress(reviewer_name(reviewer), now=time.time(), wanted=wanted)

    sheets, progress = with_store(store, main, maker=given.MAKER)
    if not sheets:
        typer.echo("Nothing is left to review." if not as_json else "null")
        raise typer.Exit(ExitCode.INCOMPLETE)
    if as_json:
        rows = [_as_json(one) for one in sheets]
        echo_json({"item_id": sheets[0].item_id, "reviews": rows} if by_item else rows[0])
        return
    if len(sheets) > 1:
        typer.echo(
            f"{len(sheets)} reviews of item {sheets[0].item_id}. A verdict of your own holds for those of the same "
            "responses to the same question: `review decide REVIEW --verdict ... --item` records it on each. "
            "Outcomes and scores belong to one review.\n"
        )
    for before, one in zip([None, *sheets], sheets, strict=False):
        if before is not None:
            typer.echo("\n" + "-" * 40)
        print_sheet(one, before=before)
    typer.echo(f"\nDecided: {progress}")


@app.command()
def show(
    review: given.ReviewArgument,
    reviewer: given.ViewerOption = None,
    blind: given.BlindOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a review and its decisions."""

    async def main(opened: Store) -> Sheet:
        return await given.sheet_of(opened, await deciding.existing_state(opened, review), reviewer, blind=blind)

    sheet = with_store(store, main, maker=given.MAKER)
    if as_json:
        echo_json(_as_json(sheet))
    else:
        print_sheet(sheet)


def _as_json(sheet: Sheet) -> dict[str, object]:
    """The row of an export, and the sheet itself."""
    return {**sheet_row(sheet), "sheet": asdict(sheet)}


@app.command()
def claim(
    review: given.ReviewArgument,
    reviewer: given.ReviewerOption,
    lease: given.LeaseOption = 900.0,
    store: StoreOption = None,
) -> None:
    """Claim a given review; claiming it again renews the lease."""
    now = time.time()
    with_store(store, lambda s: s.reviews.claim(reviewer, review_id=review, now=now, lease_s=lease), maker=given.MAKER)
    typer.echo(f"{review} is claimed for {lease:g} s: {advised('review', 'show', review, '--reviewer', reviewer)}")


@app.command()
def release(review: given.ReviewArgument, reviewer: given.ReviewerOption, store: StoreOption = None) -> None:
    """Give a claimed review back."""
    with_store(store, lambda opened: opened.reviews.release(review, reviewer, now=time.time()), maker=given.MAKER)
    typer.echo(f"{review} is open again.")


@app.command("decide")
def decide_reviews(
    reviews: Annotated[list[str], typer.Argument(metavar="REVIEW...")],
    reviewer: given.ReviewerOption,
    outcome: given.OutcomeOption = None,
    verdict: given.VerdictOption = None,
    score: given.ScoreOption = None,
    blind: given.DecidedBlindOption = False,
    item: Annotated[
        bool,
        typer.Option(
            "--item",
            help="Record your own verdict on all reviews of the item whose responses and question are the same.",
        ),
    ] = False,
    reason: given.ReasonOption = "",
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

    async def main(opened: Store) -> tuple[deciding.Carried, list[str], Progress]:
        if item:
            done = await deciding.decide_item(opened, reviews[0], person, answer)
        elif len(reviews) > 1:
            done = await deciding.decide_several(opened, reviews, person, answer)
        else:
            done = deciding.Carried((await deciding.decide(opened, reviews[0], person, answer),), {})
        told = [await _told(opened, one, person) for one in done.recorded]
        await given.look_for_patterns(opened, [one.state for one in done.recorded])
        return done, told, await opened.reviews.progress(reviewer_name(reviewer), now=time.time())

    done, told, progress = with_store(store, main, maker=given.MAKER, decides=True)
    for name, why in done.left_out.items():
        say(f"{name}: not recorded: {why}")
    if as_json:
        rows = [record_of(one.state, person.reviewer, blind=False) for one in done.recorded]
        echo_json(rows[0] if len(reviews) == 1 and not item else {"recorded": rows, "left_out": done.left_out})
    else:
        for one, text in zip(done.recorded, told, strict=True):
            made, status = one.decision, one.state.status.value
            bulk = ", in bulk" if made.bulk else ""
            typer.echo(f"{made.review_id}: {made.outcome.value} by {made.reviewer}{bulk}; the review is {status}.")
            echo_lines(filter(None, (one.seen and f"It {one.seen}.", text)))
        typer.echo(f"Decided: {progress}")
    if done.left_out and not item:
        raise typer.Exit(ExitCode.INCOMPLETE)


async def _told(opened: Store, one: deciding.Recorded, person: Onlooker) -> str:
    """What the machine said, for a person who has just decided blind and has nothing more to decide on the subject."""
    if not one.decision.blind or not await deciding.is_settled(opened, one.state, person.reviewer):
        return ""
    found = await deciding.reviewable_of(opened, one.state, whole=False)
    await deciding.view_of(opened, found, person, blind=False)
    return deciding.machine_said(found)


@app.command("amend")
def amend_decision(
    review: given.ReviewArgument,
    reviewer: given.ReviewerOption,
    reason: Annotated[str, typer.Option(help="Why the earlier decision is replaced.")],
    outcome: given.OutcomeOption = None,
    verdict: given.VerdictOption = None,
    score: given.ScoreOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace your decision by another one; the earlier one stays in the history."""
    person = Onlooker(reviewer_name(reviewer))

    async def main(opened: Store) -> deciding.Recorded:
        done = await deciding.amend(opened, review, person, Answer(outcome, verdict, tuple(score or ()), reason))
        await given.look_for_patterns(opened, [done.state])
        return done

    done = with_store(store, main, maker=given.MAKER, decides=True)
    if as_json:
        echo_json(record_of(done.state, person.reviewer, blind=False))
        return
    made = done.decision
    earlier = next((one for one in done.state.history if one.decision_id == made.amends), None)
    before = "as before" if not done.new or earlier is None else f"instead of {earlier.outcome.value}"
    typer.echo(f"{review}: {made.outcome.value} by {made.reviewer}, {before}.")


@app.command()
def comment(
    review: given.ReviewArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    reviewer: given.ReviewerOption,
    store: StoreOption = None,
) -> None:
    """Add a remark to a review; remarks are kept and never changed."""
    if not 0 < len(text) <= 10_000:
        raise InputError(f"a comment has 1 to 10,000 characters, not {len(text)}")
    made = Comment(review_id=review, author=reviewer_name(reviewer), at=time.time(), text=text)
    with_store(store, lambda opened: opened.reviews.comment(made), maker=given.MAKER)
    typer.echo(f"{review}: comment recorded.")


@app.command()
def assign(
    reviewer: Annotated[str, typer.Argument(metavar="NAME", help="Who is to review.")],
    reviews: Annotated[list[str] | None, typer.Argument(metavar="[REVIEW...]")] = None,
    by: Annotated[str, typer.Option(help="Who assigns; default METAJUDGE_REVIEWER.", envvar="METAJUDGE_REVIEWER")] = "",
    first: Annotated[
        int | None, typer.Option(help="Assign so many open reviews that nobody has, in the order of the queue.", min=1)
    ] = None,
    judge: given.JudgeOption = None,
    category: given.CategoryOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take them back.")] = False,
    store: StoreOption = None,
) -> None:
    """Give reviews to a person: they are offered to those alone to whom they are assigned."""
    if bool(reviews) == (first is not None):
        raise InputError("name the reviews, or say how many with --first N")

    async def main(opened: Store) -> int:
        names = list(reviews or ())
        if first is not None:
            found = await given.all_states(opened, ReviewFilter(ReviewStatus.OPEN, judge, category))
            names = [one.review.review_id for one in found if bool(one.assigned) == remove][:first]
        return await opened.reviews.assign(names, reviewer, by=by, now=time.time(), on=not remove)

    count = with_store(store, main, maker=given.MAKER)
    typer.echo(f"{count} reviews {'taken from' if remove else 'assigned to'} {reviewer}.")


@app.command("list")
def list_reviews(
    status: given.StatusOption = None,
    judge: given.JudgeOption = None,
    category: given.CategoryOption = None,
    item: Annotated[str | None, typer.Option(help="Only reviews of this item.", metavar="ITEM")] = None,
    assigned: Annotated[str | None, typer.Option(help="Only reviews assigned to this person.", metavar="NAME")] = None,
    reviewer: given.ViewerOption = None,
    blind: given.BlindOption = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after this review; printed below each page.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List reviews in the order of the queue."""
    wanted = ReviewFilter(status, judge, category, item_id=item, assigned=assigned)

    async def main(opened: Store) -> tuple[list[tuple[ReviewState, bool]], str | None]:
        page = await opened.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)
        hidden = [blind or await deciding.must_be_blind(opened, one, reviewer) for one in page.reviews]
        return list(zip(page.reviews, hidden, strict=True)), page.next_cursor

    found, following = with_store(store, main, maker=given.MAKER)
    records = [record_of(state, reviewer, blind=hidden) for state, hidden in found]
    lines = [_line(state, reviewer, hidden=hidden) for state, hidden in found]
    more = [f"More: --cursor {following}"] if following else []
    tell(as_json, {"reviews": records, "next_cursor": following}, [*lines, *more])


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
def stats(reviewer: given.ViewerOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Count reviews by status, say how far a reviewer has come, and measure agreement between reviewers."""

    async def main(opened: Store) -> tuple[dict[ReviewStatus, int], list[ReviewState], Progress | None]:
        now = time.time()
        progress = None if reviewer is None else await opened.reviews.progress(reviewer_name(reviewer), now=now)
        return await opened.reviews.counts(now=now), await given.all_states(opened, ReviewFilter()), progress

    counts, states, progress = with_store(store, main, maker=given.MAKER)
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
    status: given.StatusOption = None,
    assigned: Annotated[str | None, typer.Option(help="Only reviews assigned to this person.", metavar="NAME")] = None,
    blind: given.BlindOption = False,
    store: StoreOption = None,
) -> None:
    """Write reviews with their texts to decide them elsewhere: fill in outcome and reviewer, then import."""

    async def main(opened: Store) -> tuple[int, int]:
        rows, hidden = [], 0
        for state in await given.all_states(opened, ReviewFilter(status, assigned=assigned)):
            sheet = await given.sheet_of(opened, state, None, blind=blind)
            hidden += sheet.blind and not blind
            rows += export_rows(sheet, state.decisions)
        return write_rows(rows, out), hidden

    count, hidden = with_store(store, main, maker=given.MAKER)
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

    async def main(opened: Store) -> tuple[int, tuple[str, ...]]:
        done = await deciding.import_answers(opened, rows)
        states = [await deciding.existing_state(opened, name) for name in dict.fromkeys(row.review_id for row in rows)]
        await given.look_for_patterns(opened, states)
        return done

    new, seen = with_store(store, main, maker=given.MAKER, decides=True)
    for line in seen:
        say(line)
    counted = f", {len(seen)} of blind reviews count as seen" if seen else ""
    typer.echo(f"{new} decisions imported, {len(rows) - new} were already stored{counted}.")
