"""``/``: what waits, what changed, what is broken, what it cost."""

import time
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from metajudge.outcomes.model import ReceiverState
from metajudge.store import overview, searching
from metajudge.store.overview import ModelCalls, Waiting
from metajudge.store.protocol import RunRecord, Store

from ..authorization import owner_for
from ..deps import ServiceDep
from ..queue import JobState, JobStatus
from ..service import Service
from .access import Viewer, ViewerDep, hidden_subjects
from .entries import CHANGES, EntryLine, entry_line
from .page_route import PageRoute
from .rendering import page

router = APIRouter(include_in_schema=False, route_class=PageRoute)
DAY_S = 86_400.0
RECENT_S = 7 * DAY_S
CHANGED = 6
LOOKED_AT = 50
"""Runs and jobs that are looked at, the newest."""

PRIORITIES = {0: "to be reviewed first", 1: "to be reviewed", 2: "of the review sample"}
BROKEN_RUNS = ("failed", "interrupted", "budget")


@dataclass(frozen=True, slots=True)
class Cost:
    """Requests to models: of today (UTC) and of the last seven days, by model."""

    today_usd: float
    week: tuple[ModelCalls, ...]

    @property
    def week_usd(self) -> float:
        return sum(one.cost_usd for one in self.week)

    @property
    def unpriced(self) -> int:
        return sum(one.unpriced for one in self.week)


@dataclass(frozen=True, slots=True)
class Glance:
    """What the store says.

    Attributes:
        hides: whether the person decides something blind, so that priorities are not shown.
        about: first words of the review that waits longest.
        questions: first words of the runs' first questions, by run.
        undelivered: receivers of events that were not delivered after several tries.
    """

    waiting: Waiting
    hides: bool
    about: str | None
    changed: tuple[EntryLine, ...]
    runs: tuple[RunRecord, ...]
    questions: dict[str, str]
    failing: tuple[ModelCalls, ...]
    undelivered: tuple[ReceiverState, ...]
    cost: Cost


@router.get("/")
async def start(request: Request, viewer: ViewerDep, running: ServiceDep) -> Response:
    store = running.engine.store
    sees = viewer.may("read", "review", "admin")
    now = time.time()
    return page(
        request,
        "start.html",
        viewer,
        glance=await _glance(store, viewer, now) if store is not None and sees else None,
        has_store=store is not None,
        jobs=await _failed_jobs(running, viewer, now) if viewer.may("vet", "read", "admin") else [],
        priorities=PRIORITIES,
        may_review=viewer.may("review"),
        days=int(RECENT_S / DAY_S),
    )


async def _glance(store: Store, viewer: Viewer, now: float) -> Glance:
    waiting = await store.ask(lambda connection: overview.waiting(connection, viewer.reviewer, now))
    oldest = waiting.oldest
    about = None
    if oldest is not None:
        about = await store.ask(lambda connection: searching.about_review(connection, oldest))
    changed = await store.ask(lambda connection: overview.entries(connection, kinds=CHANGES, limit=CHANGED))
    midnight = now - now % DAY_S
    today = await store.ask(lambda connection: overview.model_calls(connection, midnight))
    week = await store.ask(lambda connection: overview.model_calls(connection, now - RECENT_S))
    last_day = await store.ask(lambda connection: overview.model_calls(connection, now - DAY_S))
    runs = await _broken_runs(store, now)
    names = [run.run_id for run in runs]
    return Glance(
        waiting,
        bool(await hidden_subjects(store, viewer)),
        about,
        tuple(map(entry_line, changed)),
        runs,
        await store.ask(lambda connection: overview.first_questions(connection, names)) if names else {},
        tuple(one for one in last_day if one.failed),
        tuple(one for one in await store.outcomes.receivers() if one.waiting or one.given_up),
        Cost(sum(one.cost_usd for one in today), tuple(week)),
    )


async def _broken_runs(store: Store, now: float) -> tuple[RunRecord, ...]:
    """Runs of the last days that did not come to their end."""
    found = await store.runs(LOOKED_AT)
    return tuple(run for run in found if run.status in BROKEN_RUNS and run.started_at > now - RECENT_S)


async def _failed_jobs(running: Service, viewer: Viewer, now: float) -> list[JobStatus]:
    """The person's jobs of the last days that failed."""
    found = await running.jobs.page(None, LOOKED_AT, owner_for(viewer.caller))
    return [job for job in found if job.state is JobState.FAILED and job.created_at > now - RECENT_S]
