"""How to serve: panels, store and keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.panels.config import PanelConfig
from metajudge.types.location import StoreLocation

from .keys import ApiKey
from .limits import Limits


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
