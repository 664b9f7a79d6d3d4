"""Which model an agent asks: ``[NAME=]PROVIDER:MODEL[@BASE_URL]``, and the providers known by name."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal
from urllib.parse import urlsplit

from metajudge.errors import ConfigurationError
from metajudge.providers.model import Endpoint

Protocol = Literal["openai", "anthropic"]

_FORM = "[NAME=]PROVIDER:MODEL[@BASE_URL]"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_VERSION_SEGMENT = re.compile(r"/v\d[a-z0-9]*(?=/|$)")
_PASTED_PATH = re.compile(r"/(chat/completions|completions|messages)$")
_USERINFO = re.compile(r"//[^/]*@")
_URL_WITHOUT_SCHEME = re.compile(r"@(localhost|\d+\.\d+\.\d+\.\d+|[\w.-]+:\d+)")


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider known by name.

    Attributes:
        protocol: what is spoken there: OpenAI chat completions or Anthropic messages.
        base_url: where, unless the agent names another URL.
        key_variable: the environment variable with the key.
        key_required: False for servers that usually run without one.
        price_id: the provider's id in the genai-prices data, None where prices make no sense.
    """

    protocol: Protocol
    base_url: str
    key_variable: str
    key_required: bool = True
    price_id: str | None = None


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", price_id="openai"),
    "anthropic": Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", price_id="anthropic"),
    "openrouter": Provider("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", price_id="openrouter"),
    "groq": Provider("openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", price_id="groq"),
    "together": Provider("openai", "https://api.together.xyz/v1", "TOGETHER_API_KEY", price_id="together"),
    "mistral": Provider("openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", price_id="mistral"),
    "deepseek": Provider("openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", price_id="deepseek"),
    "gemini": Provider(
        "openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", price_id="google"
    ),
    "ollama": Provider("openai", "http://localhost:11434/v1", "OLLAMA_API_KEY", key_required=False),
    "vllm": Provider("openai", "http://localhost:8000/v1", "VLLM_API_KEY", key_required=False),
    "lmstudio": Provider("openai", "http://localhost:1234/v1", "LMSTUDIO_API_KEY", key_required=False),
}
"""The built-in providers; any other server is one of these protocols at another base URL."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent as named on the command line or in a panel file.

    Attributes:
        name: what the agent is called in results; the model's id unless one was given.
        provider: a key of :data:`PROVIDERS`.
        model: the model's id as the provider knows it.
        base_url: None for the provider's own.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Protocol and canonical base URL: with ``/v1`` for OpenAI's protocol, without for Anthropic's."""
        provider = PROVIDERS[self.provider]
        return Endpoint(provider.protocol, canonical_base_url(provider.protocol, self.base_url or provider.base_url))

    @property
    def is_local(self) -> bool:
        """Whether the model is asked on this very machine (loopback), where a key is optional."""
        host = urlsplit(self.endpoint.base_url).hostname or ""
        return host in {"localhost", "::1"} or host.startswith("127.")

    def __str__(self) -> str:
        where = f"@{self.base_url}" if self.base_url else ""
        return f"{self.name}={self.provider}:{self.model}{where}"


def parse_agent_spec(text: str) -> AgentSpec:
    """Reads ``[NAME=]PROVIDER:MODEL[@BASE_URL]``.

    The provider ends at the first ``:`` and the URL starts at the last ``@http``, so that
    ``ollama:llama3:8b@http://localhost:11434`` means what it says.

    Raises:
        ConfigurationError: an unknown provider, an empty model or name, or a URL that is not http(s).
    """
    shown = _USERINFO.sub("//***@", text)
    head, colon, rest = text.strip().partition(":")
    if not colon:
        raise ConfigurationError(f"agent {shown!r} has no model: write {_FORM}, for instance openai:gpt-4o-mini")
    name, equals, provider = head.rpartition("=")
    if equals and not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"agent {shown!r}: the name {name!r} may contain only letters, digits, '_', '.' and '-'"
        )
    check_provider(provider, f"agent {shown!r}")
    model, base_url = _split_url(rest, f"agent {shown!r}")
    if not model:
        raise ConfigurationError(f"agent {shown!r} names no model after {provider!r}: write {_FORM}")
    return AgentSpec(name=name or model, provider=provider, model=model, base_url=base_url)


def check_provider(name: str, where: str) -> None:
    """Refuses a provider that is not built in.

    Raises:
        ConfigurationError: with the known names and the closest one.
    """
    if name in PROVIDERS:
        return
    if name == "local":
        raise ConfigurationError(
            f"{where}: local: models were removed: serve the model with Ollama, vLLM, LM Studio or llama-server, and "
            "write ollama:NAME, vllm:NAME, lmstudio:NAME or openai:NAME@http://localhost:PORT"
        )
    close = get_close_matches(name.lower(), PROVIDERS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise ConfigurationError(
        f"{where}: unknown provider {name!r}{hint} Known: {', '.join(sorted(PROVIDERS))}. "
        "For any other server use openai:MODEL@BASE_URL or anthropic:MODEL@BASE_URL"
    )


def canonical_base_url(protocol: Protocol, base_url: str) -> str:
    """The base URL as the protocol's SDK wants it.

    OpenAI's wants the version in the path (``/v1`` is added where no segment looks like a version),
    Anthropic's does not (a trailing ``/v1`` is removed).
    """
    url = _PASTED_PATH.sub("", base_url.rstrip("/"))
    if protocol == "anthropic":
        return url.removesuffix("/v1").rstrip("/")
    return url if _VERSION_SEGMENT.search(urlsplit(url).path) else f"{url}/v1"


def _split_url(rest: str, where: str) -> tuple[str, str | None]:
    at = rest.rfind("@http")
    model, base_url = (rest, None) if at < 0 else (rest[:at].strip(), rest[at + 1 :].strip())
    if base_url is not None:
        check_base_url(base_url, where)
    elif "://" in model or _URL_WITHOUT_SCHEME.search(model):
        raise ConfigurationError(
            f"{where}: a base URL starts with http:// or https://, for instance openai:my-model@http://localhost:8000"
        )
    return model.strip(), base_url


def check_base_url(base_url: str, where: str) -> None:
    """Refuses a base URL that cannot be one.

    Raises:
        ConfigurationError: another scheme than http(s), no host, a bad port, a user or password, a query.
    """
    base_url = _USERINFO.sub("//***@", base_url)
    try:
        parts = urlsplit(base_url)
        host, _port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"{where}: {base_url!r} is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not host or re.search(r"\s", base_url):
        raise ConfigurationError(f"{where}: {base_url!r} is not an http:// or https:// URL with a host")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            f"{where}: the base URL contains a user or password, which would be recorded; "
            "give the key in the environment or the settings file instead"
        )
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{where}: {base_url!r} has a query or fragment; a base URL ends with its path")
