"""Limits and a service's budget of the day, kept in rows of the store for all processes that have it open."""

import time
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

import orjson

from metajudge.providers.limit_book import LEASE_S, Ask, Bucket, BudgetBook, BudgetState, LimitBook
from metajudge.store.sql import Ask as Change
from metajudge.store.sql import Connection

T = TypeVar("T")
B = TypeVar("B", BudgetBook, LimitBook)

_NAMES: Final[dict[type, str]] = {LimitBook: "calls", BudgetBook: "budget"}


class StoredLimits:
    """A :class:`~metajudge.providers.limits.LimitKeeper`, and a daily budget's keeper.

    Every method is one transaction; the time is that of the process that asks.

    Args:
        change: runs a change that is safe to repeat in one transaction.
        lease_s: seconds after which the call of a process that was not heard of is taken for ended.
    """

    def __init__(self, change: Change, lease_s: float = LEASE_S) -> None:
        self._change = change
        self._lease_s = lease_s

    async def enter(self, ticket: str, ask: Ask) -> float | None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.enter`."""
        return await self._with(LimitBook, lambda book, now: book.enter(ticket, ask, now, self._lease_s))

    async def leave(self, ticket: str, ask: Ask, units: float) -> None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.leave`."""
        await self._with(LimitBook, lambda book, _: book.leave(ticket, ask, units))

    async def renew(self, tickets: Collection[str]) -> None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.renew`."""
        await self._with(LimitBook, lambda book, now: book.renew(tickets, now, self._lease_s))

    async def take(self, name: str, per_minute: float, burst_s: float) -> float:
        """Takes one unit of a rate that is counted over all processes.

        Returns:
            0, or the seconds until there is one.
        """

        def take(data: dict[str, Any], now: float) -> tuple[dict[str, Any], float]:
            bucket = Bucket(per_minute, data.get("paid_until", 0.0), burst_s)
            wait = bucket.wait(now)
            return (data, wait) if wait > 0 else ({"paid_until": bucket.take(1, now).paid_until}, 0.0)

        return await self.with_row(f"rate {name}", take)

    async def reserve_usd(self, ticket: str, usd: float, limit: float) -> BudgetState:
        """See :meth:`~metajudge.providers.limit_book.BudgetBook.reserve`."""
        return await self._with(BudgetBook, lambda book, now: book.reserve(ticket, usd, limit, now, self._lease_s))

    async def settle_usd(self, ticket: str, usd: float) -> None:
        """See :meth:`~metajudge.providers.limit_book.BudgetBook.settle`; repeated it may count twice."""
        await self._with(BudgetBook, lambda book, now: book.settle(ticket, usd, now))

    async def renew_usd(self, tickets: Collection[str]) -> None:
        """See :meth:`~metajudge.providers.limit_book.BudgetBook.renew`."""
        await self._with(BudgetBook, lambda book, now: book.renew(tickets, now, self._lease_s))

    async def spent_usd(self) -> BudgetState:
        """See :meth:`~metajudge.providers.limit_book.BudgetBook.state`."""
        return await self._with(BudgetBook, lambda book, now: book.state(now))

    async def _with(self, kind: type[B], use: Callable[[B, float], T]) -> T:
        def change(data: dict[str, Any], now: float) -> tuple[dict[str, Any], T]:
            book = kind.from_json(data) if data else kind()
            result = use(book, now)
            return book.to_json(), result

        return await self.with_row(_NAMES[kind], change)

    async def with_row(self, name: str, change: Callable[[dict[str, Any], float], tuple[dict[str, Any], T]]) -> T:
        """Changes a row's data, given with the time, in one transaction; a row that is not there has no data."""

        def changed(connection: Connection) -> T:
            locked = f"SELECT state FROM service_limits WHERE name = $1 {connection.for_update}"  # noqa: S608
            if not (found := connection.column(locked, [name])):
                connection.insert("service_limits", ("name", "state"), [(name, "{}")], "ON CONFLICT DO NOTHING")
                found = connection.column(locked, [name])
            (state,) = found
            data, result = change(orjson.loads(state), time.time())
            text = orjson.dumps(data).decode()
            if text != state:
                connection.execute("UPDATE service_limits SET state = $2 WHERE name = $1", [name, text])
            return result

        return await self._change(changed)
