"""One long-lived connection pool for an endpoint and key, reduced to one operation: post bytes, get bytes."""

import asyncio
import importlib
import io
import secrets
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from metajudge.concurrency import modules_kept
from metajudge.errors import BadReplyError, ConfigurationError, ProviderError
from metajudge.providers.http_errors import Asked, error_from_exception, error_from_response
from metajudge.providers.model import Endpoint, Parameters

if TYPE_CHECKING:
    import httpx2
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

T = TypeVar("T")

_CONNECT_TIMEOUT_S = 10.0
_KEEPALIVE_S = 30.0
_JSON = "application/json"
_LARGE = 2**20
"""Bytes of a body from which on it is sent piece by piece."""

Headers = tuple[tuple[str, str], ...]
NO_KEY = "no-key"
"""Sent where there is no key: servers of one's own may want the header, and look at nothing in it."""

_TELEMETRY = (
    *(f"x-stainless-{name}" for name in ("lang", "package-version", "os", "arch", "runtime", "runtime-version")),
    *(f"x-stainless-{name}" for name in ("retry-count", "read-timeout", "timeout")),
    "x-stainless-async",
    "X-Stainless-Async",  # as the OpenAI SDK spells it, which minds the case here
)

_OPENAI_ACCOUNT = ("OpenAI-Organization", "OpenAI-Project")
"""Read by the SDK from the environment; must not be sent to hosts other than OpenAI's."""


def heads(
    endpoint: Endpoint, key: str | None, own: tuple[tuple[str, str], ...] = (), key_header: str | None = None
) -> dict[str, str]:
    """The headers of a request with a JSON body, without its host and length; names are in lower case.

    Args:
        key: None or empty for none; no key is read from the environment.
        own: of an agent; they win over all others.
        key_header: the header with the key in place of the SDK's.

    Returns:
        The headers in the order in which the SDK sends them.
    """
    import httpx2

    built: list[httpx2.Request] = []

    def unsent(request: httpx2.Request) -> httpx2.Response:
        built.append(request)
        return httpx2.Response(200, json={})

    with httpx2.Client(transport=httpx2.MockTransport(unsent)) as http:
        address = endpoint.base_url.partition("?")[0]
        sdk = _sdk(endpoint.protocol, address, key or NO_KEY, http)
        # An absolute URL: otherwise the SDKs put one together by rules of their own.
        sdk.post(address, content=b"{}", cast_to=httpx2.Response, options={"headers": dict(own)})
    raw = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in built[0].headers.raw}
    if key_header is not None:
        del raw["authorization"]
        raw[key_header] = key or NO_KEY
    return {name: value for name, value in raw.items() if name not in ("host", "content-length")}


def _sdk(protocol: str, base_url: str, key: str, http: "httpx2.Client") -> Any:
    """The official client that speaks a protocol."""
    host = urlsplit(base_url).hostname
    options: dict[str, Any] = {"base_url": base_url, "http_client": http, "max_retries": 0, "timeout": None}
    if protocol == "openai":
        import openai

        left_out = _TELEMETRY if host == "api.openai.com" else (*_TELEMETRY, *_OPENAI_ACCOUNT)
        return openai.OpenAI(api_key=key, default_headers=dict.fromkeys(left_out, openai.omit), **options)  # type: ignore[arg-type]
    import anthropic

    headers: dict[str, Any] = dict.fromkeys(_TELEMETRY, anthropic.omit)
    options |= {"open_telemetry": False, "default_headers": headers}
    if protocol == "bedrock":
        return anthropic.AnthropicBedrock(api_key=key, aws_region="", **options)
    if protocol == "vertex":
        return anthropic.AnthropicVertex(access_token=key, region="any", project_id="", **options)
    if host != "api.anthropic.com":
        headers["x-api-key"] = key  # the SDK sends a bearer token; compatible servers may know this header only
    return anthropic.Anthropic(api_key=key, **options)


HttpClientFactory = Callable[[Endpoint], "ClientSession"]
"""Makes the HTTP client for an endpoint in place of our own: the seam for tests and proxies."""


