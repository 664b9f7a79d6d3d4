"""Where providers and their wrappers are put together: cache, retry, budget, limits, tracing, metering, provider."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from metajudge.providers.budget import Budget, BudgetedModel
from metajudge.providers.limits import LimitedModel, Limits, LimitSettings
from metajudge.providers.metering import Meter, MeteredModel
from metajudge.providers.model import CallCache, CallLedger, Endpoint, Model
from metajudge.providers.notices import Notices
from metajudge.providers.prices import Price, find_batch_price, find_price
from metajudge.providers.retry import RetryingModel, RetryPolicy
from metajudge.providers.shared_limits import LimitKeeper
from metajudge.providers.spec import PROVIDERS, AgentSpec
from metajudge.providers.standing import GRACE_S, Standing
from metajudge.providers.thoughts import split_thoughts
from metajudge.providers.tracing import TracedModel
from metajudge.providers.usage_estimate import UsageEstimate

if TYPE_CHECKING:
    from metajudge.providers.batch_queue import BatchQueue
    from metajudge.providers.client import ClientPool, EndpointClient, HttpClientFactory, Post
    from metajudge.providers.http_model import ChatProtocol
    from metajudge.providers.negotiation import Negotiation
import asyncio
import copy
from dataclasses import replace

from metajudge.errors import MetajudgeError, ProviderError
from metajudge.providers.model import ModelRequest
from metajudge.providers.wrapper import CallAttempt, ModelWrapper
from metajudge.types import Reply

_LOCAL_GRACE_S = 0.01


class CachedModel(ModelWrapper):
    """Looks a request up by its key before it is sent, and takes what the model thought out of the reply.

    Replies are stored as they came.

    A request identical to one in flight waits for that one's outcome; its reply counts as cached, its error
    as not sent. A ``fresh`` request neither looks up nor joins.

    Args:
        cache: the stored replies, None to share calls in flight only.
    """

    def __init__(self, inner: Model, cache: CallCache | None) -> None:
        super().__init__(inner)
        self._cache = cache
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}

    async def complete(self, request: ModelRequest) -> Reply:
        reply = await self._found(request)
        split = split_thoughts(reply.text)
        return replace(reply, text=split.answer) if split.thought else reply

    async def _found(self, request: ModelRequest) -> Reply:
        call = CallAttempt.of(self._inner, request)
        if call.fresh:
            return await self._inner.complete(call)
        while (flight := self._flights.get(call.key)) is not None:
            shared = await self._join(flight)
            if shared is not None:
                return shared
        flight = asyncio.get_running_loop().create_future()
        self._flights[call.key] = flight
        try:
            reply = None if self._cache is None else await self._cache.find_reply(call.key)
            if reply is None:
                reply = await self._inner.complete(call)
        except MetajudgeError as error:
            flight.set_exception(error)
            flight.exception()  # perhaps no one awaits it: the error is raised here in any case
            raise
        else:
            flight.set_result(reply)
            return reply
        finally:
            if not flight.done():  # cancelled, or a defect: the next in line asks for itself
                flight.set_result(None)
            del self._flights[call.key]

    @staticmethod
    async def _join(flight: "asyncio.Future[Reply | None]") -> Reply | None:
        try:
            reply = await asyncio.shield(flight)
        except MetajudgeError as error:
            same = copy.copy(error)
            if isinstance(same, ProviderError):
                same.sent, same.attempts = False, 0
                same.usage, same.cost_usd = None, 0.0
            raise same from error
        return None if reply is None else replace(reply, cached=True, attempts=0)


@dataclass(kw_only=True)
class Resources:
    """What the models of one run share; close it when the run is over (``async with`` does).

    Attributes:
        key_for: finds the key for an agent's endpoint, see :meth:`metajudge.settings.Settings.key_for`.
        cache: stored replies, None for no look-up (identical calls in flight are shared in any case).
        ledger: where every attempt is recorded.
        run_id: recorded with every attempt.
        limits: of the run, and of every endpoint without its own in ``endpoint_limits``.
        retry: bounds of retrying.
        budget: the run's hard limit, None for none.
        keeper: where limits hold for several processes together; None for this one alone.
        batches: where requests are gathered for the providers' batch APIs, None to ask at once.
        seed: of the jitter between retries, None for a different one each time.
        http_client: makes the HTTP client for an endpoint in place of our own.
        meter: counts of the whole run.
        notices: what the user must hear once.
    """

    key_for: Callable[[AgentSpec], str | None] = lambda _spec: None
    cache: CallCache | None = None
    ledger: CallLedger | None = None
    run_id: str | None = None
    limits: LimitSettings = field(default_factory=LimitSettings)
    endpoint_limits: Mapping[Endpoint, LimitSettings] = field(default_factory=dict)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    budget: Budget | None = None
    keeper: LimitKeeper | None = None
    batches: "BatchQueue | None" = None
    seed: int | None = None
    http_client: "HttpClientFactory | None" = None
    meter: Meter = field(default_factory=Meter)
    notices: Notices = field(default_factory=Notices)
    _negotiations: "dict[tuple[Endpoint, str], Negotiation]" = field(default_factory=dict)
    _standings: dict[tuple[Endpoint, str, str | None], Standing] = field(default_factory=dict, repr=False)

    @cached_property
    def shared_limits(self) -> Limits:
        """One set of limits for all models."""
        return Limits(self.limits, self.endpoint_limits, self.keeper)

    @cached_property
    def rng(self) -> random.Random:
        """Source of the retries' jitter."""
        return random.Random(self.seed)

    @cached_property
    def clients(self) -> "ClientPool":
        """One HTTP client per endpoint, opened when the first call is made."""
        from metajudge.providers.client import ClientPool

        return ClientPool(self.limits.concurrency, self.http_client)

    def negotiation(self, spec: AgentSpec) -> "Negotiation":
        """What is known about a model at an endpoint, shared by the agents that use it."""
        key = (spec.endpoint, spec.model)
        if key not in self._negotiations:
            own = spec.provider != "openai" or "//api.openai.com/" in spec.endpoint.base_url
            name = PROVIDERS[spec.provider].max_tokens_name if own else "max_tokens"
            self._negotiations[key] = protocol_of(spec.endpoint).negotiation(
                spec.model, spec.endpoint, name, self.notices
            )
        return self._negotiations[key]

    def standing(self, spec: AgentSpec) -> Standing:
        """What the calls so far tell about a model at an endpoint with a key, shared by the agents that use it."""
        key = (spec.endpoint, spec.model, self.key_for(spec))
        if key not in self._standings:
            grace_s = _LOCAL_GRACE_S if spec.is_local else GRACE_S
            self._standings[key] = Standing(self.retry.hold_off_s, grace_s)
        return self._standings[key]

    def output_mode(self, spec: AgentSpec) -> str:
        """How a model is asked for structured output, as found out so far; ``unknown`` where it was not asked."""
        found = self._negotiations.get((spec.endpoint, spec.model))
        return "unknown" if found is None else found.dialect.mode.value

    async def aclose(self) -> None:
        """Closes all connections; harmless when repeated."""
        opened = self.__dict__.pop("clients", None)
        if opened is not None:
            await opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def build_model(
    spec: AgentSpec, *, resources: Resources, price: Price | None = None, meter: Meter | None = None
) -> Model:
    """The model an agent asks, with everything around it.

    Args:
        spec: which model, where.
        resources: what it shares with the run's other models.
        price: the user's own price (:meth:`~metajudge.providers.prices.FlatPrice.of`) in place of the list price.
        meter: counts of this model alone, besides those of the run.

    Raises:
        ConfigurationError: no key where one is needed, or a budget in dollars and no known price.
    """
    _, adapter, estimate = adapter_of(spec, resources)
    prices = partial(find_price, spec) if price is None else lambda: price
    batched = None if resources.batches is None else partial(_batched, spec, resources, price, meter)
    standing = resources.standing(spec)
    return _wrapped(
        adapter(None),
        resources,
        prices,
        estimate,
        meter,
        resources.clients.open,
        batched,
        standing,
        own_price=price is not None,
    )


