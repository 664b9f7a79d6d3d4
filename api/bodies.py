"""Limits on what arrives: connections, heads of requests (in uvicorn's protocol) and bodies (in ASGI middleware)."""

import asyncio
import re
import time
from collections.abc import Collection
from http import HTTPStatus
from typing import Any

from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from metajudge.types.frozen import DEEPEST

from .errors import ProblemError, problem_bytes, refuse
from .limits import Limits

_ODD = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]|\x00")
"""Possible lone surrogates, or an encoding other than UTF-8; rare in practice."""
LINGER_S, LINGER_BYTES = 1.0, 8_000_000
"""Seconds and bytes for which what a refused caller still sends is read and dropped: a close over unread bytes would
reset the answer."""
HEAD_BYTES = 64_000


class BodyLimit:
    """Refuses too large bodies (413), by their declared length or while reading, and slow ones (408).

    Bodies are read here, so memory is bounded by the limit for each body and by ``held_bytes`` for all bodies together;
    beyond it requests are refused with 503.

    Args:
        limits: seconds within which a body must arrive, and the limits of uploads.
        streamed: paths whose bodies may be ``upload_bytes`` long and are passed on as they arrive: they may pause for
            ``body_s`` and take ``upload_s`` in all.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, limits: Limits, streamed: Collection[str]) -> None:
        self.app, self.max_bytes, self.limits, self.streamed = app, max_bytes, limits, streamed
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        streams = scope["path"] in self.streamed
        most = self.limits.upload_bytes if streams else self.max_bytes
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit() or int(declared) > most:
            await _refuse_rest(scope, receive, send, 413, _too_large(most))
        elif streams:
            upload = _Upload(receive, most, self.limits.body_s, time.monotonic() + self.limits.upload_s)
            await self.app(scope, upload, send)
        else:
            await self._with_body(scope, receive, send)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_s):
                complete = await self._read(receive, body)
        except (TimeoutError, ProblemError) as error:
            self.held -= len(body)
            body.clear()
            if isinstance(error, ProblemError):
                await _refuse_rest(scope, receive, send, error.status, str(error))
            else:
                detail = f"the request body did not arrive within {self.limits.body_s:g} s"
                await refuse(scope, send, 408, detail)
            return
        held = len(body)
        content = bytes(body) if complete else None
        body.clear()
        try:
            problem = content and _json_problem(scope, content)
            if problem:
                await refuse(scope, send, 422, problem)
            elif content is not None:
                await self.app(scope, _replay(content, receive), send)
        finally:
            self.held -= held

    async def _read(self, receive: Receive, body: bytearray) -> bool:
        """Reads the body; False if the caller disconnected."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            chunk = message.get("body", b"")
            body += chunk
            self.held += len(chunk)
            if len(body) > self.max_bytes:
                raise ProblemError(413, _too_large(self.max_bytes))
            if self.held > self.limits.held_bytes:
                raise ProblemError(503, "too many large requests are in flight: try again later")
            if not message.get("more_body", False):
                return True


class _Upload:
    """``receive`` of an upload that is passed on as it arrives."""

    def __init__(self, receive: Receive, most: int, pause_s: float, deadline: float) -> None:
        self._receive, self._most, self._pause_s, self._deadline = receive, most, pause_s, deadline
        self._got, self._ended = 0, False

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        patience = min(self._pause_s, self._deadline - time.monotonic())
        try:
            async with asyncio.timeout(max(0.0, patience)):
                message = await self._receive()
        except TimeoutError:
            raise ProblemError(408, "the upload paused or took too long: send it again in smaller parts") from None
        self._got += len(message.get("body", b""))
        if self._got > self._most:
            raise ProblemError(413, _too_large(self._most))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _json_problem(scope: Scope, body: bytes) -> str | None:
    """Finds what Python's parser accepts and no store or client can take: texts that are no Unicode, deep nesting."""
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    if b"json" not in kind.lower() or not (body.count(b"{") + body.count(b"[") > DEEPEST or _ODD.search(body)):
        return None
    try:
        from_json(body)
    except ValueError as error:
        return f"body: not JSON in UTF-8, nested more than 200 levels deep, or a text in it is not Unicode: {error}"
    return None


def _too_large(most: int) -> str:
    return f"the request body is larger than {most} bytes, or its Content-Length is not a number"


def _replay(body: bytes, receive: Receive) -> Receive:
    """``receive`` of a body that was read, and of the messages after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


async def _refuse_rest(scope: Scope, receive: Receive, send: Send, status: int, detail: str) -> None:
    """Refuses a body that is still arriving.

    Closing at once would reset the connection, and a sender that is still writing might not see the response. So a
    little more is read and dropped.
    """
    await refuse(scope, send, status, detail, {"connection": "close"}, more=True)
    dropped = 0
    try:
        async with asyncio.timeout(LINGER_S):
            while dropped < LINGER_BYTES:
                message: Any = await receive()
                dropped += len(message.get("body", b""))
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def bounded_protocol(head_s: float, connections: int) -> type[asyncio.Protocol]:
    """The protocol class for uvicorn.

    Args:
        head_s: seconds within which a request's head must arrive; then the connection is closed (408).
        connections: open connections; further ones are refused (503).
    """
    base: Any = AutoHTTPProtocol

    class Bounded(base):  # type: ignore[misc]
        """Sends problem details for input that does not become a request."""

        _timer: asyncio.TimerHandle | None = None
        _head_bytes = 0
        _tail: bytes = b""
        _refused = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > connections:
                self._refuse(503, f"{connections} connections are open: try again later", "retry-after: 1\r\n")
                self.transport.close()
                return
            self._arm()

        def data_received(self, data: bytes) -> None:
            if self._refused or self.transport.is_closing():
                return
            if not self._in_request() and self._head_with(data) > HEAD_BYTES:
                self._refuse(431, f"the request's head is longer than {HEAD_BYTES} bytes")
                return
            super().data_received(data)
            if self._in_request():
                self._disarm()
                return
            self._arm()
            self._head_bytes += len(data)
            self._tail = (self._tail + data)[-3:]

        def _in_request(self) -> bool:
            """Whether the head of a request has arrived and its response is not complete."""
            return self.cycle is not None and not self.cycle.response_complete

        def _head_with(self, data: bytes) -> int:
            """The length of the head once data are added to it; they may contain its end, and more after it."""
            end = (self._tail + data).find(b"\r\n\r\n")
            return self._head_bytes + (len(data) if end < 0 else end + 4 - len(self._tail))

        def connection_lost(self, exc: Exception | None) -> None:
            self._disarm()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "not a valid HTTP request")

        def _arm(self) -> None:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(head_s, self._too_slow)

        def _disarm(self) -> None:
            self._head_bytes, self._tail = 0, b""
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _too_slow(self) -> None:
            self._timer = None
            if self._head_bytes:
                self._refuse(408, f"the request's head did not arrive within {head_s:g} s")
            else:
                self.transport.close()

        def _refuse(self, status: int, detail: str, headers: str = "") -> None:
            if self._refused or self.transport.is_closing():
                return
            self._refused = True
            body = problem_bytes(status, detail, "")
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/problem+json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n{headers}\r\n"
            )
            self._disarm()
            self.transport.write(head.encode() + body)
            self.transport.write_eof()
            self._timer = asyncio.get_running_loop().call_later(LINGER_S, self.transport.close)

    return Bounded
