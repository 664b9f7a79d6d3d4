"""The one protocol every model, wrapper and test double speaks, and the base of every wrapper."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, Self
from urllib.parse import urlsplit

from metajudge.errors import ProviderError
from metajudge.types import CallRecord, Reply, digest

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
_LATER = ("extra_body", "thinking_budget")
"""Settings of a call that the first version did not know."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The JSON Schema an answer must follow; build it once per rubric, its digest is part of request keys."""

    name: str
    schema: Mapping[str, Any]
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest([self.name, self.schema]))


@dataclass(frozen=True, slots=True)
class Parameters:
    """Settings of a call. None leaves the provider's default; a setting a provider lacks is dropped loudly."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    effort: Effort | None = None
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 120.0
    extra_body: str = ""
    thinking_budget: int | None = None

    def __repr__(self) -> str:
        """As stored digests of panels have it: without what is not set of later versions."""
        first = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _LATER}
        return f"Parameters({', '.join(f'{name}={value!r}' for name, value in (first | self.later).items())})"

    @property
    def later(self) -> dict[str, object]:
        """The settings of later versions that are set; digests have them only then, so that stored ones still hold."""
        return {name: value for name in _LATER if (value := getattr(self, name))}

    @property
    def extra(self) -> dict[str, Any]:
        """What is sent besides, as given: ``extra_body`` is its JSON."""
        return json.loads(self.extra_body) if self.extra_body else {}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is asked of a model, in no provider's dialect.

    Attributes:
        system: the part that stays the same from call to call (providers cache this prefix).
        messages: the turns after it; the last one is the user's.
        schema: the shape of the answer, None for free text.
        parameters: recorded, and part of the cache key (the time-out is not: it changes no answer).
        draw: index of the sample; two draws of one request are two calls.
        fresh: ask even where a reply to this very request is stored.
    """

    system: str
    messages: tuple[Message, ...]
    schema: OutputSchema | None = None
    parameters: Parameters = field(default_factory=Parameters)
    draw: int = 0
    fresh: bool = False

    def content(self) -> dict[str, Any]:
        """The part of the request that determines the answer, as plain data."""
        p = self.parameters
        return {
            "system": self.system,
            "messages": [[m.role, m.text] for m in self.messages],
            "schema": None if self.schema is None else self.schema.digest,
            "parameters": [*(p.temperature, p.top_p, p.max_tokens, p.seed, p.effort, p.headers), *p.later.values()],
        }


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model lives: the protocol spoken there and its base URL; ``source`` says where that was taken from."""

    protocol: str
    base_url: str
    source: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.protocol}@{self.base_url}"


def is_local(base_url: str) -> bool:
    """Whether an address is this very machine's (loopback)."""
    host = urlsplit(base_url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


class Model(Protocol):
    """Something that answers requests."""

    @property
    def name(self) -> str:
        """The model's id as the provider knows it."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it is asked."""

    async def complete(self, request: ModelRequest) -> Reply:
        """Answers one request.

        Raises:
            ProviderError: typed, see :mod:`metajudge.errors`.
            BudgetExceeded: nothing was sent because the run's budget is spent.
        """


class CallCache(Protocol):
    """Finds stored replies; the store satisfies it."""

    async def find_reply(self, key: str) -> Reply | None:
        """The newest complete reply stored under a key (``cached`` set, ``attempts`` 0), None if missing."""


class CallLedger(Protocol):
    """Keeps every attempt; the store satisfies it."""

    def record_call(self, call: CallRecord) -> None:
        """Queues one attempt for the next commit; never blocks, never loses it silently.

        Raises:
            StoreError: the store has failed before; nothing more can be kept.
        """

    async def flush(self) -> None:
        """Returns once every attempt recorded so far is kept, whatever becomes of the process.

        Raises:
            StoreError: they could not be kept.
        """


def request_key(model: Model, request: ModelRequest) -> str:
    """Digest that identifies a call: endpoint, model, everything that determines the answer, and the draw."""
    return digest([str(model.endpoint), model.name, request.draw, request.content()])


@dataclass(frozen=True, slots=True)
class CallAttempt(ModelRequest):
    """A request on its way through the wrappers: its key, computed once, and which attempt this is."""

    key: str = ""
    attempt: int = 1

    @classmethod
    def of(cls, model: Model, request: ModelRequest) -> Self:
        """The request itself where it already carries a key, else a first attempt of it."""
        if isinstance(request, cls):
            return request
        same = {one.name: getattr(request, one.name) for one in fields(ModelRequest)}
        return cls(**same, key=request_key(model, request))


def unsent(error: ProviderError, message: str) -> ProviderError:
    """The error of a call that is not sent, because another one failed in a way that it would too."""
    same = copy.copy(error)
    same.args, same.sent, same.attempts = (message,), False, 0
    same.tells, same.retryable = "nothing", False
    return same


@dataclass(eq=False)
class ModelWrapper:
    """A model that adds one concern to another model; subclasses override :meth:`complete`."""

    inner: Model
    name: str = field(init=False)
    endpoint: Endpoint = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.endpoint = self.inner.name, self.inner.endpoint

    async def complete(self, request: ModelRequest) -> Reply:
        return await self.inner.complete(request)
