"""Limits that several processes keep together: calls in flight, requests and tokens a minute.

Every process asks one keeper before each call and tells it when the call has ended. The keeper's rule is
:class:`~metajudge.providers.limit_book.LimitBook`; the book is a row of the store (:mod:`metajudge.store.limits`).
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

from metajudge.concurrency import heard
from metajudge.errors import MetajudgeError
from metajudge.providers.limit_book import LEASE_S, Ask

POLL_S: Final = (0.01, 0.25)
"""The first and the longest pause between two questions for a free place or for room."""


class LimitKeeper(Protocol):
    """Where the :class:`~metajudge.providers.limit_book.LimitBook` is kept; every method is one atomic change of it."""

    async def enter(self, ticket: str, ask: Ask) -> float | None: ...

    async def leave(self, ticket: str, ask: Ask, units: float) -> None: ...

    async def renew(self, tickets: Collection[str]) -> None: ...


@dataclass(slots=True)
class Turn:
    """A call that was let in, and the tokens it took beyond those expected (negative: fewer)."""

    units: float = 0.0


class SharedPlaces:
    """One process's calls at a keeper. Use it in one event loop.

    Waiting is first come, first served within the process: only the first in line at an endpoint asks, again when a
    call of this process has ended, and a few times a second for others' calls.

    Args:
        keeper: shared with other processes.
    """

    def __init__(self, keeper: LimitKeeper) -> None:
        self._keeper = keeper
        self._ended = asyncio.Event()
        self._first: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._held: set[str] = set()
        self._renewing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def turn(self, ask: Ask) -> AsyncIterator[Turn]:
        """Waits until a call may start, and holds its place until it has ended.

        Raises:
            MetajudgeError: the keeper cannot be asked; nothing is sent then.
        """
        ticket, turn = uuid.uuid4().hex, Turn()
        self._held.add(ticket)  # before it is asked for: a cancelled question may have been granted
        try:
            async with self._first[ask.endpoint]:
                pause = POLL_S[0]
                while (wait := await self._keeper.enter(ticket, ask)) != 0:
                    if wait is None:
                        await heard(self._ended, pause)
                    else:
                        await asyncio.sleep(max(wait, POLL_S[0]))
                    self._ended.clear()
                    pause = min(2 * pause, POLL_S[1])
            if self._renewing is None:
                self._renewing = asyncio.create_task(self._renew())
            yield turn
        finally:
            self._held.discard(ticket)
            with suppress(MetajudgeError):  # unreachable: the ticket expires
                await asyncio.shield(self._keeper.leave(ticket, ask, turn.units))
            self._ended.set()

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(MetajudgeError):
                await self._keeper.renew(tuple(self._held))
        self._renewing = None
