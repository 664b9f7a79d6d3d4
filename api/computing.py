"""Work for callers: limits on requests in flight, on time and on CPU-bound work, which runs in a few threads.

Work is cancelled when its caller disconnects.
"""

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fastapi import HTTPException, Request

T = TypeVar("T")

THREADS = 2

_log = logging.getLogger("metajudge.api")


class ClientGoneError(Exception):
    """The caller closed the connection; no response is possible."""


class TimeLimitError(Exception):
    """Work exceeded its time limit."""


@dataclass(slots=True)
class Admission:
    """Counts requests in flight; there is no queue, so refused requests do not slow admitted ones."""

    most: int
    request_s: float
    in_flight: int = 0

    def check(self) -> None:
        """Refuses if the limit is reached.

        Raises:
            HTTPException: 503.
        """
        if self.in_flight >= self.most:
            raise HTTPException(
                503, f"{self.most} requests are already in flight: try again later", {"Retry-After": "1"}
            )

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """One place among the requests in flight.

        Raises:
            HTTPException: 503, the limit is reached.
        """
        self.check()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    async def work(self, request: Request, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Does work for a caller; cancelled if the caller disconnects.

        Raises:
            HTTPException: 503 if the limit is reached, 504 if the time limit is exceeded.
            ClientGoneError: the caller disconnected; the work is cancelled.
        """
        with self.place():
            try:
                return await while_connected(request, start(), self.request_s)
            except TimeLimitError:
                detail = f"no result within {self.request_s:g} s; send it as a batch, or try again: completed replies "
                raise HTTPException(504, f"{detail}are kept") from None


async def while_connected(request: Request, work: Coroutine[Any, Any, T], most_s: float | None = None) -> T:
    """Awaits work for a caller; it is cancelled with this task and when the caller disconnects.

    Args:
        request: its body must already have been read.
        most_s: time limit in seconds; None for none.

    Raises:
        ClientGoneError: the caller closed the connection.
        TimeLimitError: the time limit was exceeded.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, timeout=most_s, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGoneError if gone.done() else TimeLimitError
    finally:
        for future in (task, gone):
            future.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Computing:
    """A thread pool with a short queue.

    Args:
        most: tasks running and waiting, at most; beyond it 503.
        request_s: seconds a caller waits; then 504. A thread cannot be stopped and counts until it ends.
    """

    def __init__(self, most: int, request_s: float) -> None:
        self.most = most
        self.request_s = request_s
        self.in_progress = 0
        self._turn = asyncio.Lock()
        self._unwatched: set[asyncio.Task[None]] = set()
        self._asked: set[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = set()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="metajudge-computing")

    async def work(self, task: Callable[[], T], *, held: Path | None = None) -> T:
        """Runs a task in a thread.

        Args:
            held: a folder that is removed if the task fails, once the thread no longer writes to it.

        Raises:
            HTTPException: 503 if too many tasks are in progress, 504 if it takes too long.
        """
        try:
            self._check()
        except HTTPException:
            _remove(held)
            raise
        loop = asyncio.get_running_loop()
        job = self._threads.submit(task)
        self.in_progress += 1
        job.add_done_callback(lambda _done: loop.call_soon_threadsafe(self._ended))
        try:
            async with asyncio.timeout(self.request_s) as limit:
                return await asyncio.wrap_future(job)
        except BaseException as error:
            job.add_done_callback(lambda _done: _remove(held))
            if isinstance(error, TimeoutError) and limit.expired():
                raise self._late() from None
            raise

    async def in_turn(self, task: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Awaits work of another process, one task at a time; waiting tasks count as well.

        Args:
            task: is cancelled at the time limit and with the caller.

        Raises:
            HTTPException: as for :meth:`work`.
        """
        self._check()
        self.in_progress += 1
        try:
            async with asyncio.timeout(self.request_s) as limit, self._turn:
                return await task()
        except TimeoutError:
            if limit.expired():
                raise self._late() from None
            raise
        finally:
            self._ended()

    def _check(self) -> None:
        if self.in_progress >= self.most:
            raise HTTPException(503, f"{self.most} computations are in progress: try again later", {"Retry-After": "5"})

    def _late(self) -> HTTPException:
        return HTTPException(504, f"no result within {self.request_s:g} s: send a smaller request")

    async def ask(self, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs a CPU-bound coroutine in a thread with its own event loop; :meth:`close` cancels it."""

        async def stoppable() -> T:
            task = asyncio.current_task()
            assert task is not None
            asked = (asyncio.get_running_loop(), task)
            self._asked.add(asked)
            try:
                return await question()
            finally:
                self._asked.discard(asked)

        return await self.work(lambda: asyncio.run(stoppable()))

    def later(self, question: Callable[[], Coroutine[Any, Any, object]], name: str) -> None:
        """Schedules a task in the background; failures and refusals are logged."""

        async def done() -> None:
            try:
                await self.ask(question)
            except Exception as error:
                _log.error("background task failed: %s", name, exc_info=error)

        task = asyncio.create_task(done())
        self._unwatched.add(task)
        task.add_done_callback(self._unwatched.discard)

    def _ended(self) -> None:
        self.in_progress -= 1

    async def close(self) -> None:
        """Cancels coroutines in threads and waits for other running tasks; waiting ones are dropped."""
        for loop, asked in tuple(self._asked):
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(asked.cancel)
        for task in self._unwatched:
            task.cancel()
        await asyncio.gather(*self._unwatched, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
