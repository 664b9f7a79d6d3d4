"""The headers that go with every request to a provider, as the official SDK's client builds them.

From request to request only address, body and cookies differ. Having the SDK build every request takes longer than
sending it, so it builds one, for a transport that sends nothing, and requests are sent with its headers. Only the SDK
of the endpoint's protocol is imported. Headers in which the SDKs describe the machine are left out.
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from metajudge.concurrency import modules_kept
from metajudge.providers.model import Endpoint

if TYPE_CHECKING:
    import httpx2

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


def load_sdk(endpoint: Endpoint) -> None:
    """Imports the SDK of an endpoint's protocol, which takes up to a second: before calls are in flight."""
    import importlib

    with modules_kept():
        importlib.import_module("anthropic" if endpoint.protocol == "anthropic" else "openai")


def heads(endpoint: Endpoint, key: str | None, own: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    """The headers of a request with a JSON body, without its host and length; names are in lower case.

    Args:
        key: None or empty for none; no key is read from the environment.
        own: of an agent; they win over all others.

    Returns:
        The headers in the order in which the SDK sends them.
    """
    import httpx2

    built: list[httpx2.Request] = []

    def unsent(request: httpx2.Request) -> httpx2.Response:
        built.append(request)
        return httpx2.Response(200, json={})

    of_protocol = _anthropic if endpoint.protocol == "anthropic" else _openai
    with httpx2.Client(transport=httpx2.MockTransport(unsent)) as http:
        sdk = of_protocol(endpoint.base_url, key or NO_KEY, http)
        # An absolute URL: otherwise the SDKs put one together by rules of their own.
        sdk.post(endpoint.base_url, content=b"{}", cast_to=httpx2.Response, options={"headers": dict(own)})
    raw = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in built[0].headers.raw}
    return {name: value for name, value in raw.items() if name not in ("host", "content-length")}


def _openai(base_url: str, key: str, http: "httpx2.Client") -> Any:
    import openai

    official = urlsplit(base_url).hostname == "api.openai.com"
    left_out: Any = dict.fromkeys(_TELEMETRY if official else (*_TELEMETRY, *_OPENAI_ACCOUNT), openai.omit)
    return openai.OpenAI(
        api_key=key, base_url=base_url, http_client=http, max_retries=0, timeout=None, default_headers=left_out
    )


def _anthropic(base_url: str, key: str, http: "httpx2.Client") -> Any:
    import anthropic

    headers: dict[str, Any] = dict.fromkeys(_TELEMETRY, anthropic.omit)
    if urlsplit(base_url).hostname != "api.anthropic.com":
        headers["x-api-key"] = key  # the SDK sends a bearer token; compatible servers may know this header only
    return anthropic.Anthropic(
        api_key=key,
        base_url=base_url,
        http_client=http,
        max_retries=0,
        timeout=None,
        open_telemetry=False,
        default_headers=headers,
    )