Post = Callable[[str, bytes, Asked, Parameters], Awaitable[bytes]]
"""Carries a provider's requests, at once or in a batch: see :meth:`EndpointClient.post`."""


@dataclass(eq=False, slots=True)
class EndpointClient:
    """Requests to one endpoint with one key; connections are opened on first use.

    The official SDK builds the headers (:func:`heads`); retries, time-outs and errors are ours.
    Redirects are not followed: a second request would go uncounted, and the key would travel along.

    Args:
        pool_size: connections kept; at least the number of calls in flight.
        key_header: the header with the key in place of the SDK's.
        http_client: replaces the HTTP client of our own.
    """

    endpoint: Endpoint
    key: str | None = field(repr=False)
    key_variable: str
    _: KW_ONLY
    pool_size: int
    http_client: HttpClientFactory | None = None
    key_header: str | None = None
    _http: "ClientSession | None" = field(init=False, default=None)
    _prepared: dict[tuple[Headers, float], tuple[dict[str, str], dict[str, Any]]] = field(
        init=False, default_factory=dict
    )

    def asked(self, model: str) -> Asked:
        """Who is asked, for error messages."""
        return Asked(model, self.endpoint.base_url, self.key_variable, self.key or "")

    async def post(self, path: str, body: bytes, asked: Asked, parameters: Parameters) -> bytes:
        """Sends one request and returns the body of a successful answer.

        Args:
            path: behind the base URL; ``..`` before it leaves out the version that the base URL ends with.

        Raises:
            ProviderError: typed, for every answer that is no success and for broken connections.
        """

        async def read(answer: "ClientResponse") -> bytes:
            content = await answer.read()
            if content[:1] != b"{" and not content.lstrip().startswith(b"{"):
                what = answer.headers.get("content-type", "no content type")
                raise BadReplyError(
                    f"{asked} answered with {what} instead of a JSON object: {asked.excerpt(content) or 'nothing'}. "
                    "Is the base URL that of an API?",
                    status=answer.status,
                )
            return content

        return await self.send("POST", path, body, asked, parameters.timeout_s, parameters.headers, read)

    async def exchange(
        self,
        path: str,
        asked: Asked,
        *,
        timeout_s: float,
        body: bytes | None = None,
        file: tuple[str, bytes] | None = None,
        headers: Headers = (),
    ) -> bytes:
        """Sends one request that is no completion: a GET, or a POST where there is a body or a file.

        Args:
            file: name and content of a file of JSON lines, uploaded for a batch.

        Returns:
            The body of a successful answer, whatever it is.

        Raises:
            ProviderError: typed, for every answer that is no success and for broken connections.
        """
        kind = _JSON
        if file is not None:
            kind, body = _form(*file)
        method = "GET" if body is None else "POST"
        return await self.send(method, path, body, asked, timeout_s, headers, lambda answer: answer.read(), kind)

    async def aclose(self) -> None:
        """Closes the connections; the client may not be used afterwards."""
        if self._http is not None:
            await self._http.close()

    def open(self) -> "ClientSession":
        """Imports the SDK and aiohttp and makes the client, unless that was done before; nothing is sent.

        Raises:
            ConfigurationError: the environment names a proxy that cannot be asked.
        """
        if self._http is None:
            with modules_kept():  # up to a second: before calls are in flight
                importlib.import_module("openai" if self.endpoint.protocol == "openai" else "anthropic")
            make = self.http_client or (lambda endpoint: _session(endpoint.base_url, self.pool_size))
            self._http = make(self.endpoint)
        return self._http

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None,
        asked: Asked,
        timeout_s: float,
        own: Headers,
        read: Callable[["ClientResponse"], Awaitable[T]],
        kind: str = _JSON,
    ) -> T:
        """Sends a request and has a successful answer read, all within a time.

        Raises:
            ProviderError: typed, for every answer that is no success and for broken connections, and what ``read``
                raises.
        """
        try:
            async with asyncio.timeout(timeout_s), self._sent(method, path, body, timeout_s, own, kind) as answer:
                if not 200 <= answer.status < 300:
                    raise error_from_response(answer.status, answer.headers, await answer.read(), asked)
                return await read(answer)
        except ProviderError:
            raise
        except Exception as error:
            typed = error_from_exception(error, asked, timeout_s)
            if typed is None:
                raise
            raise typed from error

    def _sent(
        self, method: str, path: str, body: bytes | None, timeout_s: float, own: Headers, kind: str
    ) -> "AbstractAsyncContextManager[ClientResponse]":
        """The answer to one request, once its status and headers are there."""
        from yarl import URL

        http = self._http or self.open()
        base, _, query = self.endpoint.base_url.partition("?")
        base = base.removesuffix("/v1") if path.startswith("..") else base
        url = URL(base + path.removeprefix("..") + (f"?{query}" if query else ""), encoded="%" in path)
        common, options = self._prepared.get((own, timeout_s)) or self._prepare(url, own, timeout_s)
        headers = common.copy()
        if body is None:
            del headers["content-type"]
            return http.request(method, url, headers=headers, **options)
        headers["content-length"] = str(len(body))
        if kind != _JSON:
            del headers["content-type"]  # after the length, as the SDKs send it
            headers["content-type"] = kind
        data = body if len(body) < _LARGE else io.BytesIO(body)
        return http.request(method, url, headers=headers, data=data, **options)

    def _prepare(self, url: "URL", own: Headers, timeout_s: float) -> tuple[dict[str, str], dict[str, Any]]:
        """Headers and options of requests that differ in nothing but path and body."""
        import aiohttp

        headers = {"host": url.host_port_subcomponent or "", **heads(self.endpoint, self.key, own, self.key_header)}
        # The answer's time-out is asyncio's, over the whole exchange; this one is for the connection alone.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=min(_CONNECT_TIMEOUT_S, timeout_s / 2))
        prepared = self._prepared[own, timeout_s] = headers, {"timeout": timeout, "allow_redirects": False}
        return prepared


