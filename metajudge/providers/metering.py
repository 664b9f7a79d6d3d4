"""Counts, prices and records every HTTP request that leaves."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from metajudge.errors import FailureKind, ProviderError
from metajudge.providers.model import Ledger, Model, ModelRequest
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
        usage: tokens reported.
        cost_usd: dollars known; a lower bound where ``unpriced`` is not zero.
        unpriced: replies without a known cost, because the price or the usage is unknown.
        first_sent_at: monotonic seconds, None before the first request.
        last_reply_at: monotonic seconds of the last complete reply.
    """

    sent: int = 0
    replies: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    unpriced: int = 0
    first_sent_at: float | None = None
    last_reply_at: float | None = None


class MeteredModel(ModelWrapper):
    """Keeps the books of a model: stands right above the provider, so that an attempt is one HTTP request.

    Args:
        meters: counters to add to, for instance those of the run and those of the agent.
        ledger: where each attempt is recorded, None for nowhere.
        find_price: finds the price before the first request is sent; None is for an unknown one.
        prepare: called before the first request is sent and timed, to open connections.
    """

    def __init__(
        self,
        inner: Model,
        *,
        meters: tuple[Meter, ...],
        find_price: Callable[[], Price | None] = lambda: None,
        prepare: Callable[[], None] = lambda: None,
        ledger: Ledger | None = None,
        run_id: str | None = None,
        notices: Notices | None = None,
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
            self._failed(request, started_at, start, error.kind, str(error), error.status, error.sent)
            raise
        except asyncio.CancelledError:
            # The request may have left; counting one too many is the safe side.
            said = "cancelled before the answer was complete"
            self._failed(request, started_at, start, FailureKind.INTERRUPTED, said, None, True)
            raise
        now = time.monotonic()
        reply = replace(reply, latency_s=now - start, cost_usd=self._cost(reply))
        for meter in self._meters:
            meter.sent += 1
            meter.replies += 1
            meter.last_reply_at = now
            meter.usage = meter.usage if reply.usage is None else meter.usage + reply.usage
            if reply.cost_usd is None:
                meter.unpriced += 1
            else:
                meter.cost_usd += reply.cost_usd
        if self._ledger is not None:
            call = CallAttempt.of(self, request)
            self._ledger.record_call(
                CallRecord(
                    key=call.key,
                    endpoint=self._where,
                    model=self.name,
                    draw=call.draw,
                    attempt=call.attempt,
                    status="ok",
                    started_at=started_at,
                    latency_s=reply.latency_s,
                    run_id=self._run_id,
                    reply_text=reply.text,
                    reply_model=reply.model,
                    finish=reply.finish,
                    usage=reply.usage,
                    cost_usd=reply.cost_usd,
                    http_status=200,
                )
            )
        return reply

    def _cost(self, reply: Reply) -> float | None:
        if reply.cost_usd is not None and self._price is None:
            return reply.cost_usd
        if reply.usage is None:
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
        return self._price.cost(reply.usage)

    def _failed(
        self,
        request: ModelRequest,
        started_at: float,
        start: float,
        kind: FailureKind,
        said: str,
        status: int | None,
        sent: bool,
    ) -> None:
        for meter in self._meters:
            meter.sent += sent
            meter.failures[kind] += 1
        if self._ledger is None or not sent:
            return
        call = CallAttempt.of(self, request)
        self._ledger.record_call(
            CallRecord(
                key=call.key,
                endpoint=self._where,
                model=self.name,
                draw=call.draw,
                attempt=call.attempt,
                status="failed",
                started_at=started_at,
                latency_s=time.monotonic() - start,
                run_id=self._run_id,
                failure_kind=kind,
                failure_message=said,
                http_status=status,
            )
        )
