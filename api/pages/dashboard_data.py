"""Reads for the dashboard: figures of a period, all computed by the database."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from dataclasses import dataclass, field

from metajudge.errors import InputError, PolicyError
from metajudge.evidence.counting import Counted
from metajudge.feedback.labels import ReviewLabels, review_labels
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.metrics import Metric
from metajudge.store import dashboard, labelled, overview
from metajudge.store.dashboard import DayCount, FailureCount, JudgeCount, PanelCount, Spending
from metajudge.store.labelled import Basis, Group, LabelSource, PairCount, Scope, Steps, Tenth
from metajudge.store.overview import Judged
from metajudge.store.protocol import Store
from metajudge.store.sql import Connection

from ..service import Service

PATIENCE_S = 1.0
"""How long a page waits for facts that are missing; it says how many judgments it covers."""

POLICIES = 4
_log = logging.getLogger("metajudge.api")


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
class Wanted:
    """What is to be read: the last so many days (0: all time), a panel (empty: the busiest), and by what."""

    days: int
    panel: str
    labels: LabelSource
    basis: Basis


@dataclass(frozen=True, slots=True)
class PanelFigures:
    """Figures over verdicts and labels of one panel's judgments; they cover those with facts in the store.

    Attributes:
        actions: policy decisions on all of its judgments, by day.
        steps: judgments by score or probability.
        tenths: labelled ones by probability.
        groups: by judge, outcome, kind, threshold and policy.
        counts: judge -> the rows of :data:`metajudge.evidence.counting.ROWS`; None: all judges together.
        agents: agreement of its agents.
        judges: agreement of the judges.
    """

    actions: list[DayCount]
    steps: Steps
    tenths: list[Tenth]
    groups: list[Group]
    agents: list[PairCount]
    judges: list[PairCount]
    counts: dict[str | None, dict[str, Counted]] = field(default_factory=dict)

    @property
    def covered(self) -> int:
        """How many judgments these figures are over."""
        return sum(group.n for group in self.groups)

    @property
    def labelled(self) -> int:
        return self.counts[None]["all"].compared if self.counts else 0


@dataclass(frozen=True, slots=True)
class Readings:
    """The data of the dashboard.

    Attributes:
        panel: the panel of ``figures``; None without judgments.
        judged: cases and clashes of the period.
        labels: people's decisions; None if there are none.
        at: time of reading, in seconds since the epoch.
        took: duration of reading, in seconds.
    """

    totals: Totals
    panel: PanelCount | None
    figures: PanelFigures
    judged: Judged
    labels: ReviewLabels | None
    feedback: list[Feedback]
    at: float
    took: float

    @property
    def uncovered(self) -> int:
        """Judgments of the panel that its figures do not cover yet."""
        return max(0, self.panel.n - self.figures.covered) if self.panel is not None else 0


class Reader:
    """Reads for dashboards, and has the store add the facts that are missing in the background.

    Slow readings are reused for 20 times their duration, so that several viewers, or one who tries thresholds, do not
    read everything again; those that cover only a part are not.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._reading = asyncio.Lock()
        self._adding: asyncio.Task[None] | None = None
        self._last: dict[Wanted, Readings] = {}

    def begin(self) -> "asyncio.Task[None]":
        """Begins to add missing facts, unless that is being done."""
        if self._adding is None or self._adding.done():
            self._adding = asyncio.create_task(self._add_facts())
        return self._adding

    async def _add_facts(self) -> None:
        try:
            await self.store.line_facts.add_missing()
        except Exception as error:
            _log.error("facts for the dashboard could not be added", exc_info=error)

    async def close(self) -> None:
        """Stops adding facts; the next service on the store goes on."""
        if self._adding is not None:
            self._adding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._adding

    async def read(self, running: Service, wanted: Wanted) -> Readings:
        """Everything for one period and one panel."""
        async with self._reading:  # concurrent requests share the reading
            last = self._last.get(wanted)
            now = time.time()
            if last is not None and now - last.at < 20 * last.took and last.took > 0.5 and not last.uncovered:
                return last
            await asyncio.wait([self.begin()], timeout=PATIENCE_S)
            found = await self._read(running, wanted, now)
            if len(self._last) > 20:
                self._last.clear()
            self._last[wanted] = found
            return found

    async def _read(self, running: Service, wanted: Wanted, now: float) -> Readings:
        started, store = time.monotonic(), self.store
        since = now - 86_400 * wanted.days if wanted.days else 0.0
        totals = await store.ask(lambda connection: _totals(connection, since))
        chosen = next((one for one in totals.panels if one.panel_digest.startswith(wanted.panel)), None)
        labels = await running.computing.ask(lambda: _labels(store, now))
        figures = PanelFigures([], Steps((), 0, 0), [], [], [], [])
        if chosen is not None:
            people = {} if labels is None else labels.right
            scope = Scope(since, chosen.panel_digest, people, wanted.labels)
            figures = await store.ask(lambda connection: _figures(connection, scope, wanted.basis))
        policies: Counter[str] = Counter()
        for group in figures.groups:
            if group.policy is not None:
                policies[group.policy] += group.n
        names = [name for name, _ in sorted(policies.items(), key=lambda pair: (-pair[1], pair[0]))][:POLICIES]
        feedback = await running.computing.ask(lambda: _feedback(store, names))
        judged = await store.ask(lambda connection: overview.judged(connection, since))
        return Readings(totals, chosen, figures, judged, labels, feedback, now, time.monotonic() - started)


def _figures(connection: Connection, scope: Scope, basis: Basis) -> PanelFigures:
    return PanelFigures(
        dashboard.actions_by_day(connection, scope.since, scope.panel),
        labelled.steps(connection, scope, basis),
        labelled.tenths(connection, scope),
        labelled.groups(connection, scope),
        labelled.agent_pairs(connection, scope),
        labelled.judge_pairs(connection, scope),
        labelled.counts(connection, scope),
    )


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
