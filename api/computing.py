"""CPU-bound work, in a few threads, so that it does not block other requests."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fastapi import HTTPException

T = TypeVar("T")

THREADS = 2

_log = logging.getLogger("metajudge.api")


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

    async def ask(self, question: Callable[[], Coroutine[Any, Any, T]], *, held: Path | None = None) -> T:
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

        return await self.work(lambda: asyncio.run(stoppable()), held=held)

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
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(asked.cancel)
        for task in self._unwatched:
            task.cancel()
        await asyncio.gather(*self._unwatched, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
