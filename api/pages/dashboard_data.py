"""Reads for the dashboard: totals of a period from the database, and each assessment without its texts."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from metajudge.errors import InputError, PolicyError
from metajudge.feedback.labels import ReviewLabels, review_labels
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.metrics import Metric
from metajudge.store import dashboard, overview
from metajudge.store.dashboard import DayCount, Fact, FailureCount, JudgeCount, PairCount, PanelCount, Spending
from metajudge.store.overview import Judged
from metajudge.store.protocol import Store
from metajudge.store.sql import Connection

from ..service import Service

WINDOW = 100_000
"""The newest versions, whose payloads are read once each, as they never change."""

PAGE = 2_000
POLICIES = 4


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures over a whole period."""

    panels: list[PanelCount]
    outcomes: list[DayCount]
    judges: list[JudgeCount]
    spent: list[Spending]
    failures: list[FailureCount]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A policy compared with people's decisions; ``problem`` is the reason if there are no metrics."""

    policy: str
    metrics: tuple[Metric, ...]
    cases: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Readings:
    """The data of the dashboard.

    Attributes:
        panel: the panel of ``facts``.
        total: the number of its assessments in the period.
        actions: policy decisions on them, by day.
        judged: cases and clashes of the period.
        facts: the newest of them, at most :data:`WINDOW`, oldest first.
        labels: people's decisions; None if there are none.
        at: time of reading, in seconds since the epoch.
        took: duration of reading, in seconds.
    """

    totals: Totals
    panel: PanelCount | None
    total: int
    actions: list[DayCount]
    judged: Judged
    facts: list[Fact]
    agents: list[PairCount]
    labels: ReviewLabels | None
    feedback: list[Feedback]
    at: float
    took: float

    @property
    def people(self) -> Mapping[str, bool]:
        return {} if self.labels is None else self.labels.right


class Reader:
    """Reads for dashboards, and caches what never changes.

    Slow readings are reused for 20 times their duration, so that several viewers, or one who tries thresholds, do not
    read everything again.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._reading = asyncio.Lock()
        self._facts: dict[int, Fact] = {}
        self._last: dict[tuple[int, str], Readings] = {}

    async def read(self, running: Service, days: int, panel: str) -> Readings:
        """Everything for one period (all time: 0 days) and one panel (the busiest: empty)."""
        async with self._reading:  # concurrent requests share the reading
            last = self._last.get((days, panel))
            now = time.time()
            if last is not None and now - last.at < 20 * last.took and last.took > 0.5:
                return last
            found = await self._read(running, days, panel, now)
            if len(self._last) > 20:
                self._last.clear()
            self._last[days, panel] = found
            return found

    async def _read(self, running: Service, days: int, panel: str, now: float) -> Readings:
        started, store = time.monotonic(), self.store
        since = now - 86_400 * days if days else 0.0
        totals = await store.ask(lambda connection: _totals(connection, since))
        chosen = next((one for one in totals.panels if one.panel_digest.startswith(panel)), None)
        numbers: list[int] = []
        actions: list[DayCount] = []
        total = 0
        if chosen is not None:
            digest = chosen.panel_digest
            numbers, total = await store.ask(
                lambda connection: dashboard.newest_numbers(connection, since, digest, WINDOW)
            )
            actions = await store.ask(lambda connection: dashboard.actions_by_day(connection, since, digest))
        facts = await self._known(numbers)
        thresholds = {fact.assessment_id: fact.threshold for fact in facts}
        agents = await store.ask(lambda connection: dashboard.agent_pairs(connection, thresholds))
        labels = await running.computing.ask(lambda: _labels(store, now))
        policies = Counter(fact.policy for fact in facts if fact.policy is not None)
        names = [name for name, _ in sorted(policies.items(), key=lambda pair: (-pair[1], pair[0]))][:POLICIES]
        feedback = await running.computing.ask(lambda: _feedback(store, names))
        judged = await store.ask(lambda connection: overview.judged(connection, since))
        return Readings(
            totals, chosen, total, actions, judged, facts, agents, labels, feedback, now, time.monotonic() - started
        )

    async def _known(self, numbers: list[int]) -> list[Fact]:
        """Facts by number, oldest first; only those not cached are read."""
        missing = sorted(number for number in numbers if number not in self._facts)
        if len(self._facts) > 2 * WINDOW:
            self._facts = {number: self._facts[number] for number in numbers if number in self._facts}
        for place in range(0, len(missing), PAGE):
            page = missing[place : place + PAGE]
            for fact in await self.store.ask(partial(dashboard.facts, numbers=page)):
                self._facts[fact.number] = fact
        return [self._facts[number] for number in sorted(numbers) if number in self._facts]


def _totals(connection: Connection, since: float) -> Totals:
    return Totals(
        dashboard.panels(connection, since),
        dashboard.outcomes_by_day(connection, since),
        dashboard.judges(connection, since),
        dashboard.spending(connection, since),
        dashboard.failures(connection, since),
    )


async def _labels(store: Store, now: float) -> ReviewLabels | None:
    try:
        return await review_labels(store, now=now)
    except InputError:
        return None


async def _feedback(store: Store, names: list[str]) -> list[Feedback]:
    loop = FeedbackLoop(store, clock=time.time)
    found = []
    for name in names:
        try:
            report = await loop.report(name)
            found.append(Feedback(name, tuple(report.overall.values()), report.cases))
        except (InputError, PolicyError) as error:
            found.append(Feedback(name, (), 0, str(error)))
    return found
