"""Starts the service: what may be served where, and uvicorn."""

import gc
import ipaddress
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.cli.loop import YOUNG_OBJECTS
from metajudge.errors import ConfigurationError
from metajudge.panel_file import PanelConfig
from metajudge.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI


SHORTEST_KEY = 16


def run(
    files: Sequence[Path],
    panel_of: Callable[[Path | None, bool], PanelConfig],
    *,
    host: str | None = None,
    port: int | None = None,
    store: Path | None = None,
    concurrency: int | None = None,
    max_body_mb: float | None = None,
    calibration: Path | None = None,
    workers: int = 1,
) -> None:
    """Serves until it is told to stop (SIGINT or SIGTERM); what is given wins over a service's file.

    Args:
        files: panel files, and at most one service's file.
        panel_of: reads a panel file (None for none); with True the flags are laid over it.

    Raises:
        ConfigurationError: extra ``api`` is missing, no usable key for an address other than loopback, or several
            workers.
    """
    try:
        import uvicorn

        from .app import create_app
        from .logs import configure_logs
        from .protocol import with_head_timeout
    except ImportError as error:
        raise ConfigurationError(
            f"the service needs extra packages ({error.name}): pip install 'metajudge-vet[api]'"
        ) from None
    check_workers(workers)
    from .config import is_service_file, load_service_file
    from .options import Limits, ServiceOptions

    services = [path for path in files if is_service_file(path)]
    if len(services) > 1:
        raise ConfigurationError("give one service's file (with a table [service]), not several")
    settings = Settings.load()
    file, limits = load_service_file(services[0]) if services else (None, Limits())
    panel_files = {**(file.panels if file else {}), **{path.stem: path for path in files if path not in services}}
    panels = {name: panel_of(path, not index) for index, (name, path) in enumerate(panel_files.items())}
    address = host or (file.host if file else None) or "127.0.0.1"
    keys = tuple(key.key() for key in file.keys) if file else ()
    megabytes = max_body_mb or (file.max_body_mb if file else None)
    options = ServiceOptions(
        panels=panels or {"default": panel_of(None, True)},
        store=store or (file.store if file else None) or settings.store,
        api_key=checked_key(settings.service_key, address, others=bool(keys)),
        keys=keys,
        concurrency=concurrency or (file.concurrency if file else None) or 64,
        calibration=calibration or (file.calibration if file else None),
        limits=limits,
    )
    if megabytes is not None:
        options = replace(options, max_body_bytes=int(megabytes * 1_000_000))
    configure_logs()
    uvicorn.run(
        create_app(options, opened=_settle_garbage),
        host=address,
        port=port if port is not None else (file.port if file and file.port is not None else 8080),
        http=with_head_timeout(limits.head_s),
        limit_concurrency=limits.connections,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def app() -> "FastAPI":
    """The application for other ASGI servers: ``uvicorn --factory metajudge.api.server:app``.

    Panels, keys and limits come from the service's file that METAJUDGE_CONFIG names, the rest from the environment.
    Whether it is open to the network is not known here, so a key is always demanded.

    Raises:
        ConfigurationError: as for :func:`run`.
    """
    from metajudge.panel_file import load_panel_file

    from .app import create_app
    from .config import load_service_file
    from .options import Limits, ServiceOptions

    check_workers(int(os.environ.get("WEB_CONCURRENCY", "1")))
    settings = Settings.load()
    named = os.environ.get("METAJUDGE_CONFIG")
    file, limits = load_service_file(Path(named)) if named else (None, Limits())
    keys = tuple(key.key() for key in file.keys) if file else ()
    panels = {name: load_panel_file(path) for name, path in file.panels.items()} if file else {}
    options: ServiceOptions = ServiceOptions(
        panels=panels or {"default": PanelConfig()},
        store=(file.store if file else None) or settings.store,
        api_key=checked_key(settings.service_key, "0.0.0.0", others=bool(keys)),  # noqa: S104
        keys=keys,
        concurrency=(file.concurrency if file else None) or 64,
        calibration=file.calibration if file else None,
        limits=limits,
        max_body_bytes=int(((file.max_body_mb if file else None) or 4) * 1_000_000),
    )
    return create_app(options)


def _settle_garbage() -> None:
    """Leaves what was imported out of every later collection, which would walk it while callers wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)


def check_workers(workers: int) -> None:
    """Refuses several processes on one store's file.

    Raises:
        ConfigurationError: more than one.
    """
    if workers > 1:
        raise ConfigurationError(
            f"{workers} workers would share one store's file, which one process owns: serve with one worker, and run "
            "several services with a store each"
        )


def checked_key(key: str | None, host: str, others: bool = False) -> str | None:
    """The key to demand of callers.

    Args:
        others: whether a service's file has keys.

    Raises:
        ConfigurationError: no key away from loopback, or one that anybody could guess.
    """
    from .config import PLACEHOLDERS

    if key is None:
        if not is_loopback(host) and not others:
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


def new_key_lines(name: str, scopes: Sequence[str]) -> tuple[str, str]:
    """A fresh key, and the lines for the service's file that let it in.

    Raises:
        ConfigurationError: an unknown scope.
    """
    from .keys import Scope, hashed

    unknown = [scope for scope in scopes if scope not in list(Scope)]
    if unknown:
        raise ConfigurationError(f"unknown scope {unknown[0]!r}: one of {', '.join(Scope)}")
    key = f"mj_{secrets.token_urlsafe(32)}"
    quoted = ", ".join(f'"{scope}"' for scope in scopes or list(Scope))
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return key, f'[[service.keys]]\nname = "{escaped}"\nsha256 = "{hashed(key)}"\nscopes = [{quoted}]'
