"""ASGI middleware: bounds on request bodies, and an id, a count and a log line for every request."""

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Collection
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .metrics import Metrics

_log = logging.getLogger("metajudge.api.access")


class RequestId:
    """Gives every request an id, in ``scope["state"]`` and the ``x-request-id`` header; counts it and logs it.

    The log holds method, route, status, time and the key's name: never a body, a query or a key.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex[:16]
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        status, start = 0, time.perf_counter()

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, with_id)
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "(none)")
            self.metrics.request(scope["method"], route, status, seconds)
            _log.info(
                "request",
                extra={
                    "request_id": request_id,
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "ms": round(1000 * seconds, 1),
                    "caller": state.get("caller"),
                },
            )


class BodyLimit:
    """Refuses bodies over a bound with 413, by their declared length or as soon as they pass it, and slow ones (408).

    The body is read here, so that no more than the bound is ever held.

    Args:
        body_s: seconds a body may take to arrive.
        streamed: paths whose bodies may be ``upload_bytes`` long and are passed on as they come.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        body_s: float = 20.0,
        streamed: Collection[str] = (),
        upload_bytes: int = 0,
    ) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.body_s = body_s
        self.streamed = streamed
        self.upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        streams = scope["path"] in self.streamed
        most = self.upload_bytes if streams else self.max_bytes
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit() or int(declared) > most:
            await _refuse(scope, send, 413, _too_large(most))
            return
        if streams:
            await self.app(scope, _bounded(receive, most, self.body_s), send)
            return
        try:
            async with asyncio.timeout(self.body_s):
                body = await _whole(receive, most)
        except TimeoutError:
            await _refuse(scope, send, 408, f"the request body did not arrive within {self.body_s:g} s")
            return
        except _TooLargeError:
            await _refuse(scope, send, 413, _too_large(most))
            return
        if body is None:
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)


class _TooLargeError(Exception):
    pass


def _too_large(most: int) -> str:
    return f"the request body is larger than {most} bytes, or its length is not a number"


async def _whole(receive: Receive, most: int) -> bytes | None:
    """The body; None where the caller went away."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            raise _TooLargeError
        if not message.get("more_body", False):
            return bytes(body)


def _bounded(receive: Receive, most: int, pause_s: float) -> Receive:
    """Passes an upload on as it comes; one that is too long or stands still ends like a closed connection."""
    got, ended = 0, False

    async def bounded() -> Message:
        nonlocal got, ended
        if ended:
            return await receive()
        try:
            async with asyncio.timeout(pause_s):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        got += len(message.get("body", b""))
        ended = message["type"] != "http.request" or not message.get("more_body", False)
        return {"type": "http.disconnect"} if got > most else message

    return bounded


async def _refuse(scope: Scope, send: Send, status: int, detail: str) -> None:
    problem: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "request_id": scope.get("state", {}).get("request_id", ""),
    }
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(problem).encode()})
