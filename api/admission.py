"""Admission control: a limit on requests in flight, a time limit, and cancellation when the caller disconnects."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from fastapi import HTTPException, Request

T = TypeVar("T")


class ClientGoneError(Exception):
    """The caller closed the connection; no response is possible."""


class TimeLimitError(Exception):
    """Work exceeded its time limit."""


class Admission:
    """Counts requests in flight; there is no queue, so refused requests do not slow admitted ones."""

    def __init__(self, most: int, request_s: float) -> None:
        self.most = most
        self.request_s = request_s
        self.in_flight = 0
        self.refused = 0

    def check(self) -> None:
        """Refuses if the limit is reached.

        Raises:
            HTTPException: 503.
        """
        if self.in_flight >= self.most:
            self.refused += 1
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
