"""Limits that several processes keep together over their PostgreSQL database: a row each has what is in use."""

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol, TypeVar

import orjson

from metajudge.providers.budget_book import BudgetBook, BudgetState
from metajudge.providers.limit_book import LEASE_S, Ask, Bucket, LimitBook
from metajudge.store.sql import Connection

T = TypeVar("T")

_CALLS: Final = "calls"
_BUDGET: Final = "budget"
_ADD: Final = "INSERT INTO service_limits (name, state) VALUES ($1, $2) ON CONFLICT DO NOTHING"
# The database's clock: those of the machines may differ.
_LOCK: Final = """
    SELECT state, extract(epoch FROM clock_timestamp())::FLOAT8 FROM service_limits WHERE name = $1 FOR UPDATE
"""
_SET: Final = "UPDATE service_limits SET state = $2 WHERE name = $1"


class Changes(Protocol):
    """Runs a change that is safe to repeat in one transaction, such as ``PostgresStore.change_again``."""

    async def __call__(self, change: Callable[[Connection], T], /) -> T: ...


class PostgresLimits:
    """Keeps limits (:class:`~metajudge.providers.shared_limits.LimitKeeper`) and a service's daily budget.

    Every method is one transaction.

    Args:
        change: runs transactions.
        lease_s: seconds after which the call of a process that was not heard of is taken for ended.
    """

    def __init__(self, change: Changes, lease_s: float = LEASE_S) -> None:
        self._change = change
        self._lease_s = lease_s

    async def enter(self, ticket: str, ask: Ask) -> float | None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.enter`."""
        return await self._with_book(lambda book, now: book.enter(ticket, ask, now, self._lease_s))

    async def leave(self, ticket: str, ask: Ask, units: float) -> None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.leave`."""
        await self._with_book(lambda book, _now: book.leave(ticket, ask, units))

    async def renew(self, tickets: Collection[str]) -> None:
        """See :meth:`~metajudge.providers.limit_book.LimitBook.renew`."""
        await self._with_book(lambda book, now: book.renew(tickets, now, self._lease_s))

    async def take(self, name: str, per_minute: float, burst_s: float) -> float:
        """Takes one unit of a rate of its own, such as that of a key of the service.

        Returns:
            0, or the seconds until there is one.
        """

        def take(data: dict[str, Any], now: float) -> tuple[dict[str, Any], float]:
            bucket = Bucket(per_minute, data.get("paid_until", 0.0), burst_s)
            wait = bucket.wait(now)
            return (data, wait) if wait > 0 else ({"paid_until": bucket.take(1, now).paid_until}, 0.0)

        return await self._with_row(f"rate {name}", take)

    async def reserve_usd(self, ticket: str, usd: float, limit: float) -> BudgetState:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.reserve`."""
        return await self._with_budget(lambda book, now: book.reserve(ticket, usd, limit, now, self._lease_s))

    async def settle_usd(self, ticket: str, usd: float) -> None:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.settle`; repeated it may count twice."""
        await self._with_budget(lambda book, now: book.settle(ticket, usd, now))

    async def renew_usd(self, tickets: Collection[str]) -> None:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.renew`."""
        await self._with_budget(lambda book, now: book.renew(tickets, now, self._lease_s))

    async def spent_usd(self) -> BudgetState:
        """See :meth:`~metajudge.providers.budget_book.BudgetBook.state`."""
        return await self._with_budget(lambda book, now: book.state(now))

    async def _with_budget(self, use: Callable[[BudgetBook, float], T]) -> T:
        def change(data: dict[str, Any], now: float) -> tuple[dict[str, Any], T]:
            book = BudgetBook.from_json(data) if data else BudgetBook()
            result = use(book, now)
            return book.to_json(), result

        return await self._with_row(_BUDGET, change)

    async def _with_book(self, use: Callable[[LimitBook, float], T]) -> T:
        def change(data: dict[str, Any], now: float) -> tuple[dict[str, Any], T]:
            book = LimitBook.from_json(data) if data else LimitBook()
            result = use(book, now)
            return book.to_json(), result

        return await self._with_row(_CALLS, change)

    async def _with_row(self, name: str, change: Callable[[dict[str, Any], float], tuple[dict[str, Any], T]]) -> T:
        def changed(connection: Connection) -> T:
            rows = connection.execute(_LOCK, [name]).fetchall()
            if not rows:
                connection.execute(_ADD, [name, "{}"])
                rows = connection.execute(_LOCK, [name]).fetchall()
            ((state, now),) = rows
            data, result = change(orjson.loads(state), now)
            text = orjson.dumps(data).decode()
            if text != state:
                connection.execute(_SET, [name, text])
            return result

        return await self._change(changed)
