"""The dashboard: outcomes, precision at any threshold, agreement between agents and judges, and cost.

All figures of a period are computed by the database.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field, field_validator

from metajudge.errors import InputError, PolicyError
from metajudge.evidence.counting import SAID, WORDS, Counted
from metajudge.feedback.labels import ReviewLabels, review_labels
from metajudge.feedback.loop import FeedbackLoop
from metajudge.feedback.metrics import GROUND_TRUTH, Metric
from metajudge.store import Store, labelled, overview
from metajudge.store import dashboard as stored
from metajudge.store.dashboard import DayCount, FailureCount, JudgeCount, PanelCount, Spending
from metajudge.store.labelled import COMPARED, STEPS, Basis, Group, LabelSource, PairCount, Scope, Steps, Tenth
from metajudge.store.overview import Judged
from metajudge.store.sql import Connection

from ..deps import Service
from . import dashboard_view as view
from .page_route import Filters, PageRoute, StoredVisit
from .standing import Ladder, curve, standing, thinned, words_of

router = APIRouter(prefix="/dashboard", include_in_schema=False, route_class=PageRoute)
PERIODS = {7: "7 days", 30: "30 days", 90: "90 days", 0: "all time"}
LABELS: dict[LabelSource, str] = {
    "all": "people, else items' labels",
    "people": "people's decisions",
    "truth": "items' labels",
}
PROBABLE = 80
_SHOWN = ("all", *SAID, "kept", "discarded", "asked")
PATIENCE_S = 1.0
"""How long a page waits for facts that are missing; it says how many judgments it covers."""

POLICIES = 4
_log = logging.getLogger("metajudge.api")


class Wish(Filters):
    """The settings of the dashboard."""

    PATH = "/dashboard"

    days: int = 30
    panel: str = Field(default="", max_length=200)
    basis: Basis = "score"
    labels: LabelSource = "all"
    keep: float | None = Field(default=None, ge=-1e6, le=1e6, allow_inf_nan=False)
    discard: float | None = Field(default=None, ge=-1e6, le=1e6, allow_inf_nan=False)

    @field_validator("days")
    @classmethod
    def _known_period(cls, days: int) -> int:
        if days not in PERIODS:
            raise ValueError(f"one of {', '.join(map(str, PERIODS))} days (0 is all time), not {days}")
        return days

    def but(self, **changes: object) -> str:
        """An address with some settings changed; a new basis drops the thresholds."""
        kept = self.model_copy(update={"keep": None, "discard": None}) if "basis" in changes else self
        return kept.address(**changes)


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
        self._last: dict[Wish, Readings] = {}

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

    async def read(self, running: Service, wish: Wish) -> Readings:
        """Everything for one period and one panel; the thresholds make no difference."""
        wanted = wish.model_copy(update={"keep": None, "discard": None})
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

    async def _read(self, running: Service, wanted: Wish, now: float) -> Readings:
        started, store = time.monotonic(), self.store
        since = now - 86_400 * wanted.days if wanted.days else 0.0
        totals = await store.ask(lambda connection: _totals(connection, since))
        chosen = next((one for one in totals.panels if one.panel_digest.startswith(wanted.panel)), None)
        labels = None
        with contextlib.suppress(InputError):  # no decision of a person is stored
            labels = await running.computing.ask(lambda: review_labels(store, now=now))
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
        stored.actions_by_day(connection, scope.since, scope.panel),
        labelled.steps(connection, scope, basis),
        labelled.tenths(connection, scope),
        labelled.groups(connection, scope),
        labelled.agent_pairs(connection, scope),
        labelled.judge_pairs(connection, scope),
        labelled.counts(connection, scope),
    )


def _totals(connection: Connection, since: float) -> Totals:
    return Totals(
        stored.panels(connection, since),
        stored.outcomes_by_day(connection, since),
        stored.judges(connection, since),
        stored.spending(connection, since),
        stored.failures(connection, since),
    )


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


@router.get("")
async def dashboard(visit: StoredVisit, wish: Annotated[Wish, Query()]) -> Response:
    sees = visit.sight.labels
    sources = LABELS if sees else {"people": LABELS["people"]}
    wish = wish if wish.labels in sources else wish.model_copy(update={"labels": "people"})
    reader: Reader = visit.request.app.state.dashboard_reader
    found = await reader.read(visit.running, wish)
    if not sees:  # correctness by people's decisions alone
        told = [replace(one, metrics=tuple(m for m in one.metrics if m.name != GROUND_TRUTH)) for one in found.feedback]
        found = replace(found, feedback=told)
    shown = await asyncio.to_thread(_shown, wish, found)  # intervals take a while
    return visit.page("dashboard.html", wish=wish, periods=PERIODS, label_sources=sources, **shown)


def _shown(wish: Wish, found: Readings) -> dict[str, Any]:
    """The template's variables."""
    figures = found.figures
    bins = view.calibration_bins(figures.tenths)
    cost, days = view.model_rows(found.totals.spent), found.totals.outcomes
    return {
        "found": found,
        **_precision(wish, figures.groups, figures.steps),
        "outcomes": view.over_time("outcomes", "Outcomes per day", days, view.OUTCOMES),
        "actions": view.over_time("actions", "Policy decisions per day", figures.actions, view.ACTIONS),
        "bins": bins,
        "calibration": view.calibration_chart(bins) if bins else None,
        "agents": view.heat_map(figures.agents),
        "judges": view.heat_map(figures.judges),
        "rows": {WORDS[name]: row for name, row in figures.counts.get(None, {}).items() if row.n and name in _SHOWN},
        "models": cost,
        "spent": sum(row.cost_usd for row in cost),
        "cost": view.cost_over_time(found.totals.spent),
        "action_words": view.ACTIONS,
        "counts": {words: sum(one.n for one in days if one.kind == kind) for kind, words in view.OUTCOMES.items()},
        "kinds": view.kinds_of(figures.groups),
        "compared": COMPARED if len({group.judge for group in figures.groups}) > COMPARED else 0,
    }


def _precision(wish: Wish, groups: Sequence[Group], steps: Steps) -> dict[str, Any]:
    """The section with thresholds."""
    usual = PROBABLE
    if wish.basis == "score":  # the threshold of most assessments; of several the most selective
        counts: Counter[int] = Counter()
        for group in groups:
            counts[round(group.threshold * STEPS)] += group.n
        usual = max(counts, key=lambda value: (counts[value], value)) if counts else 450
    ladder = Ladder(wish.basis, steps.steps, steps.without, steps.questions, steps.changes, usual)

    def within(wanted: float | None, otherwise: int) -> int:
        """A threshold in hundredths, limited to the ladder's range."""
        value = otherwise if wanted is None else round(wanted * STEPS)
        return max(ladder.low, min(ladder.high, value))

    keep = within(wish.keep, usual)
    discard = min(keep, within(wish.discard, keep))
    now = standing(ladder, keep, discard)
    plane = chart = None
    if points := curve(ladder):
        precision = now.precision.estimate if now.precision else 0.0
        x, y = view.plane_of(ladder)
        plane = [x.start, x.end, y.end, y.start, y.span[0]]  # for the script that moves the mark
        chart = view.precision_coverage("precision", ladder, now.coverage or 0.0, precision)
    fine = wish.basis == "probability" or keep % 5 or discard % 5
    return {
        "ladder": ladder,
        "keep": keep,
        "discard": discard,
        "step": 1 if fine else 5,
        "now": words_of(now),
        "plane": plane,
        "curve": chart,
        "points": thinned(points, 20),
    }
