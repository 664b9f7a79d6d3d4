"""Bounds on what runs at once and on what starts in a minute, for all agents of a run, or of several processes.

Every call asks one keeper before it starts and tells it when it has ended. The keeper's rule is
:class:`~metajudge.providers.limit_book.LimitBook`; where several processes keep limits together, the book is a row of
the store (:mod:`metajudge.store.limits`).
"""

import asyncio
import math
import time
import uuid
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol

from metajudge.concurrency import heard
from metajudge.errors import (
    ConfigurationError,
    MetajudgeError,
    ModelTimeoutError,
    OverloadedError,
    ProviderError,
    RateLimitedError,
)
from metajudge.providers.limit_book import LEASE_S, POLL_S, Ask, LimitBook
from metajudge.providers.model import Endpoint, Model, ModelRequest, ModelWrapper, is_local
from metajudge.providers.prices import UsageEstimate, tokens_of
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
        given: whether ``concurrency`` was chosen; else a server on this machine begins with few calls.
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


class LimitKeeper(Protocol):
    """Lets calls start; every method is one atomic change of a :class:`~metajudge.providers.limit_book.LimitBook`."""

    async def enter(self, ticket: str, ask: Ask) -> float | None: ...

    async def leave(self, ticket: str, ask: Ask, units: float) -> None: ...

    async def renew(self, tickets: Collection[str]) -> None: ...


class _OwnBook:
    """The keeper of a process that shares its limits with no other: what it holds does not expire."""

    def __init__(self) -> None:
        self._book = LimitBook()

    async def enter(self, ticket: str, ask: Ask) -> float | None:
        return self._book.enter(ticket, ask, time.monotonic(), math.inf)

    async def leave(self, ticket: str, ask: Ask, units: float) -> None:
        self._book.leave(ticket, ask, units)

    async def renew(self, tickets: Collection[str]) -> None: ...


@dataclass(slots=True)
class Turn:
    """A call that was let in, and the tokens it took beyond those expected (negative: fewer)."""

    units: float = 0.0


class Tickets:
    """What a process holds at a keeper: renewed, while it holds anything, until it is given back.

    Args:
        renew: tells the keeper that tickets are held still; None where they do not expire.
    """

    def __init__(self, renew: Callable[[Collection[str]], Awaitable[None]] | None) -> None:
        self._renew = renew
        self._held: set[str] = set()
        self.renewing: asyncio.Task[None] | None = None

    def new(self) -> str:
        """A ticket, before it is asked for: a cancelled question may have been granted."""
        self._held.add(ticket := uuid.uuid4().hex)
        if self.renewing is None and self._renew is not None:
            self.renewing = asyncio.create_task(self._renewed(self._renew))
        return ticket

    def drop(self, ticket: str) -> None:
        """Has a ticket renewed no longer."""
        self._held.discard(ticket)

    async def _renewed(self, renew: Callable[[Collection[str]], Awaitable[None]]) -> None:
        while self._held:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(MetajudgeError):
                await renew(tuple(self._held))
        self.renewing = None


class Places:
    """One process's calls at a keeper. Use it in one event loop.

    Waiting is first come, first served within the process: only the first in line at an endpoint asks, again when a
    call of this process has ended, and a few times a second for others' calls.

    Args:
        keeper: shared with other processes; None for this one alone.
    """

    def __init__(self, keeper: LimitKeeper | None = None) -> None:
        self._keeper: LimitKeeper = keeper or _OwnBook()
        self._tickets = Tickets(None if keeper is None else keeper.renew)
        self._ended = asyncio.Event()
        self._first: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def turn(self, ask: Ask) -> AsyncIterator[Turn]:
        """Waits until a call may start, and holds its place until it has ended.

        Raises:
            MetajudgeError: the keeper cannot be asked; nothing is sent then.
        """
        ticket, turn = self._tickets.new(), Turn()
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
            yield turn
        finally:
            self._tickets.drop(ticket)
            with suppress(MetajudgeError):  # unreachable: the ticket expires
                left = self._keeper.leave(ticket, ask, turn.units)
                await (left if isinstance(self._keeper, _OwnBook) else asyncio.shield(left))
            self._ended.set()


@dataclass(frozen=True, slots=True)
class _EndpointLimits:
    """What is bounded at one endpoint: its own pace, and what a call of it asks the keeper for."""

    slots: AdaptiveSlots
    ask: Ask


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
        self.places = Places(keeper)
        self._own = endpoints or {}
        self._endpoints: dict[Endpoint, _EndpointLimits] = {}

    def at(self, endpoint: Endpoint) -> _EndpointLimits:
        """The limits of one endpoint, shared by all its callers."""
        if endpoint not in self._endpoints:
            own, local = self._own.get(endpoint, self.settings), is_local(endpoint.base_url)
            first = FIRST_LOCAL if local and not own.given and not own.per_endpoint else None
            ask = Ask(
                endpoint=str(endpoint),
                in_flight=self.settings.concurrency,
                here=own.per_endpoint,
                requests_per_minute=own.requests_per_minute,
                tokens_per_minute=own.tokens_per_minute,
            )
            slots = AdaptiveSlots(own.per_endpoint or own.concurrency, first)
            self._endpoints[endpoint] = _EndpointLimits(slots, ask)
        return self._endpoints[endpoint]


class LimitedModel(ModelWrapper):
    """Waits for its turn.

    The endpoint's slot is taken first, then all else at once: who waits for one endpoint's minute keeps no other
    endpoint from being asked. Waiting is first come, first served. While an endpoint keeps answering that it is asked
    too much, it is asked less at once, by each process as it learns it.

    Args:
        check: called when the turn has come; raises where a request must not be sent any more.
    """

    def __init__(
        self, inner: Model, limits: Limits, estimate: UsageEstimate, check: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(inner)
        self._check = check
        self._places, self._here = limits.places, limits.at(inner.endpoint)
        self._estimate = estimate

    async def complete(self, request: ModelRequest) -> Reply:
        slots, ask = self._here.slots, self._here.ask
        mark, begun = await slots.acquire(), time.monotonic()
        ended: BaseException | None = asyncio.CancelledError()
        latency_s: float | None = None
        counted = ask.tokens_per_minute is not None
        expected = tokens_of(self._estimate.of(request)) if counted else 0
        try:
            async with self._places.turn(replace(ask, tokens=expected)) as turn:
                self._check()
                reply = await self.inner.complete(request)
                if counted and reply.usage is not None:
                    self._estimate.learn(request, reply.usage)
                    turn.units = tokens_of(reply.usage) - expected
            ended, latency_s = None, reply.latency_s or time.monotonic() - begun
            return reply
        except ProviderError as error:
            ended = error
            raise
        finally:
            slots.release(mark, ended, latency_s, request.parameters.timeout_s)
