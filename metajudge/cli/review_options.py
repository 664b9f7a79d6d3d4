"""Options of the commands of ``metajudge review``, and what they all do with the store."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from metajudge.cli.loop import say
from metajudge.feedback.changes import Proposal
from metajudge.feedback.loop import FeedbackLoop
from metajudge.reviewables.deciding import reviewable_of, view_of
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewState, ReviewStatus
from metajudge.reviews.seen import Onlooker
from metajudge.store import Store

MAKER = "vet --policy ..."

ReviewerOption = Annotated[
    str, typer.Option(help="Who reviews; default METAJUDGE_REVIEWER.", metavar="NAME", envvar="METAJUDGE_REVIEWER")
]
ViewerOption = Annotated[
    str | None,
    typer.Option(
        "--reviewer", help="Who looks; default METAJUDGE_REVIEWER.", metavar="NAME", envvar="METAJUDGE_REVIEWER"
    ),
]
ReviewArgument = Annotated[str, typer.Argument(metavar="REVIEW")]
BlindOption = Annotated[
    bool, typer.Option("--blind", help="Hide who judged and who answered, and everything the machine said.")
]
LeaseOption = Annotated[float, typer.Option(help="Seconds for which the review is claimed.", min=1)]
JudgeOption = Annotated[str | None, typer.Option(help="Only this judge's verdicts.")]
CategoryOption = Annotated[str | None, typer.Option(help="Only items of this category.")]
StatusOption = Annotated[ReviewStatus | None, typer.Option(help="Only reviews of this status.")]
MineOption = Annotated[bool, typer.Option("--mine", help="Only reviews assigned to the reviewer.")]
OutcomeOption = Annotated[
    str | None, typer.Option(help="approve (the verdict is right), modify, reject (it is wrong) or cannot_tell.")
]
VerdictOption = Annotated[
    str | None,
    typer.Option(
        help="Your own verdict, by labels: a winner (R1), a tie (R1=R2), a ranking (R1>R2=R3), a grade or a category. "
        "Without --outcome it is compared with the machine's."
    ),
]
ScoreOption = Annotated[
    list[str] | None, typer.Option(help="With modify, a corrected score: CRITERION=NUMBER. Repeatable.")
]
DecidedBlindOption = Annotated[
    bool, typer.Option("--blind", help="With --outcome: you decided without seeing what the machine said.")
]
ReasonOption = Annotated[str, typer.Option(help="Reason, as free text.")]


async def sheet_of(opened: Store, state: ReviewState, reviewer: str | None, *, blind: bool) -> Sheet:
    """The sheet that a person may see of a review."""
    one = await reviewable_of(opened, state, whole=not blind)
    return await view_of(opened, one, Onlooker(reviewer), blind=blind)


async def claimed_of_item(opened: Store, state: ReviewState, reviewer: str, lease_s: float) -> list[ReviewState]:
    """All reviews of an item that a person has or can have in hand, the given one first."""
    found = [state]
    while len(found) < 50:
        wanted = ReviewFilter(item_id=state.review.item_id)
        known = {one.review.review_id for one in found}
        page = await opened.reviews.page(wanted, now=time.time(), limit=200)
        free = [one for one in page.reviews if is_free(one, reviewer) and one.review.review_id not in known]
        if not free:
            return found
        review_id = free[0].review.review_id
        claimed = await opened.reviews.claim(reviewer, now=time.time(), lease_s=lease_s, review_id=review_id)
        found.append(claimed or free[0])
    return found


def is_free(state: ReviewState, reviewer: str) -> bool:
    """Whether a person can claim a review."""
    if state.status is ReviewStatus.DECIDED or any(one.reviewer == reviewer for one in state.decisions):
        return False
    if any(one.reviewer == reviewer for one in state.claims):
        return True
    if state.assigned and reviewer not in state.assigned:
        return False
    return len(state.decisions) + len(state.claims) < state.review.reviewers


async def all_states(opened: Store, wanted: ReviewFilter) -> list[ReviewState]:
    """All reviews that match, in the order of the queue."""
    return [state async for state in opened.reviews.every(wanted, now=time.time())]


async def look_for_patterns(opened: Store, states: Sequence[ReviewState]) -> list[Proposal]:
    """Searches for patterns if there are enough new disagreements with a policy."""
    names = [state.review.policy.name for state in states if state.review.policy is not None]
    return await FeedbackLoop(opened, clock=time.time).look_if_due(names)


def say_proposals(proposals: Sequence[Proposal]) -> None:
    """Notes what the search found."""
    if proposals:
        good = sum(one.status == "proposed" for one in proposals)
        say(
            f"enough disagreements to look for patterns: {len(proposals)} changes of policy were tested, {good} of "
            "them better beyond noise; nothing was changed (metajudge feedback history)"
        )
