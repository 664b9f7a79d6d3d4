"""Counts, prices and records every HTTP request that leaves."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from metajudge.errors import FailureKind, ProviderError
from metajudge.providers.model import CallLedger, Model, ModelRequest
from metajudge.providers.notices import Notices
from metajudge.providers.prices import Price
from metajudge.providers.wrapper import CallAttempt, ModelWrapper
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


class MeteredModel(ModelWrapper):
    """Records a model's calls: wraps the provider directly, so that an attempt is one HTTP request.

    Args:
        meters: counters to add to, for instance those of the run and those of the agent.
        ledger: where each attempt is recorded, None for nowhere.
        find_price: finds the price before the first request is sent; None is for an unknown one.
        prepare: called before the first request is sent and timed, to open connections.
        batched: whether a request that is given up here is still under way in a batch, and no failure.
        trusts_stated: whether a cost that the provider states goes before the price list.
    """

    def __init__(
        self,
        inner: Model,
        *,
        meters: tuple[Meter, ...],
        find_price: Callable[[], Price | None] = lambda: None,
        prepare: Callable[[], None] = lambda: None,
        ledger: CallLedger | None = None,
        run_id: str | None = None,
        notices: Notices | None = None,
        batched: bool = False,
        trusts_stated: bool = False,
    ) -> None:
        super().__init__(inner)
        self._meters = meters
        self._find_price = find_price
        self._prepare = prepare
        self._price: Price | None = None
        self._ready = False
        self._ledger = ledger
        self._run_id = run_id
        self._notices = notices or Notices()
        self._batched = batched
        self._trusts_stated = trusts_stated
        self._where = str(inner.endpoint)

    async def complete(self, request: ModelRequest) -> Reply:
        if not self._ready:
            self._prepare()
            self._price, self._ready = self._find_price(), True
        started_at, start = time.time(), time.monotonic()
        for meter in self._meters:
            if meter.first_sent_at is None:
                meter.first_sent_at = start
        try:
            reply = await self._inner.complete(request)
        except ProviderError as error:
            if error.usage is not None:
                error.cost_usd = self._cost(None, error.usage)
            else:
                error.cost_usd = None if error.maybe_billed else 0.0
            self._failed(request, started_at, start, error)
            raise
        except asyncio.CancelledError:
            # The request may have left; counting one too many is the safe side.
            if not self._batched:
                self._failed(request, started_at, start, None)
            raise
        latency_s = time.monotonic() - start
        reply = replace(reply, latency_s=latency_s, cost_usd=self._cost(reply.cost_usd, reply.usage))
        for meter in self._meters:
            meter.sent += 1
            meter.replies += 1
            meter.add(reply.usage, reply.cost_usd)
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
        if self._ledger is not None:
            await self._ledger.flush()  # a reply is in flight until a killed process could not lose it
        return reply

    def _cost(self, stated: float | None, usage: Usage | None) -> float | None:
        if stated is not None and (self._price is None or self._trusts_stated):
            return stated
        if usage is None:
            self._notices.say(
                f"{self.name} at {self.endpoint.base_url} reports no usage: its tokens and cost are unknown"
            )
            return None
        if self._price is None:
            self._notices.say(
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
        for meter in self._meters:
            meter.sent += sent
            meter.failures[kind] += 1
            if usage is not None or (sent and cost_usd is None):
                meter.add(usage, cost_usd)
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
        if self._ledger is not None:
            call = CallAttempt.of(self, request)
            found |= {"key": call.key, "draw": call.draw, "attempt": call.attempt}
            found |= {"endpoint": self._where, "model": self.name, "run_id": self._run_id}
            self._ledger.record_call(CallRecord(**found))
