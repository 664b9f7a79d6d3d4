"""Replies that are stored already are not asked for again, and identical calls in flight share one answer."""

import asyncio
import copy
from dataclasses import replace

from metajudge.errors import MetajudgeError, ProviderError
from metajudge.providers.model import CallCache, Model, ModelRequest
from metajudge.providers.wrapper import CallAttempt, ModelWrapper
from metajudge.types import Reply


class CachedModel(ModelWrapper):
    """Looks a request up by its key before it is sent.

    A request identical to one in flight waits for that one's outcome; its reply counts as cached, its error
    as not sent. A ``fresh`` request neither looks up nor joins.

    Args:
        cache: the stored replies, None to share calls in flight only.
    """

    def __init__(self, inner: Model, cache: CallCache | None) -> None:
        super().__init__(inner)
        self._cache = cache
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}

    async def complete(self, request: ModelRequest) -> Reply:
        call = CallAttempt.of(self._inner, request)
        if call.fresh:
            return await self._inner.complete(call)
        while (flight := self._flights.get(call.key)) is not None:
            shared = await self._join(flight)
            if shared is not None:
                return shared
        flight = asyncio.get_running_loop().create_future()
        self._flights[call.key] = flight
        try:
            reply = await self._find_or_ask(call)
        except MetajudgeError as error:
            flight.set_exception(error)
            flight.exception()  # perhaps no one awaits it: the error is raised here in any case
            raise
        else:
            flight.set_result(reply)
            return reply
        finally:
            if not flight.done():  # cancelled, or a defect: the next in line asks for itself
                flight.set_result(None)
            del self._flights[call.key]

    async def _find_or_ask(self, call: CallAttempt) -> Reply:
        if self._cache is not None and (stored := await self._cache.find_reply(call.key)) is not None:
            return stored
        return await self._inner.complete(call)

    @staticmethod
    async def _join(flight: "asyncio.Future[Reply | None]") -> Reply | None:
        try:
            reply = await asyncio.shield(flight)
        except MetajudgeError as error:
            same = copy.copy(error)
            if isinstance(same, ProviderError):
                same.sent, same.attempts = False, 0
                same.usage, same.cost_usd = None, 0.0
            raise same from error
        return None if reply is None else replace(reply, cached=True, attempts=0)
