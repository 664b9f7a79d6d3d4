"""Bounds on what runs at once and on what starts in a minute, for all agents of a run together."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from metajudge.errors import ConfigurationError, RateLimitedError
from metajudge.providers.model import Endpoint, Model, ModelRequest
from metajudge.providers.slots import AdaptiveSlots
from metajudge.providers.usage_estimate import UsageEstimate
from metajudge.providers.wrapper import ModelWrapper
from metajudge.types import Reply

_BURST_S = 1.0


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What a run may ask of its endpoints.

    Attributes:
        concurrency: calls in flight, over all endpoints.
        per_endpoint: calls in flight at one endpoint, None for no other bound than ``concurrency``.
        requests_per_minute: calls started at one endpoint, None for no bound.
        tokens_per_minute: tokens of input and output at one endpoint, None for no bound.
    """

    concurrency: int = 64
    per_endpoint: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        for name in ("concurrency", "per_endpoint", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigurationError(f"{name} must be a positive number, not {value}")


class Rate:
    """A token bucket with a queue: first come, first served, without polling.

    Args:
        per_minute: units a minute, spread evenly; at most one second's worth starts at once.
        clock: monotonic seconds.
        sleep: waits a number of seconds.
    """

    def __init__(
        self,
        per_minute: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._seconds_per_unit = 60.0 / per_minute
        self._burst_s = max(0.0, _BURST_S - self._seconds_per_unit)
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._paid_until = -float("inf")

    async def take(self, units: float) -> None:
        """Waits until this many units may start. A call larger than the burst waits for a full bucket only."""
        async with self._turn:
            while (wait := self._paid_until - self._burst_s - self._clock()) > 0:
                await self._sleep(wait)
            self._paid_until = max(self._paid_until, self._clock()) + units * self._seconds_per_unit

    def correct(self, units: float) -> None:
        """Charges (or, where negative, gives back) what an estimate got wrong."""
        self._paid_until += units * self._seconds_per_unit


class _EndpointLimits:
    def __init__(self, settings: LimitSettings) -> None:
        per_minute = settings.requests_per_minute, settings.tokens_per_minute
        self.slots = AdaptiveSlots(settings.per_endpoint or settings.concurrency)
        self.requests = None if per_minute[0] is None else Rate(per_minute[0])
        self.tokens = None if per_minute[1] is None else Rate(per_minute[1])


class Limits:
    """The limits of one run, shared by all its models.

    Args:
        settings: for the run, and for every endpoint without settings of its own.
        endpoints: what differs at particular endpoints (their ``concurrency`` is not looked at).
    """

    def __init__(
        self, settings: LimitSettings | None = None, endpoints: Mapping[Endpoint, LimitSettings] | None = None
    ) -> None:
        self.settings = settings or LimitSettings()
        self.slots = asyncio.Semaphore(self.settings.concurrency)
        self._own = endpoints or {}
        self._endpoints: dict[Endpoint, _EndpointLimits] = {}

    def at(self, endpoint: Endpoint) -> _EndpointLimits:
        """The limits of one endpoint, shared by all its callers."""
        found = self._endpoints.get(endpoint)
        if found is None:
            found = self._endpoints[endpoint] = _EndpointLimits(self._own.get(endpoint, self.settings))
        return found


class LimitedModel(ModelWrapper):
    """Waits for its turn.

    The endpoint's slot is taken first, then its rates, then a slot of the run: who waits for one endpoint's
    minute keeps no other endpoint from being asked. Waiting is first come, first served. While an endpoint
    keeps answering that it is asked too much, it is asked less at once.
    """

    def __init__(self, inner: Model, limits: Limits, estimate: UsageEstimate) -> None:
        super().__init__(inner)
        self._run_slots = limits.slots
        self._here = limits.at(inner.endpoint)
        self._estimate = estimate

    async def complete(self, request: ModelRequest) -> Reply:
        here = self._here
        mark = await here.slots.acquire()
        limited: bool | None = None
        try:
            if here.requests is not None:
                await here.requests.take(1)
            if here.tokens is not None:
                reply = await self._with_tokens(request, here.tokens)
            else:
                async with self._run_slots:
                    reply = await self._inner.complete(request)
            limited = False
            return reply
        except RateLimitedError as error:
            limited = error.retryable
            raise
        finally:
            here.slots.release(mark, limited)

    async def _with_tokens(self, request: ModelRequest, rate: Rate) -> Reply:
        estimate = self._estimate.of(request)
        expected = estimate.input_tokens + estimate.output_tokens
        await rate.take(expected)
        async with self._run_slots:
            reply = await self._inner.complete(request)
        if reply.usage is not None:
            rate.correct(reply.usage.input_tokens + reply.usage.output_tokens - expected)
            self._estimate.learn(request, reply.usage)
        return reply
