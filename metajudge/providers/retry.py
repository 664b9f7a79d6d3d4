"""The one retry layer, bounded in attempts and in time; and what the calls so far tell about a model.

Is a failure one request's own, or would every further call meet it? One request may be refused for what is in it, with
any status. So nothing is concluded from one: calls are held back only once several different requests failed alike,
none has succeeded since, and another one, asked alone, failed too.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import count
from typing import Final

from metajudge.errors import BadReplyError, ProviderError
from metajudge.providers.model import CallAttempt, ModelRequest, ModelWrapper, request_key, unsent
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.types import Reply, Usage

FEW: Final = 3
"""Different requests that must have failed before the next one is asked alone."""
MANY: Final = 12
"""The same for holding calls back where the model has answered before: a key that worked is rarely wrong."""
GRACE_S: Final = 0.25
"""How long concurrent first calls wait for the first one. A refusal needs a round trip and no generation."""


def loop_time() -> float:
    """Seconds by the clock of the running event loop, which its waits go by."""
    return asyncio.get_running_loop().time()


class Standing:
    """The evidence about one model at one endpoint with one key; shared by all who ask it.

    Args:
        hold_s: how long calls fail unsent once it is known that they would fail.
        grace_s: see :data:`GRACE_S`.
        clock: monotonic seconds.

    Attributes:
        news: set when a request has ended, or what is asked of the model has been made plainer.
    """

    def __init__(self, hold_s: float = 30.0, grace_s: float = GRACE_S, clock: Callable[[], float] = loop_time) -> None:
        self._hold_s, self._grace_s, self._clock = hold_s, grace_s, clock
        self._failed: set[str] = set()
        self._in_flight = 0
        self._answered = False
        self._held_by: ProviderError | None = None
        self._held_until = 0.0
        self.news = asyncio.Event()

    async def admit(self) -> None:
        """Waits until a request may be sent; :meth:`settle` must follow.

        Raises:
            ProviderError: it would fail as others did; it is not sent.
        """
        until: float | None = None
        while True:
            self.check()
            alone = len(self._failed) >= FEW
            if not self._in_flight or (self._answered and not alone):
                break
            until = self._clock() + self._grace_s if until is None else until
            left = None if alone else until - self._clock()
            if left is not None and left <= 0:
                break
            self.news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.news.wait()
                    until = None  # one has ended: the next one shows more
        self._in_flight += 1

    def settle(self, content: str, error: BaseException | None) -> None:
        """Tells how a request ended.

        Args:
            content: digest of what was asked, the same for several draws.
            error: None for an answer.
        """
        self._in_flight -= 1
        if error is None:
            self._answered = True
            self._failed.clear()
        elif isinstance(error, ProviderError):
            alone = len(self._failed) >= FEW and self._in_flight == 0
            if error.tells == "all":
                self._hold(error)
            elif error.tells == "something":
                other = content not in self._failed
                self._failed.add(content)
                if alone and other and len(self._failed) > (MANY if self._answered else FEW):
                    self._hold(error)
        self.news.set()

    def _hold(self, error: ProviderError) -> None:
        self._held_by = error
        self._held_until = self._clock() + max(self._hold_s, error.retry_after or 0.0)

    def check(self) -> None:
        """Raises the error of a call that is not sent, while it is known that it would fail."""
        left = self._held_until - self._clock()
        if self._held_by is None or left <= 0:
            return
        many = len(self._failed)
        earlier = f"{many} different requests" if many > 1 else "an earlier call"
        why = f"not sent, because {earlier} failed, none succeeded since, and this one would fail too"
        raise unsent(self._held_by, f"{why}: {self._held_by} (tried again in {left:.0f} s)")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds of retrying.

    Attributes:
        attempts: HTTP requests for one call, the first one included; None for as many as ``total_s`` allows. Requests
            that find out what a server supports come on top (a handful per model, once).
        total_s: no further attempt starts later than this many seconds after the first.
        first_wait_s: wait before the second attempt; doubles from attempt to attempt.
        longest_wait_s: no wait of our own is longer. The provider's Retry-After is honoured whatever its length,
            or, where it exceeds ``total_s``, the call is given up at once.
        hold_off_s: after an error that every further call would meet too, calls fail unsent for this long.
        useless: answers that cannot be used and may be billed, or calls that get no connection, after which a call is
            given up: more of them would bring the same.
    """

    attempts: int | None = None
    total_s: float = 120.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 20.0
    hold_off_s: float = 30.0
    useless: int = 2


