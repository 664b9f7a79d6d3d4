"""``metajudge review``: the queue of doubtful verdicts, in the terminal."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from metajudge.cli.options import JsonOption, StoreOption, store_path
from metajudge.runs.exit_codes import ExitCode

T = TypeVar("T")

app = typer.Typer(help="Review what a policy sent to people: claim, decide, export, import.", no_args_is_help=True)

ReviewerOption = Annotated[
    str, typer.Option(help="Who reviews; default METAJUDGE_REVIEWER.", metavar="NAME", envvar="METAJUDGE_REVIEWER")
]
ReviewArgument = Annotated[str, typer.Argument(metavar="REVIEW")]


@app.command("next")
def take_next(
    reviewer: ReviewerOption,
    judge: Annotated[str | None, typer.Option(help="Only this judge's verdicts.")] = None,
    category: Annotated[str | None, typer.Option(help="Only items of this category.")] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Hide what judge and machine said.")] = False,
    lease: Annotated[float, typer.Option(help="Seconds the review is yours.", min=1)] = 900.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Claim the next review and show it: priority first, then the closest calls, then the oldest.

    Exit code 1: nothing is left to review.
    """
    from metajudge.reviews.queue import ReviewFilter

    async def main(opened: Any) -> Any:
        wanted = ReviewFilter(judge=judge, category=category)
        state = await opened.reviews.claim(reviewer, now=time.time(), lease_s=lease, wanted=wanted)
        return None if state is None else (state, await _judgment(opened, state.review))

    found = _with_store(store, main)
    if found is None:
        typer.echo("Nothing is left to review." if not as_json else "null")
        raise typer.Exit(ExitCode.INCOMPLETE)
    _show(*found, blind=blind, as_json=as_json)


