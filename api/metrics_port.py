"""``/metrics`` on an address of its own, without a key: it can be left out of what callers reach.

On a loopback address only this machine's names are answered, so that no page of another site can read the metrics by
pointing its own name here (DNS rebinding).
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import uvicorn
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from metajudge.errors import ConfigurationError

from .hosts import HostRule, is_loopback
from .routes.health import metrics_text

if TYPE_CHECKING:
    from fastapi import FastAPI

PATH = "/metrics"
CONNECTIONS = 20
"""Connections to the metrics' own address at a time; others are answered with 503."""
_log = logging.getLogger("metajudge.api")


def bind_metrics(host: str, port: int) -> socket.socket:
    """A listening socket for the metrics; 0 picks a free port.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot serve metrics on {host}:{port} ({error.strerror}): try another --metrics-port"
        ) from None
    found.set_inheritable(True)
    return found


class MetricsPort:
    """Serves the metrics of an application on a socket, in the application's own event loop.

    Args:
        app: whose service is running while this serves.
        listening: from :func:`bind_metrics`.
    """

    def __init__(self, app: "FastAPI", listening: socket.socket) -> None:
        self._app = app
        self._socket = listening
        self._local = is_loopback(listening.getsockname()[0])
        self._server = _Quiet(
            uvicorn.Config(
                self._answer,
                interface="asgi3",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="off",
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=1,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to answer; the application is open."""
        address = self._socket.getsockname()
        _log.info("metrics are served on %s:%s%s, without a key", address[0], address[1], PATH)
        self._serving = asyncio.create_task(self._server.serve([self._socket]))

    async def stop(self) -> None:
        """Stops answering."""
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._response(scope))(scope, receive, send)

    async def _response(self, scope: Scope) -> PlainTextResponse:
        if self._local:
            try:
                HostRule().check("GET", scope["headers"])
            except HTTPException as refusal:
                return PlainTextResponse("foreign host\n", refusal.status_code)
        if scope["path"] != PATH:
            return PlainTextResponse(f"only {PATH} is served here\n", 404)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("only GET\n", 405, {"Allow": "GET, HEAD"})
        text = await metrics_text(self._app.state.service)
        return PlainTextResponse(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)


class _Quiet(uvicorn.Server):
    """A server within another one's event loop, which handles the signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
