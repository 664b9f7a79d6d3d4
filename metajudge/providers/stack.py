"""Where providers and their wrappers are put together: cache, retry, budget, limits, tracing, metering, provider."""

import asyncio
import copy
import random
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from metajudge.errors import MetajudgeError, ProviderError
from metajudge.providers.budget import Budget, BudgetedModel
from metajudge.providers.client import EndpointClient, HttpClientFactory, Post
from metajudge.providers.http_model import HttpModel
from metajudge.providers.limits import LimitedModel, LimitKeeper, Limits, LimitSettings
from metajudge.providers.metering import Meter, MeteredModel, TracedModel
from metajudge.providers.model import CallAttempt, CallCache, CallLedger, Endpoint, Model, ModelRequest, ModelWrapper
from metajudge.providers.negotiation import Negotiation
from metajudge.providers.notices import Notices
from metajudge.providers.prices import Price, UsageEstimate, find_batch_price, find_price
from metajudge.providers.protocols import PROTOCOLS
from metajudge.providers.retry import GRACE_S, RetryingModel, RetryPolicy, Standing
from metajudge.providers.spec import PROVIDERS, AgentSpec, where_texts_go
from metajudge.providers.thoughts import split_thoughts
from metajudge.types import Reply

if TYPE_CHECKING:
    from metajudge.providers.batch_queue import BatchQueue

_LOCAL_GRACE_S = 0.01


@dataclass(eq=False)
class CachedModel(ModelWrapper):
    """Looks a request up by its key before it is sent, and takes what the model thought out of the reply.

    Replies are stored as they came.

    A request identical to one in flight waits for that one's outcome; its reply counts as cached, its error
    as not sent. A ``fresh`` request neither looks up nor joins.

    Attributes:
        cache: the stored replies, None to share calls in flight only.
    """

    cache: CallCache | None
    _flights: dict[str, "asyncio.Future[Reply | None]"] = field(init=False, default_factory=dict)

    async def complete(self, request: ModelRequest) -> Reply:
        reply = await self._found(request)
        split = split_thoughts(reply.text)
        return replace(reply, text=split.answer) if split.thought else reply

    async def _found(self, request: ModelRequest) -> Reply:
        call = CallAttempt.of(self.inner, request)
        if call.fresh:
            return await self.inner.complete(call)
        while (flight := self._flights.get(call.key)) is not None:
            shared = await self._join(flight)
            if shared is not None:
                return shared
        flight = asyncio.get_running_loop().create_future()
        self._flights[call.key] = flight
        try:
            reply = None if self.cache is None else await self.cache.find_reply(call.key)
            if reply is None:
                reply = await self.inner.complete(call)
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
class Resources(AbstractAsyncContextManager["Resources"]):
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
        tell: called with the sentence on where texts go, before the first one is sent.
        told: the models built so far, and whether it was said where texts for them go.
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
    http_client: HttpClientFactory | None = None
    meter: Meter = field(default_factory=Meter)
    notices: Notices = field(default_factory=Notices)
    tell: Callable[[str], None] = lambda _sentence: None
    told: dict[AgentSpec, bool] = field(default_factory=dict)
    _clients: dict[tuple[Endpoint, str | None], EndpointClient] = field(default_factory=dict, repr=False)
    _negotiations: dict[tuple[Endpoint, str], Negotiation] = field(default_factory=dict)
    _standings: dict[tuple[Endpoint, str, str | None], Standing] = field(default_factory=dict, repr=False)

    @cached_property
    def shared_limits(self) -> Limits:
        """One set of limits for all models."""
        return Limits(self.limits, self.endpoint_limits, self.keeper)

    @cached_property
    def rng(self) -> random.Random:
        """Source of the retries' jitter."""
        return random.Random(self.seed)

    def client(self, spec: AgentSpec) -> EndpointClient:
        """The client for an agent's endpoint and key, shared by all who ask there; opened by the first call.

        Raises:
            ConfigurationError: no key where one is needed.
        """
        endpoint, key, provider = spec.endpoint, self.key_for(spec), PROVIDERS[spec.provider]
        if key and not spec.is_local and endpoint.base_url.startswith("http://"):
            self.notices.say(
                f"the key for {endpoint.base_url} travels unencrypted: use https:// where the server offers it"
            )
        self.told.setdefault(spec, False)
        if (endpoint, key) not in self._clients:
            options: dict[str, Any] = {"pool_size": self.limits.concurrency, "http_client": self.http_client}
            self._clients[endpoint, key] = EndpointClient(
                endpoint, key, provider.key_variable, key_header=provider.key_header, **options
            )
        return self._clients[endpoint, key]

    def provider(self, spec: AgentSpec, post: Post | None = None, *, streams: bool = False) -> HttpModel:
        """An agent's model behind its protocol; see :class:`~metajudge.providers.http_model.HttpModel`."""
        protocol = PROTOCOLS[spec.endpoint.protocol]
        return HttpModel(spec.model, self.client(spec), self.negotiation(spec), protocol, post, streams=streams)

    def connect(self) -> None:
        """Opens every client before the first call, and says once where the texts for each model go.

        Importing an SDK takes up to a second, which would stall calls in flight. A run that finds everything in its
        cache needs none.
        """
        if sentence := where_texts_go([spec for spec, told in self.told.items() if not told]):
            self.tell(sentence)
        self.told |= dict.fromkeys(self.told, True)
        for client in self._clients.values():
            client.open()

    def negotiation(self, spec: AgentSpec) -> Negotiation:
        """What is known about a model at an endpoint, shared by the agents that use it."""
        key = (spec.endpoint, spec.model)
        if key not in self._negotiations:
            from metajudge.providers.negotiation import Dialect

            own = spec.provider != "openai" or "//api.openai.com/" in spec.endpoint.base_url
            profile = PROVIDERS[spec.provider]
            name = profile.max_tokens_name if own else "max_tokens"
            dialect = Dialect(max_tokens_name=name, thinking=profile.thinking_budget)
            modes = PROTOCOLS[spec.endpoint.protocol].modes
            versioned = spec.endpoint.base_url.endswith("/v1")
            self._negotiations[key] = Negotiation(spec.model, dialect, modes, self.notices, versioned=versioned)
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

    def metered(self, provider: Model, find_price: Callable[[], Price | None], **options: Any) -> MeteredModel:
        """A provider whose calls are counted, priced and recorded as the run's."""
        common: dict[str, Any] = {"meter": self.meter, "ledger": self.ledger, "notices": self.notices}
        return MeteredModel(provider, find_price=find_price, run_id=self.run_id, **common, **options)

    async def aclose(self) -> None:
        """Closes all connections; harmless when repeated."""
        while self._clients:
            await self._clients.popitem()[1].aclose()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def build_model(spec: AgentSpec, *, resources: Resources, price: Price | None = None) -> Model:
    """The model an agent asks, with everything around it.

    Args:
        spec: which model, where.
        resources: what it shares with the run's other models.
        price: the user's own price (:meth:`~metajudge.providers.prices.FlatPrice.of`) in place of the list price.

    Raises:
        ConfigurationError: no key where one is needed, or a budget in dollars and no known price.
    """
    prices = partial(find_price, spec) if price is None else lambda: price
    estimate = UsageEstimate(PROTOCOLS[spec.endpoint.protocol].limit)
    metered = partial(resources.metered, prepare=resources.connect)
    model: Model = TracedModel(metered(resources.provider(spec), prices, trusts_stated=price is None))
    model = LimitedModel(model, resources.shared_limits, estimate, resources.standing(spec).check)
    if resources.batches is not None:  # rate limits do not apply to batches
        from metajudge.providers.batch_model import BatchedModel, BatchProvider

        adapter, batch_prices = partial(resources.provider, spec), partial(find_batch_price, spec, price)
        provider = BatchProvider(spec.model, resources.client(spec), resources.batches, adapter)
        model = BatchedModel(metered(provider, batch_prices, batched=True), model, resources.batches)
    return _bounded(model, resources, prices, estimate, resources.standing(spec))


