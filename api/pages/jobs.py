"""Jobs and runs: progress, cost and failures; a job can be cancelled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import APIRouter, HTTPException, Query, Request, Response

from metajudge.store import dashboard
from metajudge.types import Assessment

from ..audit import Action
from ..authorization import ROUTES, owner_for
from ..deps import ServiceDep, StoreDep
from ..panels import Choice
from ..queue import JobState, JobStatus, results_page
from ..service import Service
from .access import ChangesDep, Viewer, ViewerDep, show_machine
from .login import go_to
from .page_route import PageRoute
from .rendering import page

router = APIRouter(include_in_schema=False, route_class=PageRoute)
ROWS = 25
MOST_RUNS = 1_000
Name = Annotated[str | None, Query(max_length=200)]

STATE_TONES = {
    JobState.DONE: "good",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "warn",
    JobState.CANCELLING: "warn",
    JobState.RUNNING: "accent",
    JobState.QUEUED: "",
}
RUN_TONES = {"finished": "good", "running": "accent", "interrupted": "warn", "budget": "warn", "failed": "bad"}


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job; ``share`` in [0, 1]."""

    status: JobStatus
    share: float
    asked: Choice

    @property
    def percent(self) -> int:
        return int(100 * self.share)


@router.get("/jobs")
async def jobs(request: Request, viewer: ViewerDep, running: ServiceDep, before: Name = None) -> Response:
    found = await running.jobs.page(
        before, ROWS + 1, owner_for(viewer.caller)
    )  # one extra row shows whether there are more
    older = found[ROWS - 1].job_id if len(found) > ROWS else None
    found = found[:ROWS]
    choices = await running.jobs.asked([status.job_id for status in found])
    return page(
        request,
        "jobs.html",
        viewer,
        part="list",
        jobs=[_progress(status, choices) for status in found],
        older=older,
        newest=before is None,
        moving=any(not status.state.ended for status in found),
        tones=STATE_TONES,
    )


@router.get("/jobs/{job_id}")
async def job(
    request: Request,
    viewer: ViewerDep,
    running: ServiceDep,
    job_id: str,
    after: Annotated[int, Query(ge=-1, le=2**62)] = -1,
) -> Response:
    status = await running.jobs.status(job_id)
    blind = viewer.session.blind
    found = None if blind else await results_page(running.jobs, job_id, after, ROWS)
    rows = [] if found is None else found.rows
    results = [(row.item, Assessment.model_validate_json(row.payload)) for row in rows]
    await _shown(running, viewer, results)
    return page(
        request,
        "jobs_one.html",
        viewer,
        part="job",
        job=_progress(status, await running.jobs.asked([job_id])),
        results=results,
        blind=blind,
        may_cancel=ROUTES["POST /jobs/{job_id}/cancel"].permits(viewer.caller),
        after=after,
        more=found.next_cursor if found is not None and len(rows) == ROWS else None,
        tones=STATE_TONES,
    )


async def _shown(running: Service, viewer: Viewer, results: Sequence[tuple[int, Assessment]]) -> None:
    """Records which judgments that wait for this person's decision are shown here."""
    store = running.engine.store
    if store is not None and results:
        waiting = (await viewer.sight.undecided(store)).subjects
        await show_machine(store, viewer, waiting & {one.judgment_id for _, one in results})


@router.get("/jobs/{job_id}/results.jsonl")
async def results(viewer: ViewerDep, running: ServiceDep, job_id: str) -> Response:
    """All results as a file, for the session; the path under ``/v1`` needs a key."""
    from ..routes.jobs import results as all_results

    response = await all_results(running, job_id, "application/x-ndjson")
    response.headers["Content-Disposition"] = 'attachment; filename="results.jsonl"'
    return response


@router.post("/jobs/{job_id}/cancel")
async def cancel(viewer: ViewerDep, running: ServiceDep, changes: ChangesDep, job_id: str) -> Response:
    """Items in flight stop within two seconds; results so far are kept. A job that has ended is not changed."""
    status = await running.jobs.status(job_id)
    if not status.state.ended:
        status = await running.jobs.cancel(job_id)
        await changes.note(Action.JOB_CANCEL, job_id, done=status.done, items=status.items)
    return go_to(f"/jobs/{job_id}")


def _progress(status: JobStatus, asked: Mapping[str, Choice]) -> Progress:
    share = status.done / status.items if status.items else 0.0
    return Progress(status, share, asked.get(status.job_id, Choice()))


@router.get("/runs")
async def runs(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = ROWS,
) -> Response:
    found = await store.runs(limit + 1)
    shown = found[:limit]
    totals = await store.ask(lambda connection: dashboard.run_totals(connection, [run.run_id for run in shown]))
    return page(
        request,
        "jobs_runs.html",
        viewer,
        runs=[(run, totals[run.run_id]) for run in shown],
        blind=viewer.session.blind,
        more=min(MOST_RUNS, 2 * limit) if len(found) > limit and limit < MOST_RUNS else None,
        run_tones=RUN_TONES,
    )


@router.get("/runs/{run_id}")
async def run(request: Request, viewer: ViewerDep, store: StoreDep, run_id: str) -> Response:
    found = next((one for one in await store.runs(MOST_RUNS) if one.run_id == run_id), None)
    if found is None:
        raise HTTPException(404, f"there is no run {run_id!r} among the newest {MOST_RUNS} of this store")
    totals = await store.ask(lambda connection: dashboard.run_totals(connection, [run_id]))
    return page(
        request,
        "jobs_run.html",
        viewer,
        part="run",
        run=found,
        totals=totals[run_id],
        config=_indented(found.config),
        summary=None if found.summary is None or viewer.session.blind else _indented(found.summary),
        blind=viewer.session.blind,
        run_tones=RUN_TONES,
    )


def _indented(data: object) -> str:
    return orjson.dumps(data, option=orjson.OPT_INDENT_2, default=str).decode()