@dataclass(eq=False)
class RetryingModel(ModelWrapper):
    """Tries again what a retry may cure, until the time is up.

    Limits and budget are taken inside each attempt, so no slot is held during a wait. What calls tell about the model
    (:class:`Standing`) decides whether a call is sent at all.

    Attributes:
        standing: shared by all who ask this model; one of its own where none is given.
        rng: source of the jitter.
        clock: seconds; by default the event loop's.
        sleep: waits a number of seconds.
    """

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    _: KW_ONLY
    standing: Standing | None = None
    rng: random.Random = field(default_factory=random.Random)
    clock: Callable[[], float] = loop_time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def __post_init__(self) -> None:
        super().__post_init__()
        self._standing = self.standing or Standing(self.policy.hold_off_s, clock=self.clock)

    async def complete(self, request: ModelRequest) -> Reply:
        await self._standing.admit()
        call = CallAttempt.of(self.inner, request)
        ended: BaseException | None = asyncio.CancelledError()
        try:
            reply = await self._tried(call)
            ended = None
            return reply
        except ProviderError as error:
            ended = error
            raise
        finally:
            content = call.key if call.draw == 0 else request_key(self.inner, replace(call, draw=0))
            self._standing.settle(content, ended)

    async def _tried(self, call: CallAttempt) -> Reply:
        started, sent, tries, useless = self.clock(), 0, 0, 0
        wasted: Usage | None = None
        wasted_usd: float | None = 0.0
        for attempt in count(1):
            try:
                reply = await self.inner.complete(replace(call, attempt=attempt))
            except RenegotiatedError:
                sent += 1
                self._standing.news.set()
            except ProviderError as error:
                sent += error.sent
                tries += 1
                useless += isinstance(error, BadReplyError) or not error.sent
                wasted, wasted_usd = _add(wasted, error.usage), _add_usd(wasted_usd, error.cost_usd)
                error.attempts = sent
                given_up = useless > self.policy.useless
                wait = None if given_up else self._wait_before(tries + 1, error, self.clock() - started)
                if wait is None:
                    error.usage, error.cost_usd = wasted, wasted_usd
                    raise self._given_up(error, tries, self.clock() - started) from error.__cause__
                await self.sleep(wait)
            else:
                if sent == 0:
                    return reply
                # With what the failed attempts took; an answer whose usage is unknown stays so.
                usage = None if reply.usage is None else _add(reply.usage, wasted)
                usd = _add_usd(reply.cost_usd, wasted_usd)
                return replace(reply, attempts=sent + 1, usage=usage, cost_usd=usd)
        raise AssertionError("attempts end in an answer or an error")

    def _wait_before(self, attempt: int, error: ProviderError, elapsed: float) -> float | None:
        """Seconds to wait before an attempt, None to give up."""
        policy = self.policy
        if not error.retryable or (policy.attempts is not None and attempt > policy.attempts):
            return None
        longest = min(policy.longest_wait_s, policy.first_wait_s * 2 ** min(attempt - 2, 30))
        wait = longest * self.rng.uniform(0.5, 1.0)
        if error.retry_after is not None:
            # Later than asked by a random share, so that calls limited together do not return together.
            wait = max(wait, error.retry_after * self.rng.uniform(1.0, 1.25))
        return wait if elapsed + wait <= policy.total_s else None

    def _given_up(self, error: ProviderError, tries: int, elapsed: float) -> ProviderError:
        if error.retryable:
            if error.attempts == 0:
                error.tells = "all"  # it never got a connection
            times = "1 attempt" if tries == 1 else f"{tries} attempts"
            asked = ""
            if error.retry_after is not None and error.retry_after > self.policy.total_s - elapsed:
                asked = f"; the provider asks for {error.retry_after:g} s of waiting"
            error.args = (f"{error} (gave up after {times} in {elapsed:.1f} s{asked})",)
        return error


def _add(total: Usage | None, more: Usage | None) -> Usage | None:
    return total if more is None else more if total is None else total + more


def _add_usd(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more
