"""Requests a minute of each key, counted over all replicas in their PostgreSQL database."""

from metajudge.store.postgres_store import PostgresStore

from .keys import Caller
from .limits import BURST_S, refuse_until


class SharedRates:
    """:class:`~.limits.Rates` of all replicas together.

    Args:
        per_minute: of each key without a rate of its own; None for no limit.
    """

    def __init__(self, store: PostgresStore, per_minute: int | None) -> None:
        self._store = store
        self._per_minute = per_minute

    async def check(self, caller: Caller, what: str) -> None:
        rate = caller.requests_per_minute or self._per_minute
        if rate is not None:
            refuse_until(await self._store.limits.take(caller.name, rate, BURST_S), what)