@app.command()
def show(
    review: ReviewArgument,
    blind: Annotated[bool, typer.Option("--blind", help="Hide what judge and machine said.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a review and what was decided on it."""

    async def main(opened: Any) -> Any:
        state = await _existing(opened, review)
        return state, await _judgment(opened, state.review)

    _show(*_with_store(store, main), blind=blind, as_json=as_json)


@app.command()
def claim(
    review: ReviewArgument,
    reviewer: ReviewerOption,
    lease: Annotated[float, typer.Option(help="Seconds the review is yours.", min=1)] = 900.0,
    store: StoreOption = None,
) -> None:
    """Claim a given review; claiming what is yours renews the lease."""

    async def main(opened: Any) -> Any:
        return await opened.reviews.claim(reviewer, review_id=review, now=time.time(), lease_s=lease)

    _with_store(store, main)
    typer.echo(f"{review} is yours for {lease:g} s: metajudge review decide {review} --reviewer {reviewer} ...")


@app.command()
def release(review: ReviewArgument, reviewer: ReviewerOption, store: StoreOption = None) -> None:
    """Give a claimed review back."""

    async def main(opened: Any) -> None:
        await opened.reviews.release(review, reviewer, now=time.time())

    _with_store(store, main)
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
        typer.Option(help="With modify the corrected verdict. Without --outcome your own, blind: it is compared."),
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option(help="With modify, a corrected score: CRITERION=NUMBER. Repeatable.")
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="With --outcome: you decided without seeing what judge and machine said.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why, in your words.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide a review you have claimed (see `review next`); the same decision again changes nothing."""
    from metajudge.clashes.reviews import clash_of, is_clash
    from metajudge.cli.review_clash import clash_decision, panel_said
    from metajudge.reviews.deciding import decision_from

    async def main(opened: Any) -> Any:
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

    state, judgment, proposals = _with_store(store, main)
    _say_proposals(proposals)
    if as_json:
        typer.echo(state.model_dump_json(exclude={"review": {"truth"}}))
        return
    made = state.decisions[-1]
    typer.echo(f"{review}: {made.outcome.value} by {made.reviewer}; the review is {state.status.value}.")
    if made.blind and judgment is not None:
        typer.echo(f"The judge's verdict was {judgment.verdict}; the policy said {state.review.action}.")
    record = clash_of(state.review) if made.blind and is_clash(state.review) else None
    if record is not None:
        typer.echo(panel_said(record, review))


@app.command("list")
def list_reviews(
    status: Annotated[str | None, typer.Option(help="open, claimed or decided; default: all.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge's verdicts.")] = None,
    category: Annotated[str | None, typer.Option(help="Only items of this category.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on after this review, as the page before says.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List reviews in the order in which they are given out."""
    import orjson

    from metajudge.errors import InputError
    from metajudge.reviews import ReviewStatus
    from metajudge.reviews.queue import ReviewFilter

    if status is not None and status not in list(ReviewStatus):
        raise InputError(f"no such status {status!r}: {', '.join(ReviewStatus)}")
    wanted = ReviewFilter(ReviewStatus(status) if status else None, judge, category)

    async def main(opened: Any) -> Any:
        return await opened.reviews.page(wanted, now=time.time(), limit=limit, cursor=cursor)

    page = _with_store(store, main)
    if as_json:
        data = {
            "reviews": [one.model_dump(mode="json", exclude={"review": {"truth"}}) for one in page.reviews],
            "next_cursor": page.next_cursor,
        }
        typer.echo(orjson.dumps(data).decode())
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
    """Count reviews by status, and say how far reviewers agree."""
    import orjson

    from metajudge.cli.review_report import agreement_data, print_stats
    from metajudge.reviews.agreement import reviewer_agreement

    async def main(opened: Any) -> Any:
        return await opened.reviews.counts(now=time.time()), await _all(opened, None)

    counts, states = _with_store(store, main)
    found = reviewer_agreement(states)
    if as_json:
        data = {"counts": {status.value: count for status, count in counts.items()}, **agreement_data(found)}
        typer.echo(orjson.dumps(data).decode())
    else:
        print_stats(counts, found)


@app.command("export")
def export_reviews(
    out: Annotated[Path, typer.Option(help="A .csv or .jsonl file.", metavar="FILE")],
    status: Annotated[str | None, typer.Option(help="open, claimed or decided; default: all.")] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Leave out what judge and machine said.")] = False,
    store: StoreOption = None,
) -> None:
    """Write reviews with their texts, to be decided elsewhere: fill in outcome and reviewer, then import."""
    from metajudge.errors import InputError
    from metajudge.reviews import ReviewStatus
    from metajudge.reviews.files import write_rows

    if status is not None and status not in list(ReviewStatus):
        raise InputError(f"no such status {status!r}: {', '.join(ReviewStatus)}")

    async def main(opened: Any) -> int:
        rows = []
        for state in await _all(opened, status):
            rows += _rows(state, await _judgment(opened, state.review), blind)
        return write_rows(rows, out)

    typer.echo(f"{_with_store(store, main)} rows written to {out}.")


@app.command("import")
def import_decisions(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    reviewer: Annotated[str | None, typer.Option(help="Who decided where the file does not say.")] = None,
    store: StoreOption = None,
) -> None:
    """Read decisions from a .csv or .jsonl file: all of them or, at the first error, none."""
    from metajudge.reviews.files import read_decisions

    decisions = read_decisions(file, now=time.time(), reviewer=reviewer)

    async def main(opened: Any) -> Any:
        count = await opened.reviews.import_decisions(decisions)
        names = {one.review_id for one in decisions}
        states = [state for state in await _all(opened, None) if state.review.review_id in names]
        return count, await _look(opened, states)

    added, proposals = _with_store(store, main)
    _say_proposals(proposals)
    typer.echo(f"{added} decisions imported, {len(decisions) - added} were there already.")


def _with_store(store: str | None, main: Callable[[Any], Awaitable[T]]) -> T:
    """Opens the store that must be there, does something, closes it."""
    from metajudge.cli.loop import run
    from metajudge.errors import StoreError
    from metajudge.store import open_store

    path = store_path(store)
    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with --store, or make one with `metajudge vet --policy ...`")

    async def opened() -> T:
        found = await open_store(path)
        try:
            return await main(found)
        finally:
            await found.close()

    return run(opened())


async def _look(opened: Any, states: list[Any]) -> list[Any]:
    """Looks for patterns where enough people have disagreed with a policy since the last time."""
    from metajudge.feedback.loop import FeedbackLoop

    names = [state.review.policy.name for state in states if state.review.policy is not None]
    return await FeedbackLoop(opened, clock=time.time).look_if_due(names)


def _say_proposals(proposals: list[Any]) -> None:
    from metajudge.cli.loop import say

    if proposals:
        good = sum(one.status == "proposed" for one in proposals)
        say(
            f"enough disagreements to look for patterns: {len(proposals)} changes of policy were tested, {good} of "
            "them better beyond noise; nothing was changed (metajudge feedback history)"
        )


async def _existing(opened: Any, review: str) -> Any:
    from metajudge.errors import ReviewError

    state = await opened.reviews.get(review, now=time.time())
    if state is None:
        raise ReviewError(f"there is no review {review!r}: `metajudge review list` shows those there are", "unknown")
    return state


async def _judgment(opened: Any, review: Any) -> Any:
    return await opened.find_judgment(review.subject_digest) if review.subject == "judgment" else None


async def _all(opened: Any, status: str | None) -> list[Any]:
    from metajudge.reviews import ReviewStatus
    from metajudge.reviews.queue import ReviewFilter

    states: list[Any] = []
    cursor = None
    while True:
        wanted = ReviewFilter(None if status is None else ReviewStatus(status))
        page = await opened.reviews.page(wanted, now=time.time(), limit=1000, cursor=cursor)
        states += page.reviews
        cursor = page.next_cursor
        if cursor is None:
            return states


def _rows(state: Any, judgment: Any, blind: bool) -> list[dict[str, Any]]:
    """A review as flat rows; of a clash question and answers, not its whole record."""
    from metajudge.clashes.reviews import is_clash
    from metajudge.cli.review_clash import clash_row
    from metajudge.reviews.files import export_row

    rows = export_row(state, judgment, blind=blind)
    return [row | clash_row(state.review, blind=blind) for row in rows] if is_clash(state.review) else rows


def _show(state: Any, judgment: Any, *, blind: bool, as_json: bool) -> None:
    from metajudge.cli.review_report import print_review

    if as_json:
        import orjson

        row = _rows(state.model_copy(update={"decisions": ()}), judgment, blind)[0]
        typer.echo(orjson.dumps({**row, "status": state.status.value}).decode())
    else:
        print_review(state, judgment, blind=blind)
