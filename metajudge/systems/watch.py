"""Watches a system: fetches the verdicts that arrive there, has them vetted, and puts the assessments beside them.

A round fetches what is new since the position, with some time before it again (verdicts are given after the traces they
are about), vets what was not vetted before, and moves the position on once all of it is dealt with. The position, the
counts and the day's cost are in the store's audit log, so another process goes on from there; a verdict that is fetched
again is not asked about again, for its assessment is in the store, and a note that is put again changes nothing.
"""

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from metajudge.errors import (
    BudgetExceeded,
    ConfigurationError,
    FailureKind,
    MetajudgeError,
    NoVerdictsError,
    StoreError,
)
from metajudge.readers import open_judgments
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.store.protocol import Store
from metajudge.systems.pull import PullCounts, pull
from metajudge.systems.push import push
from metajudge.systems.system import System, note_of
from metajudge.systems.watch_state import WatchRules, WatchState
from metajudge.types import Assessment, Judgment, Status

KIND = "watch"
"""Kind of the audit log's entries that keep positions; their subject is the watch's name."""
SLICE = 200
"""Judgments that are vetted before their notes are put."""
TRIES = 5
"""So often a verdict is vetted whose vetting had no result, each time in another round."""

T = TypeVar("T")


class Vet(Protocol):
    """Vets what a watch fetched."""

    async def known(self, judgment: Judgment) -> bool:
        """Whether its assessment is in the store, so that no model is asked."""
        ...

    async def vet(self, judgment: Judgment, others: Sequence[Judgment]) -> Assessment:
        """Vets a judgment; ``others`` are judgments of its item."""
        ...

    @property
    def reads_others(self) -> bool:
        """Whether other judgments of the item can change an assessment."""
        ...


class StoppedError(Exception):
    """The watch was told to stop between two requests."""


@dataclass(slots=True)
class _Round:
    """What one round has met and not dealt with yet."""

    met: set[str] = field(default_factory=set)
    left: int = 0


