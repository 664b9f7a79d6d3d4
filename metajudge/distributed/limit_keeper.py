"""One book of limits for all workers: it lives in a process of its own, and workers ask it before every call."""

import asyncio
import time
from collections.abc import Collection
from typing import Any

from metajudge.providers.limit_book import Ask, LimitBook


class LimitActor:
    """The book of a run; Ray runs it as an actor, on a clock of its own."""

    def __init__(self) -> None:
        self._book = LimitBook()

    async def enter(self, ticket: str, ask: Ask) -> float | None:
        return self._book.enter(ticket, ask, time.monotonic())

    async def leave(self, ticket: str, ask: Ask, units: float) -> None:
        self._book.leave(ticket, ask, units)

    async def renew(self, tickets: Collection[str]) -> None:
        self._book.renew(tickets, time.monotonic())


class RemoteLimits:
    """A worker's :class:`~metajudge.providers.shared_limits.LimitKeeper`.

    Args:
        actor: handle of a :class:`LimitActor`.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def enter(self, ticket: str, ask: Ask) -> float | None:
        found: float | None = await _answer(self._actor.enter.remote(ticket, ask))
        return found

    async def leave(self, ticket: str, ask: Ask, units: float) -> None:
        await _answer(self._actor.leave.remote(ticket, ask, units))

    async def renew(self, tickets: Collection[str]) -> None:
        await _answer(self._actor.renew.remote(tuple(tickets)))


async def _answer(asked: Any) -> Any:
    return await asyncio.wrap_future(asked.future())
