"""Requests as an SDK builds them, drafted once for each kind instead of once for each call.

Of what an SDK sends, only the body and the cookies differ from call to call: address, headers and time-outs follow from
the client, the path and the settings. Having the SDK build and unwrap every request takes more CPU than the rest of
the exchange. So it builds one of each kind, for a transport that sends nothing, and the HTTP client it would have used
sends copies of it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import httpx2


Timeouts = Callable[[float], "httpx2.Timeout"]
"""The transport's time-outs for an answer's, in seconds."""


class Sdk(Protocol):
    """The part of an official SDK's client that is used."""

    async def post(self, *args: Any, **options: Any) -> Any: ...

    async def get(self, *args: Any, **options: Any) -> Any: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RequestKind:
    """What requests have in common that differ in nothing but their body."""

    url: str
    headers: tuple[tuple[str, str], ...]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class _Draft:
    url: "httpx2.URL"
    headers: "httpx2.Headers"
    extensions: dict[str, Any]


class Drafts:
    """Builds an SDK's POST requests.

    Args:
        http: sends them; its default headers, parameters and cookies go with them.
        build: makes the SDK's client over another HTTP client.
        timeout: the transport's time-outs for an answer's.
    """

    def __init__(
        self,
        http: "httpx2.AsyncClient",
        build: "Callable[[httpx2.AsyncClient], Sdk]",
        timeout: Timeouts,
    ) -> None:
        import httpx2

        self._http = http
        self._timeout = timeout
        self._drafting = asyncio.Lock()
        self._drafts: dict[RequestKind, _Draft] = {}
        unsent = httpx2.MockTransport(lambda request: httpx2.Response(200))
        self._sdk = build(httpx2.AsyncClient(transport=unsent, headers=http.headers, params=http.params))

    async def request(self, kind: RequestKind, body: bytes) -> "httpx2.Request":
        """The request that the SDK would send with this body."""
        import httpx2

        draft = self._drafts.get(kind) or await self._draft(kind)
        return httpx2.Request(
            "POST",
            draft.url,
            headers=draft.headers,
            cookies=self._http.cookies,
            content=body,
            extensions=draft.extensions,
        )

    async def _draft(self, kind: RequestKind) -> _Draft:
        import httpx2

        async with self._drafting:  # calls that start together wait for one draft
            if (found := self._drafts.get(kind)) is not None:
                return found
            options: dict[str, Any] = {"timeout": self._timeout(kind.timeout_s)}
            if kind.headers:
                options["headers"] = dict(kind.headers)
            built: Awaitable[httpx2.Response] = self._sdk.post(
                kind.url, content=b"{}", cast_to=httpx2.Response, options=options
            )
            sent = (await built).request
            headers = sent.headers.copy()
            del headers["content-length"]
            draft = self._drafts[kind] = _Draft(sent.url, headers, dict(sent.extensions))
            return draft

    async def aclose(self) -> None:
        """Lets the SDK's client go; it never had a connection."""
        await self._sdk.close()
