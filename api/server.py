"""Starts the service: checks its options and runs uvicorn."""

import contextlib
import gc
import logging
import math
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI

from metajudge.clashes.setup import load_candidates
from metajudge.concurrency import set_modules_apart, take_modules_back
from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.installation import install_command
from metajudge.panels.building import spec_of
from metajudge.panels.config import PanelConfig, load_panel_file
from metajudge.settings import Settings
from metajudge.webhooks.webhook import Webhook

from . import app as application
from . import logs
from .bodies import bounded_protocol
from .hosts import allowed_names, is_loopback
from .keys import ApiKey, Scope, hashed
from .limits import Limits
from .metrics_port import MetricsPort, bind_metrics
from .options import ServiceFile, ServiceOptions, Shared, is_placeholder, is_service_file, load_service_file
from .workers import supervise

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
LOG_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
"""Where events go as log records; ``OTEL_LOGS_EXPORTER=none`` leaves them on the spans."""


def configure_traces() -> bool:
    """Sets up the SDK with an exporter (OTLP over HTTP), if an endpoint is named and no SDK is set up yet.

    ``OTEL_SERVICE_NAME``, ``OTEL_EXPORTER_OTLP_HEADERS`` and the SDK's other variables apply;
    ``OTEL_SDK_DISABLED=true`` turns it off. Events are log records where an endpoint for those is named, too.

    Returns:
        Whether traces are sent.

    Raises:
        ConfigurationError: an endpoint is named and extra ``otel`` is missing.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED") == "true":
        return False
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigurationError(
            f"an endpoint for traces is named, but {error.name} is missing: {install_command('otel')}, or unset "
            f"{' and '.join(ENDPOINTS)}"
        ) from None
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return True
    os.environ.setdefault("OTEL_SERVICE_NAME", "metajudge")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _configure_events(provider.resource)
    return True


def _configure_events(resource: Any) -> None:
    """Sets up the SDK's logger provider for events alone: the service's own log is not sent."""
    if not any(os.environ.get(name) for name in LOG_ENDPOINTS) or os.environ.get("OTEL_LOGS_EXPORTER") == "none":
        return
    from opentelemetry import _logs
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    if isinstance(_logs.get_logger_provider(), LoggerProvider):
        return
    provider = LoggerProvider(resource=resource)
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    _logs.set_logger_provider(provider)


SHORTEST_KEY = 16
REPLY_S = 5.0
"""Seconds in addition to a request's time limit, for its response to be sent."""
LONGEST_GRACE_S = 3600.0
CLOSE_S = 20.0
"""Seconds for jobs and store to be closed, after the requests have ended."""
ANYWHERE = "0.0.0.0"  # noqa: S104 - an address that requires a key


def run(
    files: Sequence[Path], panel_of: Callable[[Path | None, bool], PanelConfig], *, workers: int = 1, **flags: Any
) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        files: panel files, and at most one service's file.
        panel_of: reads a panel file (None: the default panel); with True the command's options apply to it.
        flags: settings of the service's file by name, which they override; None or empty for the file's own.

    Raises:
        ConfigurationError: the key for a non-loopback address is missing or unsafe, or a setting is wrong.
    """
    services = [path for path in files if is_service_file(path)]
    if len(services) > 1:
        raise ConfigurationError("several service's files (with a table [service]) are given: give one")
    settings = Settings.load()
    file = load_service_file(services[0] if services else None)
    panel_files = {**file.panels, **{path.stem: path for path in files if path not in services}}
    panels = {name: panel_of(path, not index) for index, (name, path) in enumerate(panel_files.items())}
    given = {name: value for name, value in flags.items() if value not in (None, "", (), [])}
    if "allowed_hosts" in given:
        given["allowed_hosts"] = allowed_names(given["allowed_hosts"], "--allowed-host")
    file = ServiceFile.model_validate({**vars(file), **given})
    address, chosen, limits = file.host, file.port, file.limits
    if "metrics_host" in given and file.metrics_port is None:
        raise ConfigurationError("--metrics-host is the address of --metrics-port: give both")
    options = _options(file, settings, panels or {"default": panel_of(None, True)})
    logs.configure_logs(texts=options.log_texts)
    configure_traces()
    _allow_connections(limits.connections)
    refusals: list[MetajudgeError] = []
    logging.getLogger("uvicorn.error").addFilter(lambda _record: not refusals)  # reported once, without a trace
    at_opening: list[Callable[[], None]] = []

    def opened() -> None:
        gc.collect()
        set_modules_apart()  # later garbage collections, which would delay requests, leave imported objects out
        for callback in at_opening:
            callback()

    app = application.create_app(options, opened=opened, closed=take_modules_back, failed=refusals.append)
    config = server_config(app, options, address, chosen)
    metrics = None if file.metrics_port is None else bind_metrics(file.metrics_host, file.metrics_port)

    def serve(*sockets: socket.socket) -> None:
        server = graceful_server(config, app, metrics)
        earlier = os.umask(0o077)  # only this user may read the store and the service's own files
        with contextlib.suppress(SystemExit, KeyboardInterrupt):  # its log has the reason
            try:
                server.run(list(sockets) or None)
            finally:
                os.umask(earlier)
        if refusals:
            raise ConfigurationError(str(refusals.pop())) from None
        if not server.started:
            raise ConfigurationError(f"cannot serve on {address}:{chosen}: see the log above; try another --port")

    if workers == 1:
        serve()
        return
    with contextlib.suppress(SystemExit), config.bind_socket() as shared:

        def work(ready: Callable[[], None]) -> None:
            at_opening.append(ready)
            serve(shared)

        supervise(work, workers, stop_s=grace_s(limits) + CLOSE_S)
        return
    raise ConfigurationError(f"cannot serve on {address}:{chosen}: see the log above; try another --port")


def server_config(app: FastAPI, options: ServiceOptions, host: str, port: int) -> uvicorn.Config:
    """The application's configuration of uvicorn."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=bounded_protocol(options.limits.head_s, options.limits.connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_s(options.limits),
    )