def wrap_model(
    provider: Model, *, resources: Resources, price: Price | None = None, meter: Meter | None = None
) -> Model:
    """Puts everything that surrounds a provider around a model of the caller's own.

    Args:
        provider: answers one request; each time it is asked counts as one request sent.
        resources: what it shares with the run's other models.
        price: None for the cost that its replies carry themselves.
        meter: counts of this model alone, besides those of the run.

    Raises:
        ConfigurationError: a budget in dollars and no price.
    """
    return _wrapped(provider, resources, lambda: price, UsageEstimate(), meter, lambda: None)


def _wrapped(
    provider: Model,
    resources: Resources,
    prices: Callable[[], Price | None],
    estimate: UsageEstimate,
    meter: Meter | None,
    prepare: Callable[[], None],
    batched: Callable[[Model], Model] | None = None,
    standing: Standing | None = None,
    *,
    own_price: bool = False,
) -> Model:
    trusts = standing is not None and not own_price
    model: Model = TracedModel(_metered(provider, resources, prices, meter, prepare, trusts_stated=trusts))
    model = LimitedModel(model, resources.shared_limits, estimate)
    if batched is not None:
        model = batched(model)
    budget = resources.budget
    if budget:
        model = BudgetedModel(model, budget, None if budget.usd is None else prices(), estimate)
    model = RetryingModel(model, resources.retry, standing=standing, rng=resources.rng)
    return CachedModel(model, resources.cache)


