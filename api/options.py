"""How to serve: panels, store, keys and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.panels.config import PanelConfig
from metajudge.types.location import StoreLocation

from .keys import ApiKey


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


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How to serve.

    Attributes:
        panels: name -> panel; the first one is the default.
        store: the store's file or database, None to keep nothing.
        state: what the names of the service's own files begin with (jobs, idempotency keys, rubrics); None for the
            store's name, or ``metajudge-service`` where the store is a database on a server.
        api_key: one key with every scope, None for none.
        keys: further keys; without any key there is no check (loopback only).
        concurrency: calls to models in flight at most.
        max_body_bytes: larger requests are refused with 413.
        calibration: a file of ``metajudge calibrate fit`` that gives every assessment its probability.
        allowed_hosts: names that callers may use for the service, beside loopback; with keys and no names, any.
        cors_origins: sites whose pages may ask this service from a browser; none by default.
        log_texts: let judged text into the log where an error holds some.
        limits: what is taken on at once.
    """

    panels: Mapping[str, PanelConfig] = field(default_factory=lambda: {"default": PanelConfig()})
    store: StoreLocation | None = None
    state: Path | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 64
    max_body_bytes: int = 4_000_000
    calibration: Path | None = None
    keys: tuple[ApiKey, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    log_texts: bool = False
    limits: Limits = field(default_factory=Limits)

    def own_file(self, suffix: str) -> Path | None:
        """One of the service's own files; None where nothing is kept."""
        if self.store is None:
            return None
        stem = self.state or (self.store if isinstance(self.store, Path) else Path("metajudge-service"))
        return stem.with_name(f"{stem.name}.{suffix}")
