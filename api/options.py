"""The service's options: panels, store, keys and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from metajudge.clashes.setup import CandidateConfig
from metajudge.panels.config import PanelConfig
from metajudge.types.location import StoreLocation
from metajudge.webhooks.webhook import Webhook

from .keys import ApiKey
from .limits import Limits


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The service's options.

    Attributes:
        panels: name -> panel; the first one is the default.
        candidates: name -> models that answer questions in clashes.
        store: the store's file or database, None to keep nothing.
        state: name prefix of the service's own files (rubrics, exports under way); None for the store's name, or
            ``metajudge-service`` if the store is a database on a server.
        api_key: one key with every scope, None for none.
        keys: further keys; without any key requests are not authenticated (loopback only).
        concurrency: maximum model calls in flight.
        budget_usd: dollars that may be spent a day (UTC); None for no limit.
        max_body_bytes: larger requests are refused with 413.
        calibration: a file of ``metajudge calibrate fit`` that gives every assessment its probability.
        allowed_hosts: host names of the service in addition to loopback; with keys and no names, any host.
        cors_origins: origins whose pages may call the service from a browser; none by default.
        log_texts: log error messages even if they quote judged text.
        limits: limits on concurrent work.
        review_sample: fraction of approved and rejected judgments sampled for human review, in [0, 1].
        metrics: whether ``/metrics`` needs a key with scope ``read`` or ``admin``, where there are keys: ``key`` or
            ``open``.
        webhook: receives an event if a promise is broken.
    """

    panels: Mapping[str, PanelConfig] = field(default_factory=lambda: {"default": PanelConfig()})
    candidates: Mapping[str, tuple[CandidateConfig, ...]] = field(default_factory=dict)
    store: StoreLocation | None = None
    state: Path | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 64
    budget_usd: float | None = None
    max_body_bytes: int = 4_000_000
    calibration: Path | None = None
    keys: tuple[ApiKey, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    log_texts: bool = False
    limits: Limits = field(default_factory=Limits)
    review_sample: float = 0.0
    webhook: Webhook | None = None
    metrics: Literal["key", "open"] = "key"

    def own_file(self, suffix: str) -> Path | None:
        """One of the service's own files; None without a store."""
        if self.store is None:
            return None
        stem = self.state or (self.store if isinstance(self.store, Path) else Path("metajudge-service"))
        return stem.with_name(f"{stem.name}.{suffix}")
