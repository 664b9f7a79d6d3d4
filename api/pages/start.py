"""``/``: what waits, what changed, what is broken, what it cost."""

import time
from typing import Any

from fastapi import APIRouter, Response

from metajudge.store import overview, searching
from metajudge.store.overview import ModelCalls

from ..authorization import owner_for
from ..tasks import JobState
from .audit_log import CHANGES, entry_line
from .page_route import PageRoute, Visit, VisitDep

router = APIRouter(include_in_schema=False, route_class=PageRoute)
DAY_S = 86_400.0
RECENT_S = 7 * DAY_S
CHANGED = 6
LOOKED_AT = 50
"""Runs and jobs that are looked at, the newest."""

PRIORITIES = {0: "to be reviewed first", 1: "to be reviewed", 2: "of the review sample"}
BROKEN_RUNS = ("failed", "interrupted", "budget")


@router.get("/")
async def start(visit: VisitDep) -> Response:
    """Beside what the store says, the person's jobs of the last days that failed."""
    may, now, jobs = visit.viewer.may, time.time(), visit.running.jobs
    has_store = visit.running.engine.store is not None
    found = await jobs.page(None, LOOKED_AT, owner_for(visit.caller)) if may("vet", "read", "admin") else []
    failed = [job for job in found if job.state is JobState.FAILED and job.created_at > now - RECENT_S]
    return visit.page(
        "start.html",
        glance=await _glance(visit, now) if has_store and may("read", "review", "admin") else None,
        has_store=has_store,
        jobs=failed,
        priorities=PRIORITIES,
        may_review=may("review"),
        days=int(RECENT_S / DAY_S),
    )


async def _glance(visit: Visit, now: float) -> dict[str, Any]:
    """What the store says.

    Priorities are not shown to a person who decides something blind. Of requests to models: what failed in a day, and
    the cost of today (UTC) and of the last seven days.
    """

    async def calls(since: float) -> list[ModelCalls]:
        return await visit.ask(overview.model_calls, since)

    waiting = await visit.ask(overview.waiting, visit.viewer.reviewer, now)
    runs = [
        run
        for run in await visit.store.runs(LOOKED_AT)
        if run.status in BROKEN_RUNS and run.started_at > now - RECENT_S
    ]
    names = [run.run_id for run in runs]
    changed = await visit.ask(overview.entries, kinds=CHANGES, limit=CHANGED)
    week = await calls(now - RECENT_S)
    return {
        "waiting": waiting,
        "hides": bool(await visit.hidden()),
        "about": None if waiting.oldest is None else await visit.ask(searching.about_review, waiting.oldest),
        "changed": [entry_line(one) for one in changed],
        "runs": runs,
        "questions": await visit.ask(overview.first_questions, names) if names else {},
        "failing": [one for one in await calls(now - DAY_S) if one.failed],
        "undelivered": [one for one in await visit.store.outcomes.receivers() if one.waiting or one.given_up],
        "cost": {
            "today_usd": sum(one.cost_usd for one in await calls(now - now % DAY_S)),
            "week_usd": sum(one.cost_usd for one in week),
            "week": week,
        },
    }