def _metered(
    provider: Model,
    resources: Resources,
    prices: Callable[[], Price | None],
    meter: Meter | None,
    prepare: Callable[[], None],
    *,
    batched: bool = False,
    trusts_stated: bool = False,
) -> MeteredModel:
    return MeteredModel(
        provider,
        meters=(resources.meter,) if meter is None else (resources.meter, meter),
        find_price=prices,
        prepare=prepare,
        ledger=resources.ledger,
        run_id=resources.run_id,
        notices=resources.notices,
        batched=batched,
        trusts_stated=trusts_stated,
    )


def _batched(spec: AgentSpec, resources: Resources, price: Price | None, meter: Meter | None, live: Model) -> Model:
    """The model asked in batches; ``live`` asks where a batch would not do. Rate limits do not apply to batches."""
    from metajudge.providers.batch_model import BatchedModel, BatchProvider

    assert resources.batches is not None
    client, adapter, _ = adapter_of(spec, resources)
    provider = BatchProvider(spec.model, client, resources.batches, adapter)
    prices = partial(find_batch_price, spec, price)
    batched = _metered(provider, resources, prices, meter, resources.clients.open, batched=True)
    return BatchedModel(batched, live, provider, resources.batches)


def adapter_of(
    spec: AgentSpec, resources: Resources
) -> "tuple[EndpointClient, Callable[[Post | None], Model], UsageEstimate]":
    """The client for an agent's endpoint, its protocol's adapter, and the estimate of its calls.

    Raises:
        ConfigurationError: no key where one is needed.
    """
    from metajudge.providers.anthropic_messages import max_tokens_for
    from metajudge.providers.http_model import HttpModel

    endpoint = spec.endpoint
    key = resources.key_for(spec)
    if key and not spec.is_local and endpoint.base_url.startswith("http://"):
        resources.notices.say(
            f"the key for {endpoint.base_url} travels unencrypted: use https:// where the server offers it"
        )
    provider = PROVIDERS[spec.provider]
    client = resources.clients.client(endpoint, key, provider.key_variable, provider.key_header)
    protocol, negotiation = protocol_of(endpoint), resources.negotiation(spec)
    estimate = UsageEstimate(max_tokens_for) if endpoint.protocol == "anthropic" else UsageEstimate()
    return client, lambda post: HttpModel(spec.model, client, negotiation, protocol, post), estimate


def protocol_of(endpoint: Endpoint) -> "ChatProtocol":
    """What an endpoint speaks."""
    from metajudge.providers import anthropic_messages, openai_chat

    return anthropic_messages.PROTOCOL if endpoint.protocol == "anthropic" else openai_chat.PROTOCOL
