"""Sends a store's events to a receiver: at least once each, under one event id, whatever is killed in between."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from metajudge.concurrency import all_of, heard
from metajudge.outcomes.model import FinalOutcome, Finding, OutcomeFilter, QueuedEvent, Sent, outcome_after
from metajudge.settings import Settings
from metajudge.store import Store
from metajudge.types import digest
from metajudge.webhooks.webhook import GIVE_UP_AFTER, Webhook

AT_ONCE = 8
"""Events on their way to one receiver at the same time."""

PAUSE_S = 2.0
"""Seconds between two rounds in the background."""

LONGEST_PAUSE_S = 60.0
"""The pause doubles up to this while the receiver fails."""


@dataclass(slots=True)
class SendCounts:
    """What a sender did.

    Attributes:
        delivered: events that the receiver accepted.
        known: of those that were asked for, events that it had accepted before.
        failed: tries in vain; the event is tried again later.
        given_up: events that are no longer tried by themselves.
    """

    delivered: int = 0
    known: int = 0
    failed: int = 0
    given_up: int = 0


def webhook_of(settings: Settings, url: str | None = None) -> Webhook | None:
    """The receiver at a URL, or the one that the settings name; None without one.

    Raises:
        ConfigurationError: a URL that is not allowed, or no secret.
    """
    chosen = url or settings.webhook
    if chosen is None:
        return None
    return Webhook.at(chosen, settings.webhook_secret, allow_private=settings.webhook_private)


def receiver_of(hook: Webhook) -> str:
    """What a receiver is called in the store, which does not keep its address: a URL may contain a secret."""
    return digest(["receiver", hook.url])[:16]


class Sender:
    """Sends what a store has for one receiver. Several may send at the same time, in any process.

    Args:
        callbacks: whether the receiver gets ``job.ended`` and ``review.decided``, too.
        say: told about failures.
        clock: seconds since the epoch.

    Attributes:
        counts: what was done so far.
    """

    def __init__(
        self,
        store: Store,
        hook: Webhook,
        *,
        callbacks: bool = False,
        say: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.counts = SendCounts()
        self._outcomes = store.outcomes
        self._hook = hook
        self._receiver = receiver_of(hook)
        self._callbacks = callbacks
        self._say = say
        self._clock = clock
        self._failed_in_a_row = 0
        self._ending = asyncio.Event()
        self._wanted = asyncio.Event()

    async def start(self) -> None:
        """Makes the receiver known before anything is decided: it gets what is decided from now on."""
        known = {one.receiver for one in await self._outcomes.receivers()}
        if self._receiver not in known:
            await self._outcomes.collect_all()  # what was decided before is not for it
        host = urlsplit(self._hook.url).hostname or ""
        await self._outcomes.register(self._receiver, host, now=self._clock(), callbacks=self._callbacks)

    async def registered_at(self) -> float:
        """When the receiver became known, in seconds since the epoch; after :meth:`start`."""
        return next(one.registered_at for one in await self._outcomes.receivers() if one.receiver == self._receiver)

    async def wish(self, outcomes: Sequence[FinalOutcome]) -> None:
        """Queues outcomes that may have been decided before the receiver was known."""
        self.counts.known += await self._outcomes.wish(self._receiver, [one.number for one in outcomes])

    async def wish_since(self, since: float | None) -> None:
        """Queues every current outcome decided since then (None: ever) that the receiver has not accepted."""
        after, wanted = 0, OutcomeFilter(since=since)
        await self._outcomes.collect_all()
        while page := await self._outcomes.since(after, wanted):
            await self.wish(page)
            after = page[-1].number

    async def resume(self) -> int:
        """Tries again at once what failed or was given up; returns how many events."""
        return await self._outcomes.resume(self._receiver)

    async def round(self) -> None:
        """Sends what is due; ends early after some failures in a row."""
        self._failed_in_a_row = 0
        await self._outcomes.collect_all()
        while not self._ending.is_set():
            batch = await self._outcomes.claim(self._receiver, now=self._clock(), limit=AT_ONCE)
            if not batch:
                return
            if self._failed_in_a_row >= GIVE_UP_AFTER:
                await self._outcomes.release(self._receiver, [one.number for one in batch])
                return
            await all_of(self._send(one) for one in batch)

    async def _send(self, one: QueuedEvent) -> None:
        delivery = await self._hook.send(one.event, one.event_id, clock=self._clock)
        how = Sent(receiver=self._receiver, ended_at=self._clock(), **asdict(delivery))
        given_up = await self._outcomes.sent(one.number, how, one.failures)
        if delivery.delivered:
            self._failed_in_a_row = 0
            self.counts.delivered += 1
            return
        self._failed_in_a_row += 1
        self.counts.failed += 1
        self.counts.given_up += given_up
        ending = "given up" if given_up else "it will be tried again"
        self._say(
            f"webhook: event {one.event_id}: {delivery.reason} ({delivery.attempts} attempts); {ending}; "
            "`metajudge outcomes send` tries at once"
        )

    async def finish(self) -> None:
        """A last round, after :meth:`end`; counts what the receiver still lacks as failed."""
        self._ending.clear()
        await self.round()
        if self._failed_in_a_row >= GIVE_UP_AFTER:
            states = {one.receiver: one for one in await self._outcomes.receivers()}
            left = states[self._receiver]
            self.counts.failed = max(self.counts.failed, left.behind + left.waiting)
            self._say(f"webhook: {GIVE_UP_AFTER} deliveries failed in a row; {left.behind + left.waiting} events wait")

    def end(self) -> None:
        """Ends :meth:`keep_sending` after the events on their way."""
        self._ending.set()
        self._wanted.set()

    async def keep_sending(self, told: Callable[[Exception], None] = lambda _: None) -> None:
        """Rounds until :meth:`end`.

        Args:
            told: gets an error that ended a round, such as a store that is away; the next round follows anyway.
        """
        pause = PAUSE_S
        while not self._ending.is_set():
            try:
                await self.round()
                failing = self._failed_in_a_row > 0
            except Exception as error:
                told(error)
                failing = True
            pause = min(2 * pause, LONGEST_PAUSE_S) if failing else PAUSE_S
            self._wanted.clear()
            if self._ending.is_set():
                return
            await heard(self._wanted, pause)


@asynccontextmanager
async def sending(
    store: Store, hook: Webhook, say: Callable[[str], None], *, resume: bool = False
) -> AsyncIterator[Sender]:
    """A sender that works while a command decides, and sends the rest at its end.

    Args:
        resume: whether what failed before is tried again at once.
    """
    sender = Sender(store, hook, say=say)
    await sender.start()
    if resume:
        await sender.resume()
    working = asyncio.create_task(sender.keep_sending())
    try:
        yield sender
    finally:
        sender.end()
        await working
    await sender.finish()


async def send_unstored(hook: Webhook, found: Sequence[Finding], say: Callable[[str], None]) -> SendCounts:
    """Sends decisions that no store keeps, under the event ids that they would have as the first ones on their content.

    Nothing is remembered: the same decisions sent again have the same event ids.
    """
    counts, in_a_row = SendCounts(), 0
    outcomes = [one for one in (outcome_after(finding, None) for finding in found) if one is not None]
    for one in outcomes:
        if in_a_row >= GIVE_UP_AFTER:
            counts.failed += 1
            continue
        delivery = await hook.send(one.event, one.event_id, clock=time.time)
        counts.delivered += delivery.delivered
        counts.failed += not delivery.delivered
        in_a_row = 0 if delivery.delivered else in_a_row + 1
        if not delivery.delivered:
            say(f"webhook: {one.kind} {one.subject_id}: {delivery.reason} ({delivery.attempts} attempts)")
    return counts