def grace_s(limits: Limits) -> int:
    """Seconds that requests in flight have to end after the stop signal: their own limit, an hour at most."""
    return math.ceil(min(limits.request_s + REPLY_S, LONGEST_GRACE_S))


def graceful_server(config: uvicorn.Config, app: FastAPI, metrics: socket.socket | None = None) -> uvicorn.Server:
    """A server that tells the application when it stops, so that streams which only watch end at once.

    Args:
        metrics: a socket on which the application's metrics are served for as long.
    """
    own = None if metrics is None else MetricsPort(app, metrics)

    class Graceful(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if own is not None and self.started:
                own.start()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            running = getattr(app.state, "service", None)
            if running is not None:
                running.leave()
            if own is not None:
                await own.stop()
            await super().shutdown(sockets)

    return Graceful(config)


def app() -> FastAPI:
    """The application for other ASGI servers: ``uvicorn --factory metajudge.api.server:app``.

    Panels, keys and limits come from the service's file in METAJUDGE_CONFIG, the rest from the environment. The address
    is not known here, so a key is always required.

    Raises:
        ConfigurationError: as for :func:`run`.
    """
    named = os.environ.get("METAJUDGE_CONFIG")
    file = load_service_file(Path(named) if named else None)
    panels = {name: load_panel_file(path) for name, path in file.panels.items()}
    file = file.model_copy(update={"host": ANYWHERE})
    return application.create_app(_options(file, Settings.load(), panels or {"default": PanelConfig()}))


def _options(file: ServiceFile, settings: Settings, panels: Mapping[str, PanelConfig]) -> ServiceOptions:
    """Options from the service's file, else from the environment.

    Raises:
        ConfigurationError: the key for a non-loopback address is missing or unsafe, or a provider's is a placeholder.
    """
    webhook = None
    if file.webhook is not None:
        webhook = Webhook.at(file.webhook, settings.webhook_secret, allow_private=settings.webhook_private)
    given = {name: getattr(file, name) for name in Shared.model_fields}
    given["store"] = file.store or settings.store
    given["allowed_hosts"] = file.allowed_hosts or allowed_names(settings.allowed_hosts, "METAJUDGE_ALLOWED_HOSTS")
    options = ServiceOptions(
        **given,
        panels=panels,
        candidates={
            **{name: panel.candidates for name, panel in panels.items() if panel.candidates},
            **{name: load_candidates(path) for name, path in file.candidates.items()},
        },
        api_key=checked_key(settings.service_key, file.host, others=bool(file.keys)),
        keys=tuple(ApiKey(**dict(key)) for key in file.keys),
        max_body_bytes=int(file.max_body_mb * 1_000_000),
        webhook=webhook,
        limits=file.limits,
    )
    check_provider_keys(options.panels.values(), settings)
    return options


def _allow_connections(count: int) -> None:
    """Raises the limit on open files, as far as permitted, if it is too low for ``count`` connections."""
    try:
        import resource
    except ImportError:  # not available on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 500
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def checked_key(key: str | None, host: str, others: bool = False) -> str | None:
    """The key callers must send.

    Args:
        others: whether the service's file has keys.

    Raises:
        ConfigurationError: the key for a non-loopback address is missing, or the key is easily guessed.
    """
    if key is None:
        if not is_loopback(host) and not others:
            raise ConfigurationError(
                f"serving on {host} opens the service to the network: set METAJUDGE_API_KEY, or serve on 127.0.0.1"
            )
        return None
    if is_placeholder(key) or len(key) < SHORTEST_KEY:
        raise ConfigurationError(
            f"METAJUDGE_API_KEY is a placeholder or shorter than {SHORTEST_KEY} characters: create one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe(32))'`"
        )
    return key


def check_provider_keys(panels: Iterable[PanelConfig], settings: Settings) -> None:
    """Refuses placeholders as providers' keys and as the webhook secret.

    Raises:
        ConfigurationError: a key or the secret is a placeholder.
    """
    if settings.webhook_secret is not None and is_placeholder(settings.webhook_secret):
        raise ConfigurationError("METAJUDGE_WEBHOOK_SECRET is a placeholder: set the real secret")
    for panel in panels:
        for agent in panel.models:
            spec = spec_of(agent)
            try:
                key = None if spec.is_local else settings.key_for(spec)
            except ConfigurationError:
                continue  # /readyz reports it
            if key is not None and is_placeholder(key):
                raise ConfigurationError(f"the key of agent {spec.name!r} is a placeholder: set the real key")


def new_key_lines(name: str, scopes: Sequence[str]) -> tuple[str, str]:
    """A new key, and the lines for the service's file that accept it.

    Raises:
        ConfigurationError: an unknown scope.
    """
    unknown = [scope for scope in scopes if scope not in list(Scope)]
    if unknown:
        raise ConfigurationError(f"unknown scope {unknown[0]!r}: one of {', '.join(Scope)}")
    while is_placeholder(key := f"mj_{secrets.token_urlsafe(32)}"):
        pass  # chance spells a word of a template, such as xxxx, in some 40 keys of a million
    quoted = ", ".join(f'"{scope}"' for scope in scopes or list(Scope))
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return key, f'[[service.keys]]\nname = "{escaped}"\nsha256 = "{hashed(key)}"\nscopes = [{quoted}]'
