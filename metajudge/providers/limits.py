"""Bounds on what runs at once and on what starts in a minute, for all agents of a run together."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from metajudge.errors import ConfigurationError, ModelTimeoutError, OverloadedError, ProviderError, RateLimitedError
from metajudge.providers.limit_book import Ask, Bucket
from metajudge.providers.model import Endpoint, Model, ModelRequest, is_local
from metajudge.providers.shared_limits import LimitKeeper, SharedPlaces
from metajudge.providers.usage_estimate import UsageEstimate
from metajudge.providers.wrapper import ModelWrapper
from metajudge.types import Reply

_WINDOW = 20
_TOO_MANY = 8
_TIMEOUT_COUNTS = 4
"""A time-out shows more than a refusal: two of them halve the slots."""
_SLOWER = 2.0
"""By how much answers may get slower while slots are added."""
DEFAULT_CONCURRENCY = 64
FIRST_LOCAL = 4
"""Slots that a server on this machine begins with, where no number was given."""


class AdaptiveSlots:
    """A first come, first served semaphore whose size follows the server.

    Refusals ("rate limited", "overloaded") and time-outs halve it: 8 refusals or 2 time-outs of the last 20 ends. Each
    other answer adds one divided by the number of slots (additive increase, multiplicative decrease, as in TCP's
    congestion control). Single refusals among good answers change nothing. Only ends of calls that started after the
    last halving count towards the next. Where it begins with fewer than it may have, each answer adds one, until
    answers take twice as long as the first ones did: more at once would only wait in the server. Answers that take
    more than half of the time allowed halve it, too.

    Args:
        most: the number of slots while nothing is refused.
        first: how many there are in the beginning; None for all.
    """

    def __init__(self, most: int, first: int | None = None) -> None:
        self._most = most
        self._allowed = float(most if first is None else min(first, most))
        self._starting = self._follows = self._allowed < most
        self._taken = 0
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()
        self._recent: deque[int] = deque(maxlen=_WINDOW)
        self._era = 0
        self._fastest: float | None = None
        self._usual: float | None = None

    @property
    def allowed(self) -> int:
        """How many slots there are at present."""
        return int(self._allowed)

    async def acquire(self) -> int:
        """Waits for a slot.

        Returns:
            A mark to hand to :meth:`release`.
        """
        async with self._turn:
            while self._taken >= self.allowed:
                self._freed.clear()
                await self._freed.wait()
            self._taken += 1
            return self._era

    def release(
        self, mark: int, error: BaseException | None, latency_s: float | None = None, timeout_s: float | None = None
    ) -> None:
        """Gives a slot back.

        Args:
            error: how the call ended; None for an answer.
            latency_s: how long the answer took.
            timeout_s: how long it was allowed to take.
        """
        self._taken -= 1
        self._freed.set()
        pressed = _pressure(error)
        if pressed is None:
            return
        if not pressed:
            slow = latency_s is not None and self._slow(latency_s)
            late = slow and bool(latency_s and timeout_s and latency_s > timeout_s / 2)
            pressed = _TOO_MANY if late else 0
            self._starting = self._starting and not slow
            if not pressed and not (slow and self._follows):
                self._allowed = min(self._most, self._allowed + (1.0 if self._starting else 1 / self._allowed))
        else:
            self._starting = False
        if mark == self._era:
            self._recent.append(pressed)
            if pressed and sum(self._recent) >= _TOO_MANY:
                self._allowed = max(1.0, self._allowed / 2)
                self._recent.clear()
                self._era += 1

    def _slow(self, latency_s: float) -> bool:
        """Whether answers take much longer than they did with fewer calls at once."""
        self._usual = latency_s if self._usual is None else 0.7 * self._usual + 0.3 * latency_s
        self._fastest = min(self._fastest or latency_s, latency_s)
        return self._usual > _SLOWER * self._fastest + 0.05


def _pressure(error: BaseException | None) -> int | None:
    """How much an end shows that a server is asked too much; None where it shows nothing."""
    if error is None:
        return 0
    if isinstance(error, ModelTimeoutError):
        return _TIMEOUT_COUNTS
    if isinstance(error, RateLimitedError):
        return int(error.retryable)
    return 1 if isinstance(error, OverloadedError) else None


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What a run may ask of its endpoints.

    Attributes:
        concurrency: calls in flight, over all endpoints.
        per_endpoint: calls in flight at one endpoint, None for no other bound than ``concurrency``.
        requests_per_minute: calls started at one endpoint, None for no bound.
        tokens_per_minute: tokens of input and output at one endpoint, None for no bound.
        given: whether somebody chose ``concurrency``; else a server on this machine begins with few calls.
    """

    concurrency: int = 64
    per_endpoint: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    given: bool = True

    def __post_init__(self) -> None:
        for name in ("concurrency", "per_endpoint", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigurationError(f"{name} must be a positive number, not {value}")


class Rate:
    """A :class:`~metajudge.providers.limit_book.Bucket` with a queue: first come, first served, without polling.

    Args:
        per_minute: units a minute.
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
        self._bucket = Bucket(per_minute)
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()

    async def take(self, units: float) -> None:
        """Waits until this many units may start. A call larger than the burst waits for a full bucket only."""
        async with self._turn:
            while (wait := self._bucket.wait(self._clock())) > 0:
                await self._sleep(wait)
            self._bucket = self._bucket.take(units, self._clock())

    def correct(self, units: float) -> None:
        """Charges (or, where negative, gives back) what an estimate got wrong."""
        self._bucket = self._bucket.correct(units)


class _EndpointLimits:
    """What is bounded at one endpoint; with ``places`` all but the endpoint's own pace is kept by them."""

    def __init__(self, endpoint: Endpoint, settings: LimitSettings, together: int, places: SharedPlaces | None) -> None:
        per_minute = settings.requests_per_minute, settings.tokens_per_minute
        first = None if settings.given or settings.per_endpoint or not is_local(endpoint.base_url) else FIRST_LOCAL
        self.slots = AdaptiveSlots(settings.per_endpoint or settings.concurrency, first)
        self.requests = None if per_minute[0] is None else Rate(per_minute[0])
        self.tokens = None if per_minute[1] is None else Rate(per_minute[1])
        self.places = places
        self.ask = Ask(
            endpoint=str(endpoint),
            in_flight=together,
            here=settings.per_endpoint,
            requests_per_minute=per_minute[0],
            tokens_per_minute=per_minute[1],
        )


class Limits:
    """The limits of one run, shared by all its models.

    Args:
        settings: for the run, and for every endpoint without settings of its own.
        endpoints: what differs at particular endpoints (their ``concurrency`` is not looked at).
        keeper: where the limits hold for several processes together; None for this one alone.
    """

    def __init__(
        self,
        settings: LimitSettings | None = None,
        endpoints: Mapping[Endpoint, LimitSettings] | None = None,
        keeper: LimitKeeper | None = None,
    ) -> None:
        self.settings = settings or LimitSettings()
        self.slots = asyncio.Semaphore(self.settings.concurrency)
        self._own = endpoints or {}
        self._places = None if keeper is None else SharedPlaces(keeper)
        self._endpoints: dict[Endpoint, _EndpointLimits] = {}

    def at(self, endpoint: Endpoint) -> _EndpointLimits:
        """The limits of one endpoint, shared by all its callers."""
        found = self._endpoints.get(endpoint)
        if found is None:
            own = self._own.get(endpoint, self.settings)
            found = self._endpoints[endpoint] = _EndpointLimits(endpoint, own, self.settings.concurrency, self._places)
        return found


class LimitedModel(ModelWrapper):
    """Waits for its turn.

    The endpoint's slot is taken first, then its rates, then a slot of the run: who waits for one endpoint's
    minute keeps no other endpoint from being asked. Waiting is first come, first served. While an endpoint
    keeps answering that it is asked too much, it is asked less at once, by each process as it learns it.
    """

    def __init__(self, inner: Model, limits: Limits, estimate: UsageEstimate) -> None:
        super().__init__(inner)
        self._run_slots = limits.slots
        self._here = limits.at(inner.endpoint)
        self._estimate = estimate

    async def complete(self, request: ModelRequest) -> Reply:
        here = self._here
        mark, begun = await here.slots.acquire(), time.monotonic()
        ended: BaseException | None = asyncio.CancelledError()
        latency_s: float | None = None
        try:
            if here.places is not None:
                reply = await self._together(request, here.places, here.ask)
            else:
                reply = await self._alone(request)
            ended, latency_s = None, reply.latency_s or time.monotonic() - begun
            return reply
        except ProviderError as error:
            ended = error
            raise
        finally:
            here.slots.release(mark, ended, latency_s, request.parameters.timeout_s)

    async def _alone(self, request: ModelRequest) -> Reply:
        requests, tokens = self._here.requests, self._here.tokens
        if requests is not None:
            await requests.take(1)
        expected = 0
        if tokens is not None:
            expected = self._expected(request)
            await tokens.take(expected)
        async with self._run_slots:
            reply = await self._inner.complete(request)
        if tokens is not None:
            tokens.correct(self._beyond(expected, request, reply))
        return reply

    async def _together(self, request: ModelRequest, places: SharedPlaces, ask: Ask) -> Reply:
        counted = ask.tokens_per_minute is not None
        expected = self._expected(request) if counted else 0
        async with places.turn(replace(ask, tokens=expected)) as turn:
            reply = await self._inner.complete(request)
            if counted:
                turn.units = self._beyond(expected, request, reply)
        return reply

    def _expected(self, request: ModelRequest) -> int:
        estimate = self._estimate.of(request)
        return estimate.input_tokens + estimate.output_tokens

    def _beyond(self, expected: int, request: ModelRequest, reply: Reply) -> int:
        """Tokens that a call took beyond those expected; 0 where the provider reports none."""
        if reply.usage is None:
            return 0
        self._estimate.learn(request, reply.usage)
        return reply.usage.input_tokens + reply.usage.output_tokens - expected
