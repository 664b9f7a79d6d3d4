"""The one resumable loop over many records: work list, pool, done keys, budget, interruption.

Records stream through: nothing is held but the records in flight. What was finished under the same key before
is not done again; what ended without a result is, unless told otherwise.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Generic, TypeVar

from metajudge.errors import BatchPendingError, BudgetExceeded

T = TypeVar("T")
R = TypeVar("R")

BATCH = 256
"""Records whose keys are looked up at once."""


class RunEnd(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Job(Generic[T, R]):
    """One record on its way: its place in the input, its key, and how it ended before, if it did."""

    index: int
    key: str
    record: T
    earlier: R | None = None


class Stop:
    """A request to stop: no further record is started, and those in flight get ``grace_s`` seconds."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._heard: list[Callable[[RunEnd], None]] = []
        self.end = RunEnd.FINISHED

    def ask(self, end: RunEnd) -> None:
        """The first reason to stop is the one the run ends with."""
        if not self._event.is_set():
            self.end = end
            self._event.set()
            for heard in self._heard:
                heard(end)

    def tell(self, heard: Callable[[RunEnd], None]) -> None:
        """Has somebody told of the reason, as soon as there is one."""
        self._heard.append(heard)

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        await self._event.wait()


async def run_all(
    records: Iterable[T],
    work: Callable[[Job[T, R]], Awaitable[R]],
    *,
    key: Callable[[T], str],
    find_done: Callable[[Sequence[str]], Awaitable[Mapping[str, R]]],
    keep: Callable[[R], bool],
    finished: Callable[[Job[T, R], R, bool], None],
    workers: int,
    stop: Stop | None = None,
    grace_s: float = 10.0,
) -> RunEnd:
    """Works through records with a fixed pool of workers.

    Args:
        records: read lazily, in order.
        work: does one record; :class:`~metajudge.errors.BudgetExceeded` and
            :class:`~metajudge.errors.BatchPendingError` stop the run, other errors end it.
        key: a record's identity among what was done before.
        find_done: earlier results by key.
        keep: whether an earlier result stands; if not, the record is worked on again with ``Job.earlier`` set.
        finished: told each result as it comes, with True where it is an earlier one.
        workers: records in flight at most.
        stop: lets the caller stop the run.
        grace_s: seconds that records in flight have to finish once the run is to stop.

    Returns:
        How the run ended.
    """
    stop = stop or Stop()
    queue: asyncio.Queue[Job[T, R] | None] = asyncio.Queue(maxsize=2 * workers)

    async def produce() -> None:
        index = 0
        stream = iter(records)
        while not stop.asked and (batch := list(islice(stream, BATCH))):
            keys = [key(record) for record in batch]
            done = await find_done(keys)
            for name, record in zip(keys, batch, strict=True):
                earlier = done.get(name)
                job: Job[T, R] = Job(index, name, record, earlier)
                index += 1
                if earlier is not None and keep(earlier):
                    finished(job, earlier, True)
                else:
                    await queue.put(job)
        for _ in range(workers):
            await queue.put(None)

    async def consume() -> None:
        while (job := await queue.get()) is not None:
            if stop.asked:
                continue
            try:
                result = await work(job)
            except BudgetExceeded:
                stop.ask(RunEnd.BUDGET)
            except BatchPendingError:
                stop.ask(RunEnd.PENDING)
            else:
                finished(job, result, False)

    await _until_stopped([produce(), *(consume() for _ in range(workers))], stop, grace_s)
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
