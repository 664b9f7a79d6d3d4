"""One long-lived official SDK client for an endpoint, reduced to one operation: post bytes, get bytes."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from metajudge.errors import BadReplyError, ProviderError
from metajudge.providers.drafts import Drafts, RequestKind, Sdk, Timeouts
from metajudge.providers.http_errors import Asked, error_from_exception, error_from_response
from metajudge.providers.model import Endpoint, Parameters

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_CONNECT_TIMEOUT_S = 10.0
_KEEPALIVE_S = 30.0
_NO_KEY = "no-key"

HttpClientFactory = Callable[[Endpoint], "httpx2.AsyncClient"]
"""Makes the HTTP client for an endpoint, in place of the SDK's own: the seam for tests and proxies."""


class Transport(Protocol):
    """What carries a provider's requests: at once, over a connection, or in a batch."""

    @property
    def endpoint(self) -> Endpoint: ...

    def asked(self, model: str) -> Asked: ...

    async def post(self, path: str, body: bytes, asked: Asked, parameters: Parameters) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Opened:
    """An SDK's client and what lies beneath it.

    Attributes:
        status_error: what the SDK raises for an answer that is no success.
    """

    sdk: Sdk
    status_error: type[Any]
    http: "httpx2.AsyncClient"
    drafts: Drafts


