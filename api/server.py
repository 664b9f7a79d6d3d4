"""Starts the service: what may be served where, and uvicorn."""

import ipaddress
from collections.abc import Mapping
from pathlib import Path

from metajudge.errors import ConfigurationError
from metajudge.panel_file import PanelConfig
from metajudge.settings import Settings

PLACEHOLDERS = frozenset({"changeme", "change-me", "secret", "password", "key", "test", "example", "your-api-key"})
SHORTEST_KEY = 16


def run(
    panels: Mapping[str, PanelConfig],
    *,
    host: str,
    port: int,
    store: Path | None,
    concurrency: int,
    max_body_bytes: int,
    calibration: Path | None = None,
) -> None:
    """Serves until it is told to stop (SIGINT or SIGTERM).

    Raises:
        ConfigurationError: extra ``api`` is missing, or no usable key for an address other than loopback.
    """
    try:
        import uvicorn

        from .app import ServiceOptions, create_app
    except ImportError as error:
        raise ConfigurationError(
            f"the service needs extra packages ({error.name}): pip install 'metajudge-vet[api]'"
        ) from None

    key = checked_key(Settings.load().service_key, host)
    options = ServiceOptions(panels, store, key, concurrency, max_body_bytes, calibration)
    uvicorn.run(create_app(options), host=host, port=port, log_level="info", timeout_graceful_shutdown=10)


def checked_key(key: str | None, host: str) -> str | None:
    """The key to demand of callers.

    Raises:
        ConfigurationError: no key away from loopback, or one that anybody could guess.
    """
    if key is None:
        if not is_loopback(host):
            raise ConfigurationError(
                f"serving on {host} opens the service to the network: set METAJUDGE_API_KEY, or serve on 127.0.0.1"
            )
        return None
    if key.lower() in PLACEHOLDERS or len(key) < SHORTEST_KEY:
        raise ConfigurationError(
            f"METAJUDGE_API_KEY is a placeholder or shorter than {SHORTEST_KEY} characters: make one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe(32))'`"
        )
    return key


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