def build_streaming_model(spec: AgentSpec, *, resources: Resources, price: Price | None = None) -> Model:
    """A model that answers free text as a stream, with everything around it that :func:`wrap_model` puts there.

    Raises:
        ConfigurationError: no key where one is needed, or a budget in dollars and no known price.
    """
    provider = resources.provider(spec, streams=True)
    return wrap_model(provider, resources=resources, price=price or find_price(spec), prepare=resources.connect)


def wrap_model(
    provider: Model, *, resources: Resources, price: Price | None = None, prepare: Callable[[], None] = lambda: None
) -> Model:
    """Puts everything that surrounds a provider around a model of the caller's own.

    Args:
        provider: answers one request; each time it is asked counts as one request sent.
        resources: what it shares with the run's other models.
        price: None for the cost that its replies carry themselves.
        prepare: called before the first call.

    Raises:
        ConfigurationError: a budget in dollars and no price.
    """
    prices, estimate = lambda: price, UsageEstimate()
    model = TracedModel(resources.metered(provider, prices, prepare=prepare))
    return _bounded(LimitedModel(model, resources.shared_limits, estimate), resources, prices, estimate)


def _bounded(
    model: Model,
    resources: Resources,
    prices: Callable[[], Price | None],
    estimate: UsageEstimate,
    standing: Standing | None = None,
) -> Model:
    budget = resources.budget
    if budget:
        model = BudgetedModel(model, budget, None if budget.usd is None else prices(), estimate)
    model = RetryingModel(model, resources.retry, standing=standing, rng=resources.rng)
    return CachedModel(model, resources.cache)
