"""Running a grid: one configuration after the other on the same judgments, resumable through the store."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import numpy as np

from metajudge.errors import FailureKind
from metajudge.panels.building import threshold_of
from metajudge.panels.config import PanelConfig
from metajudge.providers.batch_queue import BatchSettings
from metajudge.providers.budget import Budget
from metajudge.providers.notices import Notices
from metajudge.report.document import Absent
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import RunEnd, Stop
from metajudge.types import Assessment, Judgment
from metajudge.types.location import StoreLocation
from metajudge.vetting.engine import Engine

from .findings import Threshold
from .grid_costs import exchanges
from .grid_plan import Plan, PlannedRow
from .observations import Observations
from .selections import Score, Selection

PROGRESS_EVERY = 100
"""Judgments of one configuration between two notes."""

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
    spent_usd: float
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
        found: dict[str, Assessment] = {}
        async with engine_factory(row.panel) as engine:
            keep = _collector(row, found, len(judgments[row.judge]), say)
            summary = await engine.vet_all(judgments[row.judge], on_result=keep, stop=stop)
            stored = await _prices_of_stored(engine, found)
        results.append(RowResult(row, found, summary.end, summary.known_cost_usd, tuple(summary.notices), stored))
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


def engines(
    *,
    store: StoreLocation,
    concurrency: int,
    budget: Budget,
    batch: BatchSettings | None,
    notify: Callable[[str], None],
) -> EngineFactory:
    """Makes engines that share one store and one budget; a notice that several give is printed once."""
    notices = Notices(notify)

    def engine(panel: PanelConfig) -> Engine:
        return Engine(
            panel=panel,
            store=store,
            concurrency=concurrency,
            command="bench",
            budget=budget,
            batch=batch,
            notify=notices.say,
        )

    return engine


def counts_of(results: Sequence[RowResult], bad_lines: int) -> RunCounts:
    """What the exit code depends on, over all configurations that were asked.

    Where several ended early, the end that the user can do something about counts.
    """
    ends = {result.end for result in results}
    end = next((one for one in (RunEnd.INTERRUPTED, RunEnd.PENDING, RunEnd.BUDGET) if one in ends), RunEnd.FINISHED)
    undecided = [one for result in results for one in result.assessments.values() if one.accepted is None]
    silent = sum(one.failure is not None and one.failure.kind is FailureKind.NO_VERDICT for one in undecided)
    return RunCounts(end, failed=len(undecided) - silent, without_verdict=silent, bad_lines=bad_lines)


def _collector(
    row: PlannedRow, found: dict[str, Assessment], size: int, say: Callable[[str], None]
) -> Callable[[int, Judgment, Assessment], None]:
    def keep(_: int, judgment: Judgment, assessment: Assessment) -> None:
        found[judgment.id] = assessment
        if len(found) % PROGRESS_EVERY == 0:
            say(f"{row.title}: {len(found):,} of {size:,} judgments")

    return keep


def selection_of(result: RowResult, observations: Observations) -> Selection:
    """What a configuration kept among the observations of its judge; what it has no decision on is not kept."""
    assessments = [result.assessments.get(name) for name in observations.ids]
    spent = list(result.assessments.values())
    costs = [assessment.cost_usd for assessment in spent]
    unknown = Absent(absent="a price or the usage is unknown")
    return Selection(
        name=result.row.name,
        kind="baseline" if result.row.baseline else "configuration",
        kept=np.array([one is not None and one.accepted is True for one in assessments], dtype=bool),
        scored=np.array([one is not None and one.accepted is not None for one in assessments], dtype=bool),
        threshold=Threshold(value=threshold_of(result.row.panel), origin="fixed beforehand"),
        cost_usd=unknown if None in costs else sum(cost for cost in costs if cost is not None),
        calls=sum(assessment.calls for assessment in spent),
    )


def score_of(result: RowResult, observations: Observations) -> Score:
    """A configuration's final scores; None where it gave none."""
    assessments = [result.assessments.get(name) for name in observations.ids]
    return Score(result.row.name, [None if one is None else one.final_score for one in assessments])
