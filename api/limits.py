"""What the service takes on at once, and how often each caller may ask."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from .keys import Caller


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service takes on at once; beyond it callers are told to come back, and nothing is held for them.

    Attributes:
        upload_bytes: of a batch; it is written to disk as it comes.
        upload_s: a batch takes no longer to arrive, and stands still for no longer than ``body_s``; then 408.
        held_bytes: of all requests' bodies together; beyond it 503.
        batch_items: judgments a batch.
        in_flight: vets and other work at models at once; beyond it 503.
        computing: rankings, exports and the like at once, those that wait included; beyond it 503.
        jobs_running: jobs worked on at once; ``jobs_queued`` wait or are being sent, beyond it 503.
        job_workers: judgments of a job in flight at once.
        request_s: an answer takes no longer; then 504.
        body_s: a request's body takes no longer to arrive; then 408.
        head_s: a request's head takes no longer to arrive; then the connection is closed.
        requests_per_minute: of each key, unless the key has its own; None for no limit.
        connections: open at once; beyond it 503.
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
"""Callers that are remembered before idle ones are forgotten."""


class RateLimit:
    """A bucket of tokens for each caller, refilled over a minute."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def check(self, caller: Caller, what: str) -> None:
        """Takes a token.

        Args:
            what: what there was too much of, for the error.

        Raises:
            HTTPException: 429, there is none; says when to try again.
        """
        seconds = self.wait(caller)
        if seconds:
            raise HTTPException(429, f"{what}: try again in {seconds:.1f} s", {"Retry-After": str(math.ceil(seconds))})

    def wait(self, caller: Caller) -> float:
        """Takes a token; seconds until there is one where there is none, else 0."""
        rate = caller.requests_per_minute or self._per_minute
        if rate is None:
            return 0.0
        now = self._clock()
        if len(self._buckets) >= MOST_BUCKETS:  # a bucket unused for a minute is full, like one that does not exist
            self._buckets = {name: one for name, one in self._buckets.items() if now - one[1] < 60}
        left, at = self._buckets.get(caller.name, (float(rate), now))
        left = min(float(rate), left + (now - at) * rate / 60)
        if left < 1:
            self._buckets[caller.name] = (left, now)
            return (1 - left) * 60 / rate
        self._buckets[caller.name] = (left - 1, now)
        return 0.0
