"""Running a grid: one configuration after the other on the same judgments, resumable through the store; its costs.

The paper counts a panel's cost in askings of each agent: ``sum`` where each scores alone, ``2 sum`` in a discussion,
``2 sum + summariser`` with one (section 4.2.2, "Computation Cost Analysis"). Rows of a grid share calls, so what is
paid for a row depends on the rows before it; what it costs by itself does not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from metajudge.errors import FailureKind
from metajudge.panels.building import threshold_of
from metajudge.panels.config import PanelConfig
from metajudge.providers.notices import Notices
from metajudge.report.document import Absent
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import RunEnd, Stop
from metajudge.types import AgentResult, Assessment, Judgment
from metajudge.vetting.engine import Engine

from .findings import CostFormula, RowCost, Threshold
from .grid import Plan, PlannedRow
from .observations import Observations
from .precision import Score, Selection

UNKNOWN_PRICE = Absent(absent="a price or the usage is unknown")
UNKNOWN_REPLY = Absent(absent="the price of a stored reply is unknown")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One asking of one agent, repair included.

    Attributes:
        key: of its first request; the same where another row asks the same.
        once: whether it belongs to asking each agent once: not a revision, nor a summary.
    """

    key: str | None
    calls: int
    stored: int
    paid_usd: float | None
    once: bool


def exchanges(assessment: Assessment) -> Iterator[Exchange]:
    """Every asking that an assessment is made of."""
    for result in assessment.agents:
        if result.opening is not None:
            yield from _askings(result.opening, once=True)
            yield _exchange(result, once=False, without=result.opening)
        else:
            yield from _askings(result, once=True)
    if assessment.summariser is not None:
        yield from _askings(assessment.summariser, once=False)


def _askings(result: AgentResult, *, once: bool) -> Iterator[Exchange]:
    if result.skipped is None:
        yield from (_exchange(draw, once=once) for draw in result.draws or (result,))


def _exchange(result: AgentResult, *, once: bool, without: AgentResult | None = None) -> Exchange:
    paid, calls, stored = result.cost_usd, result.calls, result.cached_calls
    if without is not None:
        calls, stored = calls - without.calls, stored - without.cached_calls
        paid = None if paid is None or without.cost_usd is None else paid - without.cost_usd
    return Exchange(result.prompt_digest, calls, stored, paid, once)


class Ledger:
    """What each asking cost when it was paid, over the rows of a run."""

    def __init__(self) -> None:
        self._paid: dict[str, float | None] = {}

    def row(
        self, panel: PanelConfig, assessments: Iterable[Assessment], stored_usd: Mapping[str, float | None]
    ) -> RowCost:
        """The cost of one row; its own askings are known to the rows after it.

        Args:
            stored_usd: key -> dollars, of single replies that an earlier run had paid.
        """
        every = [one for assessment in assessments for one in exchanges(assessment)]
        for one in every:
            if one.key is not None and not one.stored:
                self._paid[one.key] = one.paid_usd
            elif one.key is not None and one.key in stored_usd and one.stored == 1:
                self._paid.setdefault(one.key, stored_usd[one.key])
        paid = [one.paid_usd for one in every]
        return RowCost(
            formula=_formula(panel),
            calls=sum(one.calls + one.stored for one in every),
            cost_usd=self._total(every),
            once_usd=self._total([one for one in every if one.once]),
            paid_calls=sum(one.calls for one in every),
            paid_usd=UNKNOWN_PRICE if None in paid else sum(cost for cost in paid if cost is not None),
        )

    def _total(self, every: Iterable[Exchange]) -> float | Absent:
        total = 0.0
        for one in every:
            if one.stored and (one.key is None or one.key not in self._paid):
                return UNKNOWN_REPLY
            cost = self._paid[one.key] if one.stored and one.key is not None else one.paid_usd
            if cost is None:
                return UNKNOWN_PRICE
            total += cost
        return total


def _formula(panel: PanelConfig) -> CostFormula:
    if panel.chosen_strategy == "rejudge":
        return "both orders"
    if panel.chosen_strategy != "panel_discussion":
        return "sum"
    twice, summed = panel.discussion.rounds == "independent_first", panel.discussion.summariser is not None
    if twice:
        return "2 sum + summariser" if summed else "2 sum"
    return "sum + summariser" if summed else "sum"


PROGRESS_EVERY = 100
"""Judgments of one configuration between two notes."""

