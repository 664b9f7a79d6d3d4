"""Options of the commands of ``metajudge review``, what they all do with the store, and the session.

A session takes one review after another: one key a decision, one key to undo it.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import typer

from metajudge.cli.loop import say, with_store
from metajudge.cli.options import StoreOption
from metajudge.cli.review_report import print_sheet
from metajudge.errors import InputError, ReviewError
from metajudge.feedback.loop import FeedbackLoop
from metajudge.reviewables.deciding import Recorded, amend, decide, existing_state, reviewable_of, view_of
from metajudge.reviewables.reviewable import Answer
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewState, ReviewStatus, reviewer_name
from metajudge.reviews.seen import Onlooker
from metajudge.store import Store

MAKER = "vet --policy ..."

ReviewerOption = Annotated[
    str, typer.Option(help="Who reviews; default METAJUDGE_REVIEWER.", metavar="NAME", envvar="METAJUDGE_REVIEWER")
]
ViewerOption = Annotated[
    str | None, typer.Option(help="Who looks; default METAJUDGE_REVIEWER.", metavar="NAME", envvar="METAJUDGE_REVIEWER")
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


async def look_for_patterns(opened: Store, states: Sequence[ReviewState]) -> None:
    """Searches for patterns if there are enough new disagreements with a policy, and notes what it found."""
    names = [state.review.policy.name for state in states if state.review.policy is not None]
    if proposals := await FeedbackLoop(opened, clock=time.time).look_if_due(names):
        good = sum(one.status == "proposed" for one in proposals)
        say(
            f"enough disagreements to look for patterns: {len(proposals)} changes of policy were tested, {good} of "
            "them better beyond noise; nothing was changed (metajudge feedback history)"
        )


UNDONE = "undone in the same session"
Recording = Callable[[Store, str, Onlooker, Answer], Awaitable[Recorded]]


def review_session(
    reviewer: ReviewerOption,
    judge: JudgeOption = None,
    category: CategoryOption = None,
    mine: MineOption = False,
    blind: BlindOption = False,
    store: StoreOption = None,
) -> None:
    """Decide one review after another: one key a decision, u replaces the last one, no key is preset."""
    name = reviewer_name(reviewer)
    wanted = ReviewFilter(judge=judge, category=category, assigned=name if mine else None)

    async def main(opened: Store) -> list[ReviewState]:
        found = _Session(opened, name, wanted, blind)
        await found.run()
        await look_for_patterns(opened, found.states)
        return found.states

    states = with_store(store, main, maker=MAKER, decides=True)
    typer.echo(f"{len(states)} decisions in this session.")


@dataclass(slots=True)
class _Session:
    """One person's session.

    Attributes:
        states: reviews decided in it, the last one last.
    """

    store: Store
    reviewer: str
    wanted: ReviewFilter
    blind: bool
    states: list[ReviewState] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    async def run(self) -> None:
        while (state := await self._next()) is not None:
            if not await self._one(state):
                await self.store.reviews.release(state.review.review_id, self.reviewer, now=time.time())
                break
        for name in self.skipped:
            await self.store.reviews.release(name, self.reviewer, now=time.time())

    async def _next(self) -> ReviewState | None:
        """The next review that was not skipped; a skipped one stays claimed until the end."""
        state = await self.store.reviews.claim(self.reviewer, now=time.time(), wanted=self.wanted)
        if state is None or state.review.review_id not in self.skipped:
            if state is None:
                typer.echo("Nothing is left to review.")
            return state
        page = await self.store.reviews.page(self.wanted, now=time.time(), limit=1000)
        for one in page.reviews:
            if one.review.review_id in self.skipped:
                continue
            try:
                return await self.store.reviews.claim(self.reviewer, now=time.time(), review_id=one.review.review_id)
            except ReviewError:
                continue
        typer.echo("Nothing is left to review but what you skipped.")
        return None

    async def _one(self, state: ReviewState) -> bool:
        """Shows a review and asks until it is decided or skipped; False to quit."""
        sheet = await self._shown(state, "")
        progress = await self.store.reviews.progress(self.reviewer, now=time.time(), wanted=self.wanted)
        typer.echo(f"Decided: {progress}")
        while True:
            key = await _key("> ")
            if key == "q":
                return False
            if key == "s":
                self.skipped.append(state.review.review_id)
                return True
            if key == "u":
                await self._undo()
                continue
            done = await self._recorded(decide, state, await _answer(sheet, key))
            if done is not None:
                self.states.append(done.state)
                typer.echo(f"Recorded: {done.decision.outcome.value.replace('_', ' ')}.")
                return True

    async def _shown(self, state: ReviewState, title: str) -> Sheet:
        sheet = await sheet_of(self.store, state, self.reviewer, blind=self.blind)
        typer.echo(title)
        print_sheet(sheet, keys=True)
        return sheet

    async def _recorded(self, record: Recording, state: ReviewState, answer: Answer | None) -> Recorded | None:
        """What came of an answer; None without one, and where it cannot be recorded."""
        if answer is None:
            return None
        try:
            return await record(self.store, state.review.review_id, Onlooker(self.reviewer), answer)
        except (InputError, ReviewError) as error:
            typer.echo(f"Not recorded: {error}")
            return None

    async def _undo(self) -> None:
        """Asks anew about the last review decided in this session, and amends the decision."""
        if not self.states:
            typer.echo("Nothing was decided in this session.")
            return
        state = await existing_state(self.store, self.states[-1].review.review_id)
        sheet = await self._shown(state, "\nThe last decision, to be replaced; s keeps it.")
        while (key := await _key("replace by > ")) not in ("s", "q", "u"):
            answer = await _answer(sheet, key)
            done = await self._recorded(amend, state, None if answer is None else replace(answer, reason=UNDONE))
            if done is not None:
                self.states[-1] = done.state
                typer.echo(f"Replaced: {done.decision.outcome.value.replace('_', ' ')}.")
                return
        typer.echo("The decision stays.")


async def _answer(sheet: Sheet, key: str) -> Answer | None:
    """What a key means on a sheet; None where it means nothing, or nothing was written."""
    if key == "v" and sheet.hint:
        text = await _line(f"{sheet.hint}: ")
        return Answer(verdict=text, blind=sheet.blind) if text else None
    chosen = next((one for one in sheet.choices if one.key and one.key == key), None)
    if chosen is None:
        typer.echo("This key decides nothing: choose one of those listed.")
        return None
    if chosen.field == "verdict":
        return Answer(verdict=chosen.value, blind=sheet.blind)
    if chosen.value != "modify":
        return Answer(outcome=chosen.value, blind=sheet.blind)
    text = await _line(f"scores, such as {next(iter(sheet.criteria))}=3, with spaces between: ")
    return Answer(outcome="modify", scores=tuple(text.split()), blind=sheet.blind) if text else None


async def _key(prompt: str) -> str:
    """One key where there is a terminal, else the first character of a line; q at the end of the input."""

    def read() -> str:
        if sys.stdin.isatty():
            typer.echo(prompt, nl=False)
            key = typer.getchar()
            typer.echo(key if key.isprintable() else "")
            return key
        return _read_line(prompt)[:1]

    key = await asyncio.to_thread(_or_end, read, "q")
    return "q" if key in ("\x03", "\x04") else key


async def _line(prompt: str) -> str:
    return (await asyncio.to_thread(_or_end, lambda: _read_line(prompt), "")).strip()


def _read_line(prompt: str) -> str:
    typer.echo(prompt, nl=False)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _or_end(read: Callable[[], str], at_end: str) -> str:
    try:
        return read()
    except (EOFError, KeyboardInterrupt):
        return at_end
