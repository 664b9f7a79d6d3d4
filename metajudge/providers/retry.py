"""The one retry layer: exponential backoff with jitter, bounded in attempts and in time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from metajudge.errors import BadReplyError, ProviderError
from metajudge.providers.model import Model, ModelRequest, request_key
from metajudge.providers.negotiation import RenegotiatedError
from metajudge.providers.standing import Standing, loop_time
from metajudge.providers.wrapper import CallAttempt, ModelWrapper
from metajudge.types import Reply, Usage

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


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


class RetryingModel(ModelWrapper):
    """Tries again what a retry may cure, until the time is up.

    Limits and budget are taken inside each attempt, so no slot is held during a wait. What calls tell about the model
    (:class:`~metajudge.providers.standing.Standing`) decides whether a call is sent at all.

    Args:
        standing: shared by all who ask this model; None for one of its own.
        rng: source of the jitter.
        clock: seconds; by default the event loop's.
        sleep: waits a number of seconds.
    """

    def __init__(
        self,
        inner: Model,
        policy: RetryPolicy | None = None,
        *,
        standing: Standing | None = None,
        rng: random.Random | None = None,
        clock: Clock = loop_time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self._policy = policy or RetryPolicy()
        self._standing = standing or Standing(self._policy.hold_off_s, clock=clock)
        self._rng = rng or random.Random()
        self._clock = clock
        self._sleep = sleep

    async def complete(self, request: ModelRequest) -> Reply:
        await self._standing.admit()
        call = CallAttempt.of(self._inner, request)
        ended: BaseException | None = asyncio.CancelledError()
        try:
            reply = await self._tried(call)
            ended = None
            return reply
        except ProviderError as error:
            ended = error
            raise
        finally:
            self._standing.settle(call.key if call.draw == 0 else _without_draw(self._inner, call), ended)

    async def _tried(self, call: CallAttempt) -> Reply:
        started, sent, tries, number = self._clock(), 0, 0, 0
        useless = 0
        wasted: Usage | None = None
        wasted_usd: float | None = 0.0
        while True:
            number += 1
            try:
                reply = await self._inner.complete(call if number == 1 else call.again(number))
            except RenegotiatedError:
                sent += 1
                self._standing.touch()
            except ProviderError as error:
                sent += error.sent
                tries += 1
                useless += isinstance(error, BadReplyError) or not error.sent
                wasted, wasted_usd = _add(wasted, error.usage), _add_usd(wasted_usd, error.cost_usd)
                error.attempts = sent
                given_up = useless > self._policy.useless
                wait = None if given_up else self._wait_before(tries + 1, error, self._clock() - started)
                if wait is None:
                    error.usage, error.cost_usd = wasted, wasted_usd
                    raise self._given_up(error, tries, self._clock() - started) from error.__cause__
                await self._sleep(wait)
            else:
                if sent == 0:
                    return reply
                # With what the failed attempts took; an answer whose usage is unknown stays so.
                usage = None if reply.usage is None else _add(reply.usage, wasted)
                usd = _add_usd(reply.cost_usd, wasted_usd)
                return replace(reply, attempts=sent + 1, usage=usage, cost_usd=usd)

    def _wait_before(self, attempt: int, error: ProviderError, elapsed: float) -> float | None:
        """Seconds to wait before an attempt, None to give up."""
        policy = self._policy
        if not error.retryable or (policy.attempts is not None and attempt > policy.attempts):
            return None
        longest = min(policy.longest_wait_s, policy.first_wait_s * 2 ** min(attempt - 2, 30))
        wait = longest * self._rng.uniform(0.5, 1.0)
        if error.retry_after is not None:
            # Later than asked by a random share, so that calls limited together do not return together.
            wait = max(wait, error.retry_after * self._rng.uniform(1.0, 1.25))
        return wait if elapsed + wait <= policy.total_s else None

    def _given_up(self, error: ProviderError, tries: int, elapsed: float) -> ProviderError:
        if error.retryable:
            if error.attempts == 0:
                error.tells = "all"  # it never got a connection
            times = "1 attempt" if tries == 1 else f"{tries} attempts"
            asked = ""
            if error.retry_after is not None and error.retry_after > self._policy.total_s - elapsed:
                asked = f"; the provider asks for {error.retry_after:g} s of waiting"
            error.args = (f"{error} (gave up after {times} in {elapsed:.1f} s{asked})",)
        return error


def _without_draw(model: Model, call: CallAttempt) -> str:
    return request_key(model, replace(call, draw=0))


def _add(total: Usage | None, more: Usage | None) -> Usage | None:
    return total if more is None else more if total is None else total + more


def _add_usd(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more