def _form(name: str, content: bytes) -> tuple[str, bytes]:
    """Content type and body of a form that uploads a file of JSON lines for a batch."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'.encode(),
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'.encode(),
        b"Content-Type: application/jsonl\r\n\r\n",
        content,
        f"\r\n--{boundary}--\r\n".encode(),
    ]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


def _session(base_url: str, pool_size: int) -> "ClientSession":
    import aiohttp

    # Without TLS there is nothing to verify, and redirects to TLS are not followed.
    verified: Any = _tls() if urlsplit(base_url).scheme == "https" else False
    connector = aiohttp.TCPConnector(limit=pool_size, keepalive_timeout=_KEEPALIVE_S, ssl=verified)
    cookies = aiohttp.CookieJar(unsafe=True, quote_cookie=False)  # of hosts without a name, too
    return aiohttp.ClientSession(connector=connector, cookie_jar=cookies, proxy=_proxy(base_url))


def _proxy(base_url: str) -> str | None:
    """The proxy for an address by the environment's ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``.

    Raises:
        ConfigurationError: it is a SOCKS proxy.
    """
    from urllib.request import getproxies, proxy_bypass

    address, proxies = urlsplit(base_url), getproxies()
    found = proxies.get(address.scheme) or proxies.get("all")
    if not found or proxy_bypass(address.netloc.rpartition("@")[2]):
        return None
    scheme, _, rest = found.rpartition("://")
    if scheme.lower().startswith("socks"):
        host = rest.rpartition("@")[2]
        raise ConfigurationError(
            f"the environment names the SOCKS proxy {scheme}://{host} for {address.hostname}, and SOCKS is not "
            f"supported: set {address.scheme.upper()}_PROXY to an HTTP proxy, or add the host to NO_PROXY"
        )
    return found if scheme else f"http://{found}"


@cache
def _tls() -> ssl.SSLContext:
    """One TLS context for all clients: loading the certificates takes tens of milliseconds."""
    import httpx2

    return httpx2.create_ssl_context()
