"""Which model an agent asks: ``[NAME=]PROVIDER:MODEL[@BASE_URL]``, and the providers known by name."""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Final, Literal
from urllib.parse import parse_qsl, urlsplit

from metajudge.errors import ConfigurationError
from metajudge.providers.model import Endpoint, is_local

Protocol = Literal["openai", "anthropic", "bedrock", "vertex"]

_FORM = "[NAME=]PROVIDER:MODEL[@BASE_URL]"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_VERSION_SEGMENT = re.compile(r"/v\d[a-z0-9]*(?=/|$)")
_PASTED_PATH = re.compile(r"/(chat/completions|completions|messages)$")
_SECRET = re.compile(r"key|token|secret|password|sig(nature)?$", re.IGNORECASE)
_USERINFO = re.compile(r"//[^/]*@")
_URL_WITHOUT_SCHEME = re.compile(r"@(localhost|\d+\.\d+\.\d+\.\d+|[\w.-]+:\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider known by name: its file in ``profiles``.

    Attributes:
        title: what people call it.
        base_url: where, unless the agent or the environment names another URL; ``{NAME}`` is a variable of it.
        key_variable: the environment variable with the key.
        model: one of its models, for examples.
        protocol: what is spoken there: OpenAI chat completions or Anthropic messages, by themselves or on a platform.
        base_url_variables: environment variables that name another URL, the first one set wins.
        base_path: put behind a URL from the environment that has no path.
        key_header: the header with the key, where it is not the protocol's own.
        key_required: False for servers that usually run without one.
        price_id: the provider's id in the genai-prices data, None where prices make no sense.
        max_tokens_name: how the limit of output tokens is called there.
        thinking_budget: where in a request the tokens that a model may think for stand, with dots; empty for nowhere.
        slots: calls in flight where nothing is chosen; None for the run's.
        requests_per_minute: to its address where nothing is chosen; None for no bound.
        tested: what the profile was tested against; empty for nothing but the protocol.
    """

    title: str
    base_url: str
    key_variable: str
    model: str
    protocol: Protocol = "openai"
    base_url_variables: tuple[str, ...] = ()
    base_path: str = ""
    key_header: str | None = None
    key_required: bool = True
    price_id: str | None = None
    max_tokens_name: str = "max_tokens"
    thinking_budget: str = ""
    slots: int | None = None
    requests_per_minute: float | None = None
    tested: str = ""

    def endpoint(self, environ: Mapping[str, str]) -> Endpoint:
        """Where it is asked in an environment.

        Raises:
            ConfigurationError: a variable that the URL needs is not set, or names no URL.
        """
        for variable in self.base_url_variables:
            if given := environ.get(variable, "").strip():
                check_base_url(given, variable)
                bare = not urlsplit(given).path.strip("/")
                url = canonical_base_url(self.protocol, given.rstrip("/") + self.base_path if bare else given)
                return Endpoint(self.protocol, url, f"from {variable}")
        needed = re.findall(r"\{(\w+)\}", self.base_url)
        if missing := [name for name in needed if not environ.get(name, "").strip()]:
            raise ConfigurationError(
                f"{self.title}: its address needs {', '.join(missing)}: set that in the environment, or write the "
                "whole address behind the model: PROVIDER:MODEL@https://..."
            )
        values = {name: environ[name].strip().removeprefix("https://").rstrip("/") for name in needed}
        source = f"from {', '.join(dict.fromkeys(needed))}" if needed else "the provider's own address"
        return Endpoint(self.protocol, self.base_url.format(**values), source)


@cache
def _profiles() -> dict[str, Provider]:
    files = sorted((resources.files("metajudge.providers") / "profiles").iterdir(), key=lambda file: file.name)
    found = {file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8")) for file in files}
    for given in found.values():
        given["base_url_variables"] = tuple(given.get("base_url_variables", ()))
    return {name: Provider(**given) for name, given in found.items()}


PROVIDERS: Final = _profiles()
"""The built-in providers by name; any other server is one of these protocols at another base URL."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent as named on the command line or in a panel file.

    Attributes:
        name: what the agent is called in results; the model's id unless one was given.
        provider: a key of :data:`PROVIDERS`.
        model: the model's id as the provider knows it.
        base_url: None for the provider's own.
        key_variable: the environment variable with its key; None for the provider's.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    key_variable: str | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where texts for the model go: as given, else by the environment, else the provider's own address.

        Raises:
            ConfigurationError: see :meth:`Provider.endpoint`.
        """
        provider = PROVIDERS[self.provider]
        if self.base_url is None:
            return provider.endpoint(os.environ)
        url = canonical_base_url(provider.protocol, self.base_url)
        return Endpoint(provider.protocol, url, "given with the model")

    @property
    def is_local(self) -> bool:
        """Whether the model is asked on this very machine (loopback), where a key is optional."""
        return is_local(self.endpoint.base_url)

    def __str__(self) -> str:
        where = f"@{self.base_url}" if self.base_url else ""
        return f"{self.name}={self.provider}:{self.model}{where}"


def where_texts_go(specs: Iterable[AgentSpec]) -> str:
    """The sentence on the address of each model, and on where it was taken from; empty without models."""
    found: dict[str, list[str]] = {}
    for spec in specs:
        names = found.setdefault(f"{spec.endpoint.base_url} ({spec.endpoint.source})", [])
        names += [spec.name] * (spec.name not in names)
    told = "; ".join(f"{address}: {', '.join(names)}" for address, names in found.items())
    return f"texts go to {told}" if told else ""


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

    OpenAI's wants the version in the path (``/v1`` is added where no segment looks like a version, and the address
    of the call itself was not pasted), Anthropic's does not (a trailing ``/v1`` is removed). A query stays.
    """
    base_url, question, query = base_url.partition("?")
    url = _PASTED_PATH.sub("", base_url.rstrip("/"))
    if protocol == "anthropic":
        url = url.removesuffix("/v1").rstrip("/")
    elif protocol == "openai" and url == base_url.rstrip("/") and not _VERSION_SEGMENT.search(urlsplit(url).path):
        url = f"{url}/v1"
    return url + question + query


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
        ConfigurationError: another scheme than http(s), no host, a bad port, a user or password, a fragment, or a
            secret in the query.
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
    if parts.fragment:
        raise ConfigurationError(f"{where}: {base_url!r} has a fragment; a base URL ends with its path or its query")
    if secret := [name for name, _ in parse_qsl(parts.query) if _SECRET.search(name)]:
        raise ConfigurationError(
            f"{where}: the query of the base URL contains {', '.join(secret)}, which would be recorded; give the key "
            "in the environment or the settings file instead"
        )
