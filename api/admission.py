"""Who is let in: a bound on work at once, a time limit, and an end with the caller who went away."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from fastapi import HTTPException, Request

T = TypeVar("T")


class ClientGoneError(Exception):
    """The caller closed the connection; there is nobody to answer."""


class TimeLimitError(Exception):
    """Work took longer than it may."""


class Admission:
    """Counts the work in flight; there is no queue, so that what is let in is not slowed by what is not."""

    def __init__(self, most: int, request_s: float) -> None:
        self.most = most
        self.request_s = request_s
        self.in_flight = 0
        self.refused = 0

    def check(self) -> None:
        """Refuses where there is no place.

        Raises:
            HTTPException: 503.
        """
        if self.in_flight >= self.most:
            self.refused += 1
            raise HTTPException(503, f"{self.most} requests are already in flight: try again", {"Retry-After": "1"})

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """One place among the requests in flight.

        Raises:
            HTTPException: 503, there is none.
        """
        self.check()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    async def work(self, request: Request, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Does work for a caller, who must not go away meanwhile.

        Raises:
            HTTPException: 503 where there is no place, 504 where it took too long.
            ClientGoneError: the caller went away; the work is cancelled.
        """
        with self.place():
            try:
                return await while_connected(request, start(), self.request_s)
            except TimeLimitError:
                detail = f"no result within {self.request_s:g} s; send it as a batch, or try again: what was paid for "
                raise HTTPException(504, f"{detail}is kept") from None


async def while_connected(request: Request, work: Coroutine[Any, Any, T], most_s: float | None = None) -> T:
    """Awaits work for a caller; it is cancelled where they go away, and with this task.

    Args:
        request: its body must have been read before.
        most_s: seconds it may take.

    Raises:
        ClientGoneError: the caller closed the connection.
        TimeLimitError: it took longer.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, timeout=most_s, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGoneError if gone.done() else TimeLimitError
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
