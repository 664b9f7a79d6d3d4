"""The service's options, and its file (TOML): panels, keys, limits, store.

::

    [service]
    store = "vetting.db"          # or a postgresql:// URL; then `state` is the path prefix of the service's own files
    calibration = "calibration.json"
    review_sample = 0.05        # fraction of approved and rejected judgments sampled for human review
    webhook = "https://ops.example.org/metajudge"   # POST if a promise is broken; signed with METAJUDGE_WEBHOOK_SECRET
    metrics = "key"             # or "open": /metrics without a key
    metrics_port = 9464         # /metrics also on a port of its own, without a key; none by default
    metrics_host = "127.0.0.1"  # the address of that port
    host = "127.0.0.1"
    port = 8080
    concurrency = 64
    budget_usd = 50.0           # dollars a day (UTC), over all processes on one store; none by default

    # allowed_hosts = ["judge.example.org"]  # its host names in addition to loopback
    # cors_origins = ["https://tools.example.org"]
    # log_texts = true          # log error messages even if they quote judged text

    [service.panels]            # name = panel file, relative to this one; the first is the default
    default = "panel.toml"

    [service.candidates]        # name = file of models that answer questions in clashes ([[candidates]])
    cheap = "cheap.toml"

    [service.limits]            # see Limits
    in_flight = 64

    [[service.keys]]            # made by `metajudge serve --new-key NAME`
    name = "ci"
    sha256 = "..."
    scopes = ["vet", "read"]
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from metajudge.errors import ConfigurationError
from metajudge.panels.config import CandidateConfig, PanelConfig, read_toml
from metajudge.types.location import StoreLocation, store_location
from metajudge.webhooks.webhook import Webhook

from .hosts import allowed_names
from .keys import ApiKey, Scope, hashed
from .limits import Limits

WORDS = ("changeme", "change-me", "change_me", "secret", "password", "key", "test", "example", "your-api-key")
"""Easily guessed secrets."""

_TEMPLATE = re.compile(
    r"change[-_ ]?me|replace[-_ ]?(me|this|with)|place[-_ ]?holder|your[-_ ]|example|insert[-_ ]|dummy|"
    r"xxxx|\*\*\*|\.\.\.|^<.*>$|^\$\{?\w+\}?$|^\{\{.*\}\}$|sample|default",
    re.IGNORECASE,
)
_HASHES = frozenset(hashed(text) for word in WORDS for text in (word, word.upper(), word.title()))


def is_placeholder(secret: str) -> bool:
    """Whether a secret looks like a placeholder or is easily guessed."""
    text = secret.strip()
    return text.lower() in WORDS or bool(_TEMPLATE.search(text))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, hide_input_in_errors=True)


class Shared(_Strict):
    """What the file and the running service name alike.

    Attributes:
        store: the store's file or database, None to keep nothing.
        state: name prefix of the service's own files (rubrics, exports under way); None for the store's name, or
            ``metajudge-service`` if the store is a database on a server.
        concurrency: maximum model calls in flight.
        budget_usd: dollars that may be spent a day (UTC); None for no limit.
        calibration: a file of ``metajudge calibrate fit`` that gives every assessment its probability.
        allowed_hosts: host names of the service in addition to loopback; with keys and no names, any host.
        cors_origins: origins whose pages may call the service from a browser; none by default.
        log_texts: log error messages even if they quote judged text.
        review_sample: fraction of approved and rejected judgments sampled for human review, in [0, 1].
        metrics: whether ``/metrics`` needs a key with scope ``read`` or ``admin``, where there are keys: ``key`` or
            ``open``.
    """

    store: Annotated[StoreLocation | None, BeforeValidator(lambda given: given and store_location(given))] = None
    state: Path | None = None
    calibration: Path | None = None
    concurrency: Annotated[int, Field(ge=1)] = 64
    budget_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/*\s]+$")], ...] = ()
    log_texts: bool = False
    review_sample: Annotated[float, Field(ge=0, le=1)] = 0.0
    metrics: Literal["key", "open"] = "key"


class ServiceOptions(Shared):
    """The service's options.

    Attributes:
        panels: name -> panel; the first one is the default.
        candidates: name -> models that answer questions in clashes.
        api_key: one key with every scope, None for none.
        keys: further keys; without any key requests are not authenticated (loopback only).
        max_body_bytes: larger requests are refused with 413.
        limits: limits on concurrent work.
        webhook: receives an event if a promise is broken.
    """

    panels: Mapping[str, PanelConfig] = Field(default_factory=lambda: {"default": PanelConfig()})
    candidates: Mapping[str, tuple[CandidateConfig, ...]] = {}
    api_key: str | None = Field(default=None, repr=False)
    keys: tuple[ApiKey, ...] = ()
    max_body_bytes: int = 4_000_000
    limits: Limits = Limits()
    webhook: Webhook | None = None

    def own_file(self, suffix: str) -> Path | None:
        """One of the service's own files; None without a store."""
        if self.store is None:
            return None
        stem = self.state or (self.store if isinstance(self.store, Path) else Path("metajudge-service"))
        return stem.with_name(f"{stem.name}.{suffix}")


class KeyTable(_Strict):
    """A key in a service's file."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)]
    requests_per_minute: Annotated[int, Field(gt=0)] | None = None


class ServiceFile(Shared):
    """The content of a service's file."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    max_body_mb: Annotated[float, Field(gt=0)] = 4.0
    panels: dict[str, Path] = {}
    candidates: dict[str, Path] = {}
    webhook: str | None = None
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    metrics_host: str = "127.0.0.1"
    limits: Limits = Limits()
    keys: list[KeyTable] = []


def is_service_file(path: Path) -> bool:
    """Whether a TOML file is a service's file, not a panel file."""
    try:
        return "service" in read_toml(path)
    except ConfigurationError:
        return False  # reading it as a panel file reports the error


def load_service_file(path: Path | None) -> ServiceFile:
    """Reads a service's file, None for the defaults; paths in it are relative to it.

    Raises:
        ConfigurationError: the file is invalid; the message has the place.
    """
    if path is None:
        return ServiceFile()
    data = read_toml(path, "service's file")
    if not isinstance(data.get("service"), dict):
        raise ConfigurationError(f"{path}: the table [service] is missing: a service's file needs it")
    others = sorted(set(data) - {"service"})
    if others:
        raise ConfigurationError(
            f"{path}: unknown tables {', '.join(others)}; a service's file has only [service]: remove the others"
        )
    if "watches" in data["service"]:
        raise ConfigurationError(
            f"{path}: service.watches was removed: let cron run `metajudge pull`, `metajudge vet` and `metajudge push`"
        )
    try:
        file = ServiceFile.model_validate(data["service"])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"{path}: service.{where}: {first['msg']}") from None
    for key in file.keys:
        if key.sha256 in _HASHES or len(set(key.sha256)) == 1:
            raise ConfigurationError(
                f"{path}: key {key.name!r} is a placeholder: create a key with `metajudge serve --new-key NAME`"
            )
    base = path.parent
    update = {
        "store": base / file.store if isinstance(file.store, Path) else file.store,
        "state": None if file.state is None else base / file.state,
        "calibration": None if file.calibration is None else base / file.calibration,
        "allowed_hosts": allowed_names(file.allowed_hosts, f"{path}: service.allowed_hosts"),
        "panels": {name: base / panel for name, panel in file.panels.items()},
        "candidates": {name: base / one for name, one in file.candidates.items()},
    }
    return file.model_copy(update=update)
