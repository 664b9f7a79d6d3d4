"""ASGI middleware: checks hosts, origins, keys and rate limits before the request's body is read."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from .authorization import KEY_NEEDED
from .errors import refuse
from .keys import ANYBODY, Caller
from .pages.page_route import refusal_page
from .service import Service

AT_MODELS = frozenset({"/v1/vet", "/v1/vet/stream", "/v1/judge", "/v1/clash", "/v1/cases"})
"""Paths that count as requests in flight."""
MACHINES = ("/v1/", "/healthz", "/readyz", "/metrics", "/version", "/openapi.json")
"""Path prefixes whose errors are problem details; errors of other paths are pages."""
ANY_HOST = "/healthz"
"""This path is served under every host name, as it reveals nothing and probes often use addresses."""


DETAILED = "/readyz"
"""This path says more to callers with a key."""


class Gate:
    """Checks the host and origin of every request, keys and rates of paths under ``/v1``, and the number in flight.

    The caller is stored in ``scope["state"]["who"]``; :mod:`.authorization` checks scopes.
    """

    def __init__(self, app: ASGIApp, most_open: int) -> None:
        self.app = app
        self.most_open = most_open
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.open += 1
        try:
            await self._check(scope, scope["app"].state.service)
        except HTTPException as refusal:
            await self._refuse(scope, receive, send, refusal)
        else:
            await self.app(scope, receive, send)
        finally:
            self.open -= 1

    async def _check(self, scope: Scope, running: Service) -> None:
        if self.open > self.most_open:
            raise HTTPException(503, f"{self.most_open} requests are open: try again later", {"Retry-After": "1"})
        path: str = scope["path"]
        if path != ANY_HOST:
            running.hosts.check(scope["method"], scope["headers"])
        headers = dict(scope["headers"])
        if path == DETAILED:
            scope["state"]["who"] = _known(headers, running)
        closed = path == "/metrics" and running.options.metrics == "key"
        if not path.startswith("/v1/") and not closed:
            return
        caller = self._caller(headers, running)
        scope["state"]["who"] = caller
        await running.rates.check(caller, f"key {caller.name!r} has reached its rate limit")
        if path in AT_MODELS and scope["method"] == "POST":
            running.admission.check()

    @staticmethod
    async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: HTTPException) -> None:
        if scope["path"].startswith(MACHINES):
            await refuse(scope, send, refusal.status_code, refusal.detail, dict(refusal.headers or {}))
            return
        # Without its headers: the page must not contain the refused host.
        answer = refusal_page(Request({**scope, "headers": []}), refusal.status_code, refusal.detail)
        await answer(scope, receive, send)

    @staticmethod
    def _caller(headers: dict[bytes, bytes], running: Service) -> Caller:
        if running.keys.empty:
            return ANYBODY
        given = _given(headers)
        if given is None:
            raise HTTPException(401, KEY_NEEDED)
        found = running.keys.caller(given)
        if found is None:
            raise HTTPException(401, "the key is not valid")
        return found


def _known(headers: dict[bytes, bytes], running: Service) -> Caller | None:
    """The caller, if no key is needed or a valid one is given."""
    if running.keys.empty:
        return ANYBODY
    given = _given(headers)
    return None if given is None else running.keys.caller(given)


def _given(headers: dict[bytes, bytes]) -> str | None:
    scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and credentials.strip():
        return credentials.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.decode("latin-1")
