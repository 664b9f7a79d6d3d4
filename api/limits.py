"""Limits on concurrent work, and rate limits by caller."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from .keys import Caller


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


MOST_BUCKETS = 10_000
"""Number of callers at which idle ones are dropped."""


class RateLimit:
    """A token bucket for each caller, refilled over a minute."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def check(self, caller: Caller, what: str) -> None:
        """Takes a token.

        Args:
            what: the beginning of the error message.

        Raises:
            HTTPException: 429, the bucket is empty; with the time to wait.
        """
        seconds = self.wait(caller)
        if seconds:
            raise HTTPException(429, f"{what}: try again in {seconds:.1f} s", {"Retry-After": str(math.ceil(seconds))})

    def wait(self, caller: Caller) -> float:
        """Takes a token; returns 0, or the seconds until one is available."""
        rate = caller.requests_per_minute or self._per_minute
        if rate is None:
            return 0.0
        now = self._clock()
        if len(self._buckets) >= MOST_BUCKETS:  # a bucket unused for a minute is full, like one that does not exist
            self._buckets = {name: bucket for name, bucket in self._buckets.items() if now - bucket[1] < 60}
        left, at = self._buckets.get(caller.name, (float(rate), now))
        left = min(float(rate), left + (now - at) * rate / 60)
        if left < 1:
            self._buckets[caller.name] = (left, now)
            return (1 - left) * 60 / rate
        self._buckets[caller.name] = (left - 1, now)
        return 0.0
