"""The service's file (TOML): panels, keys, limits, store.

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

    [service.limits]            # see api/limits.py
    in_flight = 64

    [[service.keys]]            # made by `metajudge serve --new-key NAME`
    name = "ci"
    sha256 = "..."
    scopes = ["vet", "read"]
"""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from metajudge.errors import ConfigurationError
from metajudge.types.location import store_location

from .hosts import allowed_names
from .keys import ApiKey, Scope, hashed
from .limits import Limits

_Strict = ConfigDict(extra="forbid", frozen=True)
_LIMITS: dict[str, Any] = {
    one.name: (Annotated[float, Field(gt=0)] if one.name.endswith("_s") else Annotated[int, Field(gt=0)], one.default)
    for one in fields(Limits)
    if one.name != "requests_per_minute"
}
LimitsTable = create_model(
    "LimitsTable", __config__=_Strict, requests_per_minute=(Annotated[int, Field(gt=0)] | None, None), **_LIMITS
)
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


def is_placeholder_hash(sha256: str) -> bool:
    """The same for the hash of a secret."""
    return sha256 in _HASHES or len(set(sha256)) == 1


class KeyTable(BaseModel):
    """A key in a service's file."""

    model_config = _Strict

    name: Annotated[str, Field(min_length=1, max_length=100)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)]
    requests_per_minute: Annotated[int, Field(gt=0)] | None = None

    def key(self) -> ApiKey:
        return ApiKey(self.name, self.sha256, self.scopes, self.requests_per_minute)


class ServiceFile(BaseModel):
    """The content of a service's file."""

    model_config = _Strict

    store: Annotated[Any, BeforeValidator(store_location)] = None
    state: Path | None = None
    calibration: Path | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    concurrency: Annotated[int, Field(ge=1)] = 64
    budget_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_body_mb: Annotated[float, Field(gt=0)] = 4.0
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/*\s]+$")], ...] = ()
    log_texts: bool = False
    panels: dict[str, Path] = {}
    candidates: dict[str, Path] = {}
    review_sample: Annotated[float, Field(ge=0, le=1)] = 0.0
    webhook: str | None = None
    metrics: Literal["key", "open"] = "key"
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    metrics_host: str = "127.0.0.1"
    limits: Any = {}
    keys: list[KeyTable] = []


def is_service_file(path: Path) -> bool:
    """Whether a TOML file is a service's file, not a panel file."""
    try:
        return "service" in tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False  # reading it as a panel file reports the error


def load_service_file(path: Path | None) -> tuple[ServiceFile, Limits]:
    """Reads a service's file, None for the defaults; paths in it are relative to it.

    Raises:
        ConfigurationError: the file is invalid; the message has the place.
    """
    if path is None:
        return ServiceFile(), Limits()
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"cannot read the service's file {path}: {error}") from None
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
        limits = Limits(**LimitsTable.model_validate(file.limits).model_dump())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"{path}: service.{where}: {first['msg']}") from None
    for key in file.keys:
        if is_placeholder_hash(key.sha256):
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
    return file.model_copy(update=update), limits