@contextlib.asynccontextmanager
async def _typed_errors(opened: _Opened, asked: Asked, timeout_s: float) -> AsyncIterator[None]:
    """Bounds an exchange in time, and makes errors of ours out of the SDK's and the transport's.

    Raises:
        ProviderError: typed, for every answer that is no success and for broken connections.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except ProviderError:
        raise
    except opened.status_error as error:
        failed: httpx2.Response = error.response
        raise error_from_response(failed.status_code, failed.headers, failed.content, asked) from None
    except Exception as error:
        typed = error_from_exception(error, asked, timeout_s)
        if typed is None:
            raise
        raise typed from error


class EndpointClient:
    """The official SDK's client for one endpoint and key, made on first use.

    The SDK builds requests (see :mod:`metajudge.providers.drafts`) and its aiohttp transport sends them; retries,
    time-outs and parsing are ours. Redirects are not followed: a second request would go uncounted, and the key
    would travel along.

    Args:
        pool_size: connections kept; at least the number of calls in flight.
        http_client: replaces the SDK's own transport.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None,
        key_variable: str,
        *,
        pool_size: int,
        http_client: HttpClientFactory | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._key = key or ""
        self._key_variable = key_variable
        self._pool_size = pool_size
        self._http_client = http_client
        self._opened: _Opened | None = None
        self._timeouts: dict[float, httpx2.Timeout] = {}

    def asked(self, model: str) -> Asked:
        """Who is asked, for error messages."""
        return Asked(model, self.endpoint.base_url, self._key_variable, self._key)

    async def post(self, path: str, body: bytes, asked: Asked, parameters: Parameters) -> bytes:
        """Sends one request and returns the body of a successful answer.

        Raises:
            ProviderError: typed, for every answer that is no success and for broken connections.
        """
        opened = self._opened or self.open()
        # An absolute URL: otherwise the SDKs put one together by rules of their own.
        kind = RequestKind(self.endpoint.base_url + path, parameters.headers, parameters.timeout_s)
        async with _typed_errors(opened, asked, parameters.timeout_s):
            response = await opened.http.send(await opened.drafts.request(kind, body))
        content: bytes = response.content
        if not response.is_success:
            raise error_from_response(response.status_code, response.headers, content, asked)
        if content[:1] != b"{" and not content.lstrip().startswith(b"{"):
            what = response.headers.get("content-type", "no content type")
            raise BadReplyError(
                f"{asked} answered with {what} instead of a JSON object: {asked.excerpt(content) or 'nothing'}. "
                "Is the base URL that of an API?",
                status=response.status_code,
            )
        return content

    async def exchange(
        self,
        path: str,
        asked: Asked,
        *,
        timeout_s: float,
        body: bytes | None = None,
        file: tuple[str, bytes] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> bytes:
        """Sends one request that is no completion: a GET, or a POST where there is a body or a file.

        Args:
            file: name and content of a file of JSON lines, uploaded for a batch.

        Returns:
            The body of a successful answer, whatever it is.

        Raises:
            ProviderError: typed, for every answer that is no success and for broken connections.
        """
        import httpx2

        opened = self._opened or self.open()
        sent: dict[str, Any] = {}
        options: dict[str, Any] = {"timeout": self._timeout(timeout_s), "headers": dict(headers)}
        if file is not None:
            sent = {"body": {"purpose": "batch"}, "files": {"file": (*file, "application/jsonl")}}
            options["headers"]["Content-Type"] = "multipart/form-data"
        elif body is not None:
            sent = {"content": body}
        send = opened.sdk.post if sent else opened.sdk.get
        async with _typed_errors(opened, asked, timeout_s):
            response = await send(self.endpoint.base_url + path, cast_to=httpx2.Response, options=options, **sent)
        content: bytes = response.content
        return content

    async def post_streamed(
        self,
        path: str,
        body: bytes,
        asked: Asked,
        parameters: Parameters,
        read: "Callable[[httpx2.Response], Awaitable[T]]",
    ) -> T:
        """Sends one request and has a successful answer read while it arrives.

        Raises:
            ProviderError: as for :meth:`post`, and what ``read`` raises.
        """
        import httpx2

        opened = self._opened or self.open()
        options: dict[str, Any] = {"timeout": self._timeout(parameters.timeout_s)}
        if parameters.headers:
            options["headers"] = dict(parameters.headers)
        url = self.endpoint.base_url + path
        async with (
            _typed_errors(opened, asked, parameters.timeout_s),
            contextlib.aclosing(
                await opened.sdk.post(url, content=body, cast_to=httpx2.Response, options=options, stream=True)
            ) as response,
        ):
            return await read(response)

    async def aclose(self) -> None:
        """Closes the connections; the client may not be used afterwards."""
        if self._opened is not None:
            await self._opened.drafts.aclose()
            await self._opened.sdk.close()

    def _timeout(self, timeout_s: float) -> "httpx2.Timeout":
        found = self._timeouts.get(timeout_s)
        if found is None:
            import httpx2

            # The answer's time-out is asyncio's, over the whole exchange; the transport's would be per read.
            found = httpx2.Timeout(None, connect=min(_CONNECT_TIMEOUT_S, timeout_s / 2))
            self._timeouts[timeout_s] = found
        return found

    def open(self) -> _Opened:
        """Imports the SDK and makes the client, unless that was done before; nothing is sent."""
        if self._opened is None:
            of_protocol = _open_anthropic if self.endpoint.protocol == "anthropic" else _open_openai
            own = self._http_client(self.endpoint) if self._http_client else None
            self._opened = of_protocol(
                self.endpoint.base_url, self._key or _NO_KEY, own, self._pool_size, self._timeout
            )
        return self._opened


class ClientPool:
    """The clients of one run, one per endpoint and key.

    Open them together before the first call: importing an SDK takes up to two seconds, which would stall calls
    in flight. A run that finds everything in its cache needs none.
    """

    def __init__(self, pool_size: int, http_client: HttpClientFactory | None = None) -> None:
        self._pool_size = pool_size
        self._http_client = http_client
        self._clients: dict[tuple[Endpoint, str | None], EndpointClient] = {}

    def client(self, endpoint: Endpoint, key: str | None, key_variable: str) -> EndpointClient:
        """The client for an endpoint and key, made but not opened."""
        found = self._clients.get((endpoint, key))
        if found is None:
            found = self._clients[endpoint, key] = EndpointClient(
                endpoint,
                key,
                key_variable,
                pool_size=self._pool_size,
                http_client=self._http_client,
            )
        return found

    def open(self) -> None:
        """Opens every client."""
        for client in self._clients.values():
            client.open()

    async def aclose(self) -> None:
        """Closes every client."""
        for client in self._clients.values():
            await client.aclose()


@cache
def _tls() -> ssl.SSLContext:
    """One TLS context for all clients: loading the certificates takes tens of milliseconds."""
    import httpx2

    return httpx2.create_ssl_context()


def _transport_options(base_url: str, pool_size: int) -> dict[str, Any]:
    import httpx2

    limits = httpx2.Limits(
        max_connections=pool_size, max_keepalive_connections=pool_size, keepalive_expiry=_KEEPALIVE_S
    )
    # Without TLS there is nothing to verify, and redirects to TLS are not followed.
    verify: Any = _tls() if urlsplit(base_url).scheme == "https" else False
    return {"limits": limits, "verify": verify, "timeout": None, "follow_redirects": False}


_TELEMETRY = (
    *(f"x-stainless-{name}" for name in ("lang", "package-version", "os", "arch", "runtime", "runtime-version")),
    *(f"x-stainless-{name}" for name in ("retry-count", "read-timeout", "timeout")),
    "X-Stainless-Async",  # as the OpenAI SDK spells it, which minds the case here
)
"""Headers in which the SDKs describe this machine; left out, which also saves time in every call."""

_OPENAI_ACCOUNT = ("OpenAI-Organization", "OpenAI-Project")
"""Read by the SDK from the environment; must not be sent to hosts other than OpenAI's."""


def _open_openai(
    base_url: str, key: str, own: "httpx2.AsyncClient | None", pool_size: int, timeout: Timeouts
) -> _Opened:
    import openai

    official = urlsplit(base_url).hostname == "api.openai.com"
    without = _TELEMETRY if official else (*_TELEMETRY, *_OPENAI_ACCOUNT)
    left_out: Any = dict.fromkeys(without, openai.omit)

    def build(http: "httpx2.AsyncClient") -> Sdk:
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=base_url,
            http_client=http,
            max_retries=0,
            timeout=None,
            default_headers=left_out,
        )

    http = own or openai.DefaultAioHttpClient(**_transport_options(base_url, pool_size))
    return _Opened(build(http), openai.APIStatusError, http, Drafts(http, build, timeout))


def _open_anthropic(
    base_url: str, key: str, own: "httpx2.AsyncClient | None", pool_size: int, timeout: Timeouts
) -> _Opened:
    import anthropic

    headers: dict[str, Any] = dict.fromkeys(_TELEMETRY, anthropic.omit)
    if urlsplit(base_url).hostname != "api.anthropic.com":
        headers["x-api-key"] = key  # the SDK sends a bearer token; compatible servers may know this header only

    def build(http: "httpx2.AsyncClient") -> Sdk:
        return anthropic.AsyncAnthropic(
            api_key=key,
            base_url=base_url,
            http_client=http,
            max_retries=0,
            timeout=None,
            open_telemetry=False,
            default_headers=headers,
        )

    http = own or anthropic.DefaultAioHttpClient(**_transport_options(base_url, pool_size))
    return _Opened(build(http), anthropic.APIStatusError, http, Drafts(http, build, timeout))