Found: TypeAlias = dict[str, Assessment]
EngineFactory = Callable[[PanelConfig], AbstractAsyncContextManager[Engine]]
"""Makes an engine for a panel."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """The results of one configuration: judgment id -> assessment, and how the run ended.

    Attributes:
        stored_usd: request key -> what a reply that came from the store had cost; None where that is unknown.
    """

    row: PlannedRow
    assessments: dict[str, Assessment]
    end: RunEnd
    notices: tuple[str, ...]
    stored_usd: Mapping[str, float | None] = field(default_factory=dict)


async def run_plan(
    plan: Plan,
    judgments: Mapping[str, Sequence[Judgment]],
    engine_factory: EngineFactory,
    *,
    stop: Stop | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[RowResult]:
    """Vets judgments by one configuration of a plan after the other.

    Every engine resumes an earlier run, as far as its store has the results. Once the budget that engines share is
    spent, or the run interrupted, the rows left are not begun.

    Args:
        judgments: judge -> what is vetted.
        engine_factory: see :data:`EngineFactory`; tests give engines with scripted models.
        say: receives a note every :data:`PROGRESS_EVERY` judgments of a configuration.
    """
    results: list[RowResult] = []
    for row in plan.rows:
        found: Found = {}

        def keep(
            _: int, judgment: Judgment, assessment: Assessment, row: PlannedRow = row, found: Found = found
        ) -> None:
            found[judgment.id] = assessment
            if len(found) % PROGRESS_EVERY == 0:
                say(f"{row.title}: {len(found):,} of {len(judgments[row.judge]):,} judgments")

        async with engine_factory(row.panel) as engine:
            summary = await engine.vet_all(judgments[row.judge], on_result=keep, stop=stop)
            stored = await _prices_of_stored(engine, found)
        results.append(RowResult(row, found, summary.end, tuple(summary.notices), stored))
        if summary.end is not RunEnd.FINISHED:
            break
    return results


async def _prices_of_stored(engine: Engine, found: Mapping[str, Assessment]) -> dict[str, float | None]:
    """What the replies that were not asked for anew had cost."""
    keys = {one.key for assessment in found.values() for one in exchanges(assessment) if one.stored and one.key}
    if engine.store is None:
        return {}
    replies = [(key, await engine.store.find_reply(key)) for key in sorted(keys)]
    return {key: reply.cost_usd for key, reply in replies if reply is not None}


def engines(*, notify: Callable[[str], None], **settings: Any) -> EngineFactory:
    """Makes engines that share their settings; a notice that several give is printed once.

    Args:
        settings: fields of :class:`~metajudge.vetting.engine.Engine`: one store, one budget.
    """
    notices = Notices(notify)
    return lambda panel: Engine(panel=panel, command="bench", notify=notices.say, **settings)


def counts_of(results: Sequence[RowResult], bad_lines: int) -> RunCounts:
    """What the exit code depends on, over all configurations that were asked.

    Where several ended early, the end that the user can do something about counts.
    """
    ends = {result.end for result in results}
    end = next((one for one in (RunEnd.INTERRUPTED, RunEnd.PENDING, RunEnd.BUDGET) if one in ends), RunEnd.FINISHED)
    undecided = [one for result in results for one in result.assessments.values() if one.accepted is None]
    silent = sum(one.failure is not None and one.failure.kind is FailureKind.NO_VERDICT for one in undecided)
    return RunCounts(end, failed=len(undecided) - silent, without_verdict=silent, bad_lines=bad_lines)


def selection_of(result: RowResult, observations: Observations) -> Selection:
    """What a configuration kept among the observations of its judge; what it has no decision on is not kept."""
    assessments = [result.assessments.get(name) for name in observations.ids]
    spent = list(result.assessments.values())
    costs = [assessment.cost_usd for assessment in spent]
    return Selection(
        name=result.row.name,
        kind="baseline" if result.row.baseline else "configuration",
        kept=np.array([one is not None and one.accepted is True for one in assessments], dtype=bool),
        scored=np.array([one is not None and one.accepted is not None for one in assessments], dtype=bool),
        threshold=Threshold(value=threshold_of(result.row.panel), origin="fixed beforehand"),
        cost_usd=UNKNOWN_PRICE if None in costs else sum(cost for cost in costs if cost is not None),
        calls=sum(assessment.calls for assessment in spent),
    )


def score_of(result: RowResult, observations: Observations) -> Score:
    """A configuration's final scores; None where it gave none."""
    assessments = [result.assessments.get(name) for name in observations.ids]
    return Score(result.row.name, [None if one is None else one.final_score for one in assessments])
