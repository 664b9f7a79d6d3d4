"""One book of limits for all workers: it lives in a process of its own, and workers ask it before every call."""

import time
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

from metajudge.providers.limit_book import Ask, LimitBook
from metajudge.providers.shared_limits import LimitKeeper


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


def remote_limits(actor: Any) -> LimitKeeper:
    """A worker's view of a :class:`LimitActor`, by its handle: what its methods return can be awaited."""
    methods = SimpleNamespace(enter=actor.enter.remote, leave=actor.leave.remote, renew=actor.renew.remote)
    return cast("LimitKeeper", methods)
