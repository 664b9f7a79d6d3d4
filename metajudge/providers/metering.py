"""Counts, prices and records every HTTP request that leaves, and makes a span of it where OpenTelemetry is in use.

Names of a span are those of the semantic conventions for generative AI; never a text. A span is part of whatever trace
is at work, such as the service's trace of a vet.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from metajudge.errors import FailureKind, ProviderError
from metajudge.providers.model import CallAttempt, CallLedger, ModelRequest, ModelWrapper
from metajudge.providers.notices import Notices
from metajudge.providers.prices import Price
from metajudge.types import CallRecord, Reply, Usage


@dataclass(slots=True)
class Meter:
    """What the calls of a run have taken so far.

    Attributes:
        sent: HTTP requests that left, failed ones and those that find out what a server supports included.
        replies: complete replies among them.
        failures: failed requests by kind, unsent ones (no connection) included.
        usage: tokens reported, including those of unusable answers.
        cost_usd: dollars known; a lower bound where ``unpriced`` is not zero.
        unpriced: answers without a known cost, because the price or the usage is unknown.
        first_sent_at: monotonic seconds, None before the first request.
    """

    sent: int = 0
    replies: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    unpriced: int = 0
    first_sent_at: float | None = None

    def add(self, usage: Usage | None, cost_usd: float | None) -> None:
        """Counts what an answer took; None is for unknown."""
        self.usage = self.usage if usage is None else self.usage + usage
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.cost_usd += cost_usd

    def include(self, other: "Meter") -> None:
        """Adds what another process's calls have taken; when its first one was sent is not known here."""
        for name in ("sent", "replies", "failures", "usage", "cost_usd", "unpriced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(eq=False)
class MeteredModel(ModelWrapper):
    """Records a model's calls: wraps the provider directly, so that an attempt is one HTTP request.

    Attributes:
        meter: counter to add to.
        find_price: finds the price before the first request is sent; None is for an unknown one.
        prepare: called before the first request is sent and timed, to open connections.
        ledger: where each attempt is recorded, None for nowhere.
        batched: whether a request that is given up here is still under way in a batch, and no failure.
        trusts_stated: whether a cost that the provider states goes before the price list.
    """

    _: KW_ONLY
    meter: Meter
    find_price: Callable[[], Price | None] = lambda: None
    prepare: Callable[[], None] = lambda: None
    ledger: CallLedger | None = None
    run_id: str | None = None
    notices: Notices = field(default_factory=Notices)
    batched: bool = False
    trusts_stated: bool = False
    _price: Price | None = field(init=False, default=None)
    _ready: bool = field(init=False, default=False)

    async def complete(self, request: ModelRequest) -> Reply:
        if not self._ready:
            self.prepare()
            self._price, self._ready = self.find_price(), True
        started_at, start = time.time(), time.monotonic()
        if self.meter.first_sent_at is None:
            self.meter.first_sent_at = start
        try:
            reply = await self.inner.complete(request)
        except ProviderError as error:
            if error.usage is not None:
                error.cost_usd = self._cost(None, error.usage)
            else:
                error.cost_usd = None if error.maybe_billed else 0.0
            self._failed(request, started_at, start, error)
            raise
        except asyncio.CancelledError:
            # The request may have left; counting one too many is the safe side.
            if not self.batched:
                self._failed(request, started_at, start, None)
            raise
        latency_s = time.monotonic() - start
        reply = replace(reply, latency_s=latency_s, cost_usd=self._cost(reply.cost_usd, reply.usage))
        self.meter.sent += 1
        self.meter.replies += 1
        self.meter.add(reply.usage, reply.cost_usd)
        self._record(
            request,
            status="ok",
            started_at=started_at,
            latency_s=latency_s,
            reply_text=reply.text,
            reply_model=reply.model,
            finish=reply.finish,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            http_status=200,
        )
        if self.ledger is not None:
            await self.ledger.flush()  # a reply is in flight until a killed process could not lose it
        return reply

    def _cost(self, stated: float | None, usage: Usage | None) -> float | None:
        if stated is not None and (self._price is None or self.trusts_stated):
            return stated
        if usage is None:
            self.notices.say(
                f"{self.name} at {self.endpoint.base_url} reports no usage: its tokens and cost are unknown"
            )
            return None
        if self._price is None:
            self.notices.say(
                f"the price of {self.name} at {self.endpoint.base_url} is unknown: its cost is not counted; "
                "give the agent a price to count it"
            )
            return None
        return self._price.cost(usage)

    def _failed(self, request: ModelRequest, started_at: float, start: float, error: ProviderError | None) -> None:
        """Counts a request that failed; None is for one that was cancelled."""
        kind = FailureKind.INTERRUPTED if error is None else error.kind
        sent = error is None or error.sent
        usage = None if error is None else error.usage
        cost_usd = None if error is None else error.cost_usd
        self.meter.sent += sent
        self.meter.failures[kind] += 1
        if usage is not None or (sent and cost_usd is None):
            self.meter.add(usage, cost_usd)
        if sent:
            self._record(
                request,
                status="failed",
                started_at=started_at,
                latency_s=time.monotonic() - start,
                failure_kind=kind,
                failure_message="cancelled before the answer was complete" if error is None else str(error),
                http_status=None if error is None else error.status,
                usage=usage,
                cost_usd=cost_usd,
            )

    def _record(self, request: ModelRequest, **found: Any) -> None:
        if self.ledger is not None:
            call = CallAttempt.of(self, request)
            found |= {"key": call.key, "draw": call.draw, "attempt": call.attempt}
            found |= {"endpoint": str(self.endpoint), "model": self.name, "run_id": self.run_id}
            self.ledger.record_call(CallRecord(**found))


def tracer() -> Any:
    """OpenTelemetry's tracer; None where it was not imported in this process, so that no exporter is set up."""
    trace = sys.modules.get("opentelemetry.trace")
    return None if trace is None else trace.get_tracer("metajudge")


class TracedModel(ModelWrapper):
    """A model each of whose requests is a span; retries are requests of their own, cached replies are none."""

    async def complete(self, request: ModelRequest) -> Reply:
        found = tracer()
        trace = sys.modules.get("opentelemetry.trace")
        # An SDK imports the package, too; without a provider of tracers spans would be made to go nowhere.
        if found is None or trace is None or isinstance(found, (trace.ProxyTracer, trace.NoOpTracer)):
            return await self.inner.complete(request)
        with found.start_as_current_span(
            f"chat {self.name}",
            kind=trace.SpanKind.CLIENT,
            attributes=self._asked(request),
            record_exception=False,  # messages may quote what was judged
            set_status_on_exception=False,
        ) as span:
            try:
                reply = await self.inner.complete(request)
            except BaseException as error:
                kind = error.kind.value if isinstance(error, ProviderError) else type(error).__name__
                span.set_attribute("error.type", kind)
                span.set_status(trace.StatusCode.ERROR)
                raise
            span.set_attributes(_answered(reply))
            return reply

    def _asked(self, request: ModelRequest) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.endpoint.protocol,
            "gen_ai.request.model": self.name,
            "server.address": urlsplit(self.endpoint.base_url).hostname,
            "metajudge.attempt": CallAttempt.of(self, request).attempt,
        }
        return {name: value for name, value in attributes.items() if value is not None}


def _answered(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    attributes = {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": None if reply.finish is None else [str(reply.finish)],
        "gen_ai.usage.input_tokens": None if usage is None else usage.input_tokens,
        "gen_ai.usage.output_tokens": None if usage is None else usage.output_tokens,
        "metajudge.cost_usd": reply.cost_usd,
    }
    return {name: value for name, value in attributes.items() if value is not None}
