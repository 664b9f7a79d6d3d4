"""uvicorn's HTTP protocol with limits before a request: time, bytes and connections."""

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .errors import problem_bytes

HEAD_BYTES = 64_000
LINGER_S = 1.0
"""How long what a refused caller still sends is read and dropped: a close over unread bytes would reset the answer."""


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
