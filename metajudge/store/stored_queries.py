"""The reading half of a store: queries in SQL for both databases."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from metajudge.store import queries
from metajudge.store.protocol import RunRecord
from metajudge.store.sql import Connection
from metajudge.types import Assessment, Judgment

T = TypeVar("T")


class StoredQueries(ABC):
    """What a :class:`~metajudge.store.protocol.Store` answers by :meth:`ask` alone; see there."""

    @abstractmethod
    async def ask(self, question: Callable[[Connection], T], /) -> T: ...

    async def judgments(self) -> list[Judgment]:
        return await self.ask(queries.judgments)

    async def find_judgment(self, judgment_digest: str) -> Judgment | None:
        return await self.ask(lambda connection: queries.find_judgment(connection, judgment_digest))

    async def newest_assessments(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
        return await self.ask(lambda connection: queries.newest_assessments(connection, after, limit))

    async def run_assessments(self, run_id: str, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
        return await self.ask(lambda connection: queries.run_assessments(connection, run_id, after, limit))

    async def runs(self, limit: int = 50) -> list[RunRecord]:
        return await self.ask(lambda connection: queries.runs(connection, limit))

    async def show(self, name: str) -> dict[str, Any] | None:
        return await self.ask(lambda connection: queries.show(connection, name))
