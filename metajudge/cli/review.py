"""``metajudge review``: the queue of doubtful verdicts, in the terminal."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from metajudge.clashes.reviews import clash_decision, clash_of, clash_row, is_clash, panel_said
from metajudge.cli.loop import say
from metajudge.cli.options import JsonOption, StoreOption, echo_json
from metajudge.cli.review_report import agreement_data, print_review, print_stats
from metajudge.cli.stored import with_store
from metajudge.errors import ReviewError
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.proposals import Proposal
from metajudge.reviews import Review, ReviewState, ReviewStatus
from metajudge.reviews.agreement import reviewer_agreement
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.files import export_row, read_decisions, write_rows
from metajudge.reviews.queue import Page, ReviewFilter
from metajudge.runs.exit_codes import ExitCode
from metajudge.store import Store
from metajudge.types import Judgment

MAKER = "vet --policy ..."

app = typer.Typer(help="Review what a policy sent to people: claim, decide, export, import.", no_args_is_help=True)

ReviewerOption = Annotated[
    str, typer.Option(help="Who reviews; default METAJUDGE_REVIEWER.", metavar="NAME", envvar="METAJUDGE_REVIEWER")
]
ReviewArgument = Annotated[str, typer.Argument(metavar="REVIEW")]
BlindOption = Annotated[bool, typer.Option("--blind", help="Hide the verdict and the policy's action.")]
LeaseOption = Annotated[float, typer.Option(help="Seconds for which the review is claimed.", min=1)]
JudgeOption = Annotated[str | None, typer.Option(help="Only this judge's verdicts.")]
CategoryOption = Annotated[str | None, typer.Option(help="Only items of this category.")]
StatusOption = Annotated[ReviewStatus | None, typer.Option(help="Only reviews of this status.")]


@app.command("next")
def take_next(
    reviewer: ReviewerOption,
    judge: JudgeOption = None,
    category: CategoryOption = None,
    blind: BlindOption = False,
    lease: LeaseOption = 900.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Claim the next review and show it: priority first, then the closest calls, then the oldest.

    Exit code 1: nothing is left to review.
    """

    async def main(opened: Store) -> tuple[ReviewState, Judgment | None] | None:
        wanted = ReviewFilter(judge=judge, category=category)
        state = await opened.reviews.claim(reviewer, now=time.time(), lease_s=lease, wanted=wanted)
        return None if state is None else (state, await _judgment(opened, state.review))

    found = with_store(store, main, maker=MAKER)
    if found is None:
        typer.echo("Nothing is left to review." if not as_json else "null")
        raise typer.Exit(ExitCode.INCOMPLETE)
    _show(*found, blind=blind, as_json=as_json)


