"""ASGI middleware: an id, a count and a log line for every request."""

import logging
import time
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .authorization import route_of
from .errors import UNEXPECTED, BrokenAnswerError, refuse
from .metrics import Metrics

_log = logging.getLogger("metajudge.api.access")
_errors = logging.getLogger("metajudge.api")

SAFE_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin")]


class RequestId:
    """Gives every request an id, in ``scope["state"]`` and the ``x-request-id`` header; counts it and logs it.

    The log contains method, route, status, time and the key's name: never a body, a query or a key. An
    unhandled error becomes a problem here, so that it is counted and has an id.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex[:16]
        scope.setdefault("state", {})["request_id"] = request_id
        status, start = 0, time.perf_counter()

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], *SAFE_HEADERS, (b"x-request-id", request_id.encode())]
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self.app(scope, receive, with_id)
        except Exception as error:
            _errors.error("unhandled error", exc_info=error, extra={"request_id": request_id})
            if status:
                raise BrokenAnswerError from None
            await refuse(scope, with_id, 500, UNEXPECTED)
        finally:
            self._record(scope, request_id, status, time.perf_counter() - start)

    def _record(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None) or route_of(scope["method"], scope["path"]) or "(none)"
        self.metrics.request(scope["method"], route, status, seconds)
        caller = scope["state"].get("who")
        _log.info(
            "request",
            extra={
                "request_id": request_id,
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(1000 * seconds, 1),
                "caller": None if caller is None else caller.name,
            },
        )