class Watch:
    """One system that is watched.

    Args:
        opened: opens the system, with what pauses between its requests.
        vet: vets.
        store: keeps the position.
        told: called after each round in which something was vetted or went wrong, with the error.
        clock: gives the time, in UTC.

    Raises:
        ConfigurationError: the system cannot be opened.
    """

    def __init__(
        self,
        rules: WatchRules,
        opened: Callable[[Callable[[float], None]], System],
        vet: Vet,
        store: Store,
        *,
        told: Callable[[WatchState, Exception | None], None] = lambda _state, _error: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.rules = rules
        self.state = WatchState(rules.name)
        self._leaving = threading.Event()
        self._system = opened(self._pause)
        self._vet = vet
        self._store = store
        self._told = told
        self._clock = clock
        self._slice: Stop | None = None
        self._refused: str | None = None
        self._failure: Exception | None = None
        self._done: set[str] = set()
        self._tries: dict[str, int] = {}
        self._next = 0.0

    async def run(self) -> None:
        """Watches until it is cancelled, or told to leave in a round; a round that failed is tried again."""
        try:
            while not self.state.stopped:
                await self.round()
                if not self.state.stopped:
                    await asyncio.sleep(self.rules.every_s)
        finally:
            self.leave()
            self._system.close()

    def leave(self) -> None:
        """No further request is made and no further judgment is begun."""
        self.state.stopped = True
        self._leaving.set()
        if self._slice is not None:
            self._slice.ask(RunEnd.INTERRUPTED)

    async def round(self) -> None:
        """Fetches once and deals with what is new."""
        before = self.state.vetted, self.state.failed
        self._refused = self._failure = None
        try:
            await self._restore()
            if not self._spent():
                with tempfile.TemporaryDirectory(prefix="metajudge-watch-", ignore_cleanup_errors=True) as work:
                    await self._deal_with(Path(work) / "fetched")
        except StoppedError:
            return
        except Exception as error:  # a round that fails must not end the watch
            self._failure, self._refused = error, _said(error)
        self.state.error = self._refused
        self.state.rounds += 1
        self.state.round_at = self._clock().timestamp()
        if self.state.error is not None or (self.state.vetted, self.state.failed) != before:
            self._told(self.state, self._failure)

    async def _restore(self) -> None:
        """The position from the store; of another source only what the day cost is used."""
        if self.state.source is not None:
            return
        source = await self._in_thread(lambda: self._system.source)
        entries = await self._store.audit_log.entries(KIND, self.rules.name, 1)
        earlier = entries[-1].payload if entries else {}
        names = self.state.kept if earlier.get("source") == source else ("day", "spent_usd")
        for name in names:
            setattr(self.state, name, earlier.get(name, getattr(self.state, name)))
        self.state.source = source

    async def _deal_with(self, folder: Path) -> None:
        kept, started = self.state.kept, self._clock()
        counts = await self._in_thread(lambda: pull(self._system, folder, self._since(), now=started))
        done = _Round()
        if any(counts.new.values()):
            try:
                await self._vet_new(folder, done)
            finally:
                await self._keep(kept)
        if not done.left:
            self._move_on(counts, started)
            self._done = done.met
            self._tries = {name: count for name, count in self._tries.items() if name in done.met}
        await self._keep(kept)

    def _since(self) -> str:
        position = self.state.position
        if position is None:
            return self.rules.since
        return (datetime.fromisoformat(position) - timedelta(hours=self.rules.again_h)).isoformat()

    def _move_on(self, counts: PullCounts, started: datetime) -> None:
        """Sets the position: the newest record, or where records say no time, the time of the round."""
        newest = counts.newest or (started if counts.new else None)
        earlier = self.state.position
        if newest is not None and (earlier is None or newest > datetime.fromisoformat(earlier)):
            self.state.position = newest.isoformat()

    async def _keep(self, kept: dict[str, Any]) -> None:
        if self.state.kept != kept:
            now = self._clock().timestamp()
            await self._store.audit_log.append(KIND, self.rules.name, self.state.kept, now=now)
            kept.clear()
            kept.update(self.state.kept)

    async def _vet_new(self, folder: Path, done: _Round) -> None:
        """Vets what was not dealt with before, a slice after the other.

        Raises:
            InputError: what was fetched cannot be read.
        """
        try:
            source = await self._in_thread(lambda: open_judgments([folder]))
        except NoVerdictsError:
            return
        arrived = self._arrived(source, done)
        while some := await self._in_thread(lambda: list(islice(arrived, SLICE))):
            others = await self._in_thread(partial(_around, folder, some)) if self._vet.reads_others else {}
            found: list[tuple[Judgment, Assessment | None]] = []
            end = await self._vet_slice(some, others, found)
            await self._settle(found, done)
            if end is not RunEnd.FINISHED:
                done.left += len(some) - len(found)
                if end is RunEnd.BUDGET:
                    self._spent()
                return
        self.state.rejected = source.rejects

    def _arrived(self, judgments: Iterable[Judgment], done: _Round) -> Iterator[Judgment]:
        for judgment in judgments:
            name = judgment.vetting_digest
            if name in self._done:
                done.met.add(name)
            else:
                yield judgment

    async def _vet_slice(
        self,
        some: Sequence[Judgment],
        others: dict[str, list[Judgment]],
        found: list[tuple[Judgment, Assessment | None]],
    ) -> RunEnd:
        async def work(job: Job[Judgment, Assessment | None]) -> Assessment | None:
            around = others.get(job.record.item.id, ())
            try:
                if await self._vet.known(job.record):
                    return await self._vet.vet(job.record, around)
                await self._pace()
                if self._spent():
                    raise BudgetExceeded("the budget of the day is spent")
                assessment = await self._vet.vet(job.record, around)
            except (BudgetExceeded, ConfigurationError, StoreError):
                raise  # the others would meet the same
            except Exception as error:
                self._failure, self._refused = error, f"judgment {job.record.id!r}: {_said(error)}"
                return None
            self.state.vetted += _is_final(assessment)
            self._count_cost(assessment)
            return assessment

        def finished(job: Job[Judgment, Assessment | None], assessment: Assessment | None, _settled: bool) -> None:
            found.append((job.record, assessment))

        if self.state.stopped:
            raise StoppedError
        self._slice = Stop()
        return await run_all(some, work, finished=finished, workers=self.rules.workers, stop=self._slice, grace_s=1.0)

    async def _settle(self, found: list[tuple[Judgment, Assessment | None]], done: _Round) -> None:
        """Puts notes on what was vetted; what failed, or was not taken, is left for the next round."""
        ended = []
        for judgment, assessment in found:
            name = judgment.vetting_digest
            tries = self._tries[name] = self._tries.get(name, 0) + 1
            if tries < TRIES and (assessment is None or not _is_final(assessment)):
                done.left += 1
                continue
            ended.append((name, assessment))
        notable = [assessment for _, assessment in ended if assessment is not None]
        if self.rules.puts and notable and not await self._put(notable):
            done.left += len(ended)
            return
        for name, assessment in ended:
            done.met.add(name)
            self._done.add(name)
            self.state.failed += assessment is None or not _is_final(assessment)

    async def _put(self, assessments: Sequence[Assessment]) -> bool:
        """Puts notes; whether each is there now, or is about what is gone."""
        notes = [note_of(one, name=self.rules.note, link=self.rules.link) for one in assessments]
        with tempfile.TemporaryDirectory(prefix="metajudge-watch-", ignore_cleanup_errors=True) as work:
            ledger = Path(work) / "pushed.jsonl"
            counts = await self._in_thread(lambda: push(notes, self._system, ledger, clock=time.time))
        self.state.put += counts.created + counts.updated
        self.state.not_put += counts.failed
        if counts.failed > counts.missing:
            self._refused = counts.stopped or counts.failures[-1]
        return counts.failed == counts.missing and counts.stopped is None

    async def _pace(self) -> None:
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + 60 / self.rules.items_per_minute
        await asyncio.sleep(at - now)

    def _spent(self) -> bool:
        """Whether the day's budget is spent; a new day begins at none."""
        today = self._clock().date().isoformat()
        if self.state.day != today:
            self.state.day, self.state.spent_usd = today, 0.0
        spent = self.rules.budget_usd is not None and self.state.spent_usd >= self.rules.budget_usd
        self.state.waits_for = "budget" if spent else None
        return spent

    def _count_cost(self, assessment: Assessment) -> None:
        """Adds what an assessment cost.

        Raises:
            ConfigurationError: it is not known, and there is a budget.
        """
        if assessment.cost_usd is not None:
            self.state.spent_usd += assessment.cost_usd
        elif self.rules.budget_usd is not None:
            self.leave()
            raise ConfigurationError(
                f"watch {self.rules.name!r} has ended: what a reply costs is unknown, so its budget cannot be kept; "
                "give the agent a price, or leave the budget out"
            )

    def _pause(self, seconds: float) -> None:
        if self._leaving.wait(seconds):
            raise StoppedError

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Runs work in a thread that nothing waits for when the process ends."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def ended(value: T | None, error: BaseException | None) -> None:
            if future.done():  # cancelled meanwhile
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)  # type: ignore[arg-type]

        def run() -> None:
            value, failure = None, None
            try:
                value = work()
            except BaseException as error:
                failure = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended, value, failure)

        threading.Thread(target=run, name=f"metajudge-watch-{self.rules.name}", daemon=True).start()
        return await future


def _said(error: Exception) -> str:
    """What is told of an error; the message of one that is not ours may be anything."""
    return str(error) if isinstance(error, MetajudgeError) else f"unexpected {type(error).__name__}: see the log"


def _is_final(assessment: Assessment) -> bool:
    """Whether asking again could not change it: it has a result, there is no verdict, or no model was to be asked."""
    failure = assessment.failure
    without_verdict = failure is not None and failure.kind is FailureKind.NO_VERDICT
    return assessment.status is Status.ASSESSED or without_verdict or not assessment.agents


def _around(folder: Path, some: Sequence[Judgment]) -> dict[str, list[Judgment]]:
    """The fetched judgments of the items of some, by the item's id."""
    wanted = {judgment.item.id for judgment in some}
    found: dict[str, list[Judgment]] = {}
    for judgment in open_judgments([folder]):
        if judgment.item.id in wanted:
            found.setdefault(judgment.item.id, []).append(judgment)
    return found
