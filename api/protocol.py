"""uvicorn's HTTP protocol, which also closes connections whose request head does not arrive."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def with_head_timeout(seconds: float) -> type[asyncio.Protocol]:
    """The protocol class to give to uvicorn."""
    base: Any = AutoHTTPProtocol

    class HeadTimeout(base):  # type: ignore[misc]
        """Closes a connection that is ``seconds`` old, or as long in the middle of a head, without a request."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._arm()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._arm()
            else:
                self._disarm()

        def connection_lost(self, exc: Exception | None) -> None:
            self._disarm()
            super().connection_lost(exc)

        def _arm(self) -> None:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(seconds, self.transport.close)

        def _disarm(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return HeadTimeout
