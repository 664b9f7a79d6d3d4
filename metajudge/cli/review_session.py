"""``metajudge review session``: one review after another, one key a decision, one key to undo it."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import typer

from metajudge.cli import review_options as given
from metajudge.cli.options import StoreOption
from metajudge.cli.review_report import print_sheet
from metajudge.cli.stored import with_store
from metajudge.errors import InputError, ReviewError
from metajudge.reviewables.deciding import Recorded, amend, decide, existing_state
from metajudge.reviewables.reviewable import Answer
from metajudge.reviewables.sheet import Sheet
from metajudge.reviews.queue import ReviewFilter
from metajudge.reviews.review import ReviewState, reviewer_name
from metajudge.reviews.seen import Onlooker
from metajudge.store import Store

UNDONE = "undone in the same session"
Recording = Callable[[Store, str, Onlooker, Answer], Awaitable[Recorded]]


def review_session(
    reviewer: given.ReviewerOption,
    judge: given.JudgeOption = None,
    category: given.CategoryOption = None,
    mine: given.MineOption = False,
    blind: given.BlindOption = False,
    store: StoreOption = None,
) -> None:
    """Decide one review after another: one key a decision, u replaces the last one, no key is preset."""
    name = reviewer_name(reviewer)
    wanted = ReviewFilter(judge=judge, category=category, assigned=name if mine else None)

    async def main(opened: Store) -> list[ReviewState]:
        found = _Session(opened, name, wanted, blind)
        await found.run()
        proposals = await given.look_for_patterns(opened, found.states)
        given.say_proposals(proposals)
        return found.states

    states = with_store(store, main, maker=given.MAKER, decides=True)
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
        sheet = await given.sheet_of(self.store, state, self.reviewer, blind=self.blind)
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