@app.command()
def show(
    review: ReviewArgument,
    blind: BlindOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a review and its decisions."""

    async def main(opened: Store) -> tuple[ReviewState, Judgment | None]:
        state = await _existing(opened, review)
        return state, await _judgment(opened, state.review)

    _show(*with_store(store, main, maker=MAKER), blind=blind, as_json=as_json)


@app.command()
def claim(
    review: ReviewArgument,
    reviewer: ReviewerOption,
    lease: LeaseOption = 900.0,
    store: StoreOption = None,
) -> None:
    """Claim a given review; claiming it again renews the lease."""

    async def main(opened: Store) -> ReviewState | None:
        return await opened.reviews.claim(reviewer, review_id=review, now=time.time(), lease_s=lease)

    with_store(store, main, maker=MAKER)
    typer.echo(f"{review} is claimed for {lease:g} s: metajudge review decide {review} --reviewer {reviewer} ...")


@app.command()
def release(review: ReviewArgument, reviewer: ReviewerOption, store: StoreOption = None) -> None:
    """Give a claimed review back."""

    async def main(opened: Store) -> None:
        await opened.reviews.release(review, reviewer, now=time.time())

    with_store(store, main, maker=MAKER)
    typer.echo(f"{review} is open again.")


@app.command()
def decide(
    review: ReviewArgument,
    reviewer: ReviewerOption,
    outcome: Annotated[
        str | None,
        typer.Option(help="approve (the verdict is right), modify, reject (it is wrong) or cannot_tell."),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            help="With modify, the corrected verdict. Without --outcome, your own blind verdict, which is compared."
        ),
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option(help="With modify, a corrected score: CRITERION=NUMBER. Repeatable.")
    ] = None,
    blind: Annotated[
        bool,
        typer.Option("--blind", help="With --outcome: you decided without seeing the verdict and the policy's action."),
    ] = False,
    reason: Annotated[str, typer.Option(help="Reason, as free text.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide a review you have claimed (see `review next`); the same decision again changes nothing."""

    async def main(opened: Store) -> tuple[ReviewState, Judgment | None, list[Proposal]]:
        state = await _existing(opened, review)
        judgment = await _judgment(opened, state.review)
        now = time.time()
        if is_clash(state.review) and not score:
            made = clash_decision(state.review, reviewer, outcome, verdict, reason=reason, decided_at=now, blind=blind)
        else:
            made = decision_from(
                state.review,
                judgment,
                reviewer,
                outcome,
                verdict,
                score or (),
                reason=reason,
                decided_at=now,
                blind=blind,
            )
        decided = await opened.reviews.decide(made, now=time.time())
        return decided, judgment, await _look(opened, [decided])

    state, judgment, proposals = with_store(store, main, maker=MAKER)
    _say_proposals(proposals)
    if as_json:
        typer.echo(state.model_dump_json(exclude={"review": {"truth"}}))
        return
    made = state.decisions[-1]
    typer.echo(f"{review}: {made.outcome.value} by {made.reviewer}; the review is {state.status.value}.")
    if made.blind and judgment is not None:
        typer.echo(f"The judge's verdict was {judgment.verdict}; the policy's action was {state.review.action}.")
    record = clash_of(state.review) if made.blind and is_clash(state.review) else None
    if record is not None:
        typer.echo(panel_said(record, review))


@app.command("list")
def list_reviews(
    status: StatusOption = None,
    judge: JudgeOption = None,
    category: CategoryOption = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after this review; printed below each page.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List reviews in the order of the queue."""
    wanted = ReviewFilter(status, judge, category)

    async def main(opened: Store) -> Page:
        return await opened.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)

    page = with_store(store, main, maker=MAKER)
    if as_json:
        data = {
            "reviews": [one.model_dump(mode="json", exclude={"review": {"truth"}}) for one in page.reviews],
            "next_cursor": page.next_cursor,
        }
        echo_json(data)
        return
    for state in page.reviews:
        one = state.review
        margin = "" if one.margin is None else f" margin {one.margin:.3g}"
        who = ", ".join(
            [f"{d.outcome.value} by {d.reviewer}" for d in state.decisions] + [c.reviewer for c in state.claims]
        )
        typer.echo(f"{one.review_id}  {state.status.value:<8} {one.action}{margin}  {one.judge or one.subject}  {who}")
    if page.next_cursor:
        typer.echo(f"More: --cursor {page.next_cursor}")


@app.command()
def stats(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Count reviews by status, and measure agreement between reviewers."""

    async def main(opened: Store) -> tuple[dict[ReviewStatus, int], list[ReviewState]]:
        return await opened.reviews.counts(now=time.time()), await _all(opened, None)

    counts, states = with_store(store, main, maker=MAKER)
    found = reviewer_agreement(states)
    if as_json:
        data = {"counts": {status.value: count for status, count in counts.items()}, **agreement_data(found)}
        echo_json(data)
    else:
        print_stats(counts, found)


@app.command("export")
def export_reviews(
    out: Annotated[Path, typer.Option(help="A .csv or .jsonl file.", metavar="FILE")],
    status: StatusOption = None,
    blind: Annotated[bool, typer.Option("--blind", help="Leave out the verdict and the policy's action.")] = False,
    store: StoreOption = None,
) -> None:
    """Write reviews with their texts to decide them elsewhere: fill in outcome and reviewer, then import."""

    async def main(opened: Store) -> int:
        rows = []
        for state in await _all(opened, status):
            rows += _rows(state, await _judgment(opened, state.review), blind)
        return write_rows(rows, out)

    typer.echo(f"{with_store(store, main, maker=MAKER)} rows written to {out}.")


@app.command("import")
def import_decisions(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    reviewer: Annotated[str | None, typer.Option(help="Reviewer for rows without one in the file.")] = None,
    store: StoreOption = None,
) -> None:
    """Read decisions from a .csv or .jsonl file: all of them or, at the first error, none."""
    decisions = read_decisions(file, now=time.time(), reviewer=reviewer)

    async def main(opened: Store) -> tuple[int, list[Proposal]]:
        count = await opened.reviews.import_decisions(decisions)
        names = {one.review_id for one in decisions}
        states = [state for state in await _all(opened, None) if state.review.review_id in names]
        return count, await _look(opened, states)

    added, proposals = with_store(store, main, maker=MAKER)
    _say_proposals(proposals)
    typer.echo(f"{added} decisions imported, {len(decisions) - added} were already stored.")


async def _look(opened: Store, states: Sequence[ReviewState]) -> list[Proposal]:
    """Searches for patterns if there are enough new disagreements with a policy."""
    names = [state.review.policy.name for state in states if state.review.policy is not None]
    return await FeedbackLoop(opened, clock=time.time).look_if_due(names)


def _say_proposals(proposals: Sequence[Proposal]) -> None:
    if proposals:
        good = sum(one.status == "proposed" for one in proposals)
        say(
            f"enough disagreements to look for patterns: {len(proposals)} changes of policy were tested, {good} of "
            "them better beyond noise; nothing was changed (metajudge feedback history)"
        )


async def _existing(opened: Store, review: str) -> ReviewState:
    state = await opened.reviews.get(review, now=time.time())
    if state is None:
        raise ReviewError(f"there is no review {review!r}: `metajudge review list` shows those there are", "unknown")
    return state


async def _judgment(opened: Store, review: Review) -> Judgment | None:
    return await opened.find_judgment(review.subject_digest) if review.subject == "judgment" else None


async def _all(opened: Store, status: ReviewStatus | None) -> list[ReviewState]:
    states: list[ReviewState] = []
    cursor = None
    while True:
        page = await opened.reviews.page(ReviewFilter(status), now=time.time(), limit=1000, cursor=cursor)
        states += page.reviews
        cursor = page.next_cursor
        if cursor is None:
            return states


def _rows(state: ReviewState, judgment: Judgment | None, blind: bool) -> list[dict[str, object]]:
    """A review as flat rows; of a clash question and answers, not its whole record."""
    rows = export_row(state, judgment, blind=blind)
    return [row | clash_row(state.review, blind=blind) for row in rows] if is_clash(state.review) else rows


def _show(state: ReviewState, judgment: Judgment | None, *, blind: bool, as_json: bool) -> None:
    if as_json:
        row = _rows(state.model_copy(update={"decisions": ()}), judgment, blind)[0]
        echo_json({**row, "status": state.status.value})
    else:
        print_review(state, judgment, blind=blind)
