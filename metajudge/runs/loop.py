"""The one resumable loop over many records: blocks in, lookups in bulk, a pool for what has to be asked.

Records stream through: only those in flight are held. A block of records is settled at once from what earlier runs
left; the others go to the workers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count, islice
from typing import Generic, TypeVar

from metajudge.errors import BatchPendingError, BudgetExceeded

T = TypeVar("T")
R = TypeVar("R")

BLOCK = 256
"""Records in a block."""


class RunEnd(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    PENDING = "pending"
    FAILED = "failed"

    @property
    def next_step(self) -> str | None:
        """What the user can do about a run that stopped before its end; None for a finished one."""
        return _NEXT_STEPS.get(self)


_NEXT_STEPS = {
    RunEnd.INTERRUPTED: "Interrupted. Run the same command again to continue from here.",
    RunEnd.PENDING: "Batches are with their provider. Run the same command again to collect them and continue.",
    RunEnd.BUDGET: "The budget is spent. Run the same command with a larger budget to continue from here.",
}


@dataclass(slots=True)
class Job(Generic[T, R]):
    """One record with its place in the input.

    Attributes:
        key: identity of the work, for tasks that look up earlier results; set by ``settle``.
        earlier: the result of an earlier run; set by ``settle``.
    """

    index: int
    record: T
    key: str = ""
    earlier: R | None = None


class Stop:
    """A request to stop: no further record is started, and those in flight get ``grace_s`` seconds."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[RunEnd], None]] = []
        self.end = RunEnd.FINISHED

    def ask(self, end: RunEnd) -> None:
        """Stops the run; the first reason given is the one the run ends with."""
        if not self._event.is_set():
            self.end = end
            self._event.set()
            for callback in self._callbacks:
                callback(end)

    def on_ask(self, callback: Callable[[RunEnd], None]) -> None:
        """Calls ``callback`` with the reason once the run is asked to stop."""
        self._callbacks.append(callback)

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        await self._event.wait()


async def run_all(
    records: Iterable[T],
    work: Callable[[Job[T, R]], Awaitable[R]],
    *,
    finished: Callable[[Job[T, R], R, bool], None],
    workers: int,
    settle: Callable[[Sequence[Job[T, R]]], Awaitable[Sequence[R | None]]] | None = None,
    stop: Stop | None = None,
    grace_s: float = 10.0,
    block: int = BLOCK,
) -> RunEnd:
    """Works through records with a fixed pool of workers.

    Args:
        records: read lazily, in order.
        work: does one record; :class:`~metajudge.errors.BudgetExceeded` and
            :class:`~metajudge.errors.BatchPendingError` stop the run; other errors stop it, too, and are raised once
            the records in flight have ended: what was asked and paid for is kept.
        finished: called with each result as it comes, with True where ``settle`` gave it.
        workers: records in flight at most.
        settle: gives the results of those records of a block that need no work, None for the others; None: every
            record goes to the workers.
        stop: lets the caller stop the run.
        grace_s: seconds that records in flight have to finish once the run is to stop.
        block: records in a block at most.

    Returns:
        How the run ended.
    """
    stop = stop or Stop()
    queue: asyncio.Queue[Job[T, R] | None] = asyncio.Queue(maxsize=2 * workers)
    errors: list[Exception] = []

    def fail(error: Exception) -> None:
        errors.append(error)
        stop.ask(RunEnd.FAILED)

    async def produce() -> None:
        try:
            await read()
        except Exception as error:
            fail(error)
        for _ in range(workers):
            await queue.put(None)

    async def read() -> None:
        places, stream = count(), iter(records)
        while not stop.asked and (jobs := [Job[T, R](next(places), one) for one in islice(stream, block)]):
            settled: Sequence[R | None] = [None] * len(jobs) if settle is None else await settle(jobs)
            for job, result in zip(jobs, settled, strict=True):
                if result is None:
                    await queue.put(job)
                else:
                    finished(job, result, True)

    async def consume() -> None:
        while (job := await queue.get()) is not None:
            if stop.asked:
                continue
            try:
                finished(job, await work(job), False)
            except BudgetExceeded:
                stop.ask(RunEnd.BUDGET)
            except BatchPendingError:
                stop.ask(RunEnd.PENDING)
            except Exception as error:
                fail(error)

    await _until_stopped([produce(), *(consume() for _ in range(workers))], stop, grace_s)
    if errors:
        raise errors[0]
    return stop.end


async def _until_stopped(parts: list[Awaitable[None]], stop: Stop, grace_s: float) -> None:
    """Runs the parts to their end; once a stop is asked for, they get ``grace_s`` seconds and are cancelled."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    watch = asyncio.ensure_future(stop.wait())
    pending = set(tasks)
    try:
        while pending and not stop.asked:
            done, pending = await asyncio.wait({*pending, watch}, return_when=asyncio.FIRST_COMPLETED)
            pending.discard(watch)
            for task in done - {watch}:
                task.result()
        if pending:
            await asyncio.wait(pending, timeout=grace_s)
    finally:
        watch.cancel()
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
