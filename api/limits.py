"""Limits on concurrent work, and rate limits by caller."""

import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.exceptions import HTTPException

from metajudge.providers.limit_book import Bucket

from .keys import Caller

LOGINS_PER_MINUTE = 20
"""Attempts to log in from one address, on all replicas together."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on concurrent work; requests beyond them are refused, not queued.

    Attributes:
        upload_bytes: size of a batch in bytes; it is written to disk as it arrives.
        upload_s: seconds within which a batch must arrive, with pauses of at most ``body_s``; then 408.
        held_bytes: bytes of all request bodies in memory together; beyond it 503.
        batch_items: judgments of one batch.
        in_flight: concurrent requests that ask models; beyond it 503.
        computing: running and waiting computations such as rankings and exports; beyond it 503.
        jobs_running: concurrent jobs.
        jobs_queued: jobs that wait or are being uploaded; beyond it 503.
        job_workers: judgments of a job in flight at once.
        request_s: seconds within which a response must be ready; then 504.
        body_s: seconds within which a request's body must arrive; then 408.
        head_s: seconds within which a request's head must arrive; then the connection is closed.
        requests_per_minute: of each key, unless the key has its own; None for no limit.
        connections: open connections; beyond it 503.
    """

    upload_bytes: int = 512_000_000
    upload_s: float = 600.0
    held_bytes: int = 256_000_000
    batch_items: int = 100_000
    in_flight: int = 64
    computing: int = 8
    jobs_running: int = 2
    jobs_queued: int = 20
    job_workers: int = 16
    request_s: float = 120.0
    body_s: float = 20.0
    head_s: float = 10.0
    requests_per_minute: int | None = None
    connections: int = 2_000


BURST_S = 60.0
"""A key's requests of so many seconds may come at once."""

MOST_BUCKETS = 10_000
"""Number of callers at which idle ones are dropped."""


class Rates(Protocol):
    """Requests a minute of each caller."""

    async def check(self, caller: Caller, what: str) -> None:
        """Counts a request.

        Args:
            what: the beginning of the error message.

        Raises:
            HTTPException: 429, the caller's rate is used up; with the time to wait.
        """


class RateLimit:
    """A token bucket for each caller, refilled over a minute; of this process alone."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    async def check(self, caller: Caller, what: str) -> None:
        """See :class:`Rates`."""
        refuse_until(self.wait(caller), what)

    def wait(self, caller: Caller) -> float:
        """Takes a token; returns 0, or the seconds until one is available."""
        rate = caller.requests_per_minute or self._per_minute
        if rate is None:
            return 0.0
        now = self._clock()
        if len(self._buckets) >= MOST_BUCKETS:  # a bucket that is full is like one that does not exist
            self._buckets = {name: bucket for name, bucket in self._buckets.items() if bucket.paid_until > now}
        bucket = self._buckets.get(caller.name, Bucket(rate, burst_s=BURST_S))
        wait = bucket.wait(now)
        if wait > 0:
            return wait
        self._buckets[caller.name] = bucket.take(1, now)
        return 0.0


def refuse_until(seconds: float, what: str) -> None:
    """Refuses a request that has to wait.

    Raises:
        HTTPException: 429, with the time to wait, unless that is 0.
    """
    if seconds:
        raise HTTPException(429, f"{what}: try again in {seconds:.1f} s", {"Retry-After": str(math.ceil(seconds))})


class Visitors(Protocol):
    """Ended sessions and attempts to log in; of one process, or of all replicas on one database."""

    async def secret(self) -> bytes:
        """The stored part of the key that signs session cookies."""

    async def is_ended(self, mark: str) -> bool:
        """Whether a session was ended, by its :attr:`~.pages.sessions.Session.mark`."""

    async def end(self, mark: str, expires_at: float) -> None:
        """Ends a session for every copy of its cookie, until it would have expired."""

    async def login_wait(self, address: str) -> float:
        """Counts an attempt to log in; returns 0, or the seconds until another one is permitted."""


class OwnVisitors:
    """Those of one process; a restart ends all sessions."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._ended: dict[str, float] = {}
        self._logins = RateLimit(LOGINS_PER_MINUTE)

    async def secret(self) -> bytes:
        return self._secret

    async def is_ended(self, mark: str) -> bool:
        return mark in self._ended

    async def end(self, mark: str, expires_at: float) -> None:
        now = time.time()
        self._ended = {one: until for one, until in self._ended.items() if until > now}
        self._ended[mark] = expires_at

    async def login_wait(self, address: str) -> float:
        return math.ceil(self._logins.wait(Caller(address, frozenset())))
