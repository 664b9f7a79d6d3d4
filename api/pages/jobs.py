"""Jobs and runs: progress, cost and failures; a job can be cancelled."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response

from metajudge.store import dashboard, overview
from metajudge.types import Assessment

from ..authorization import owner_for
from ..deps import Action
from ..panels import Choice
from ..tasks import Asked, JobState, JobStatus
from .dashboard_view import OUTCOMES
from .login import go_to
from .page_route import PageRoute, StoredVisit, Visit, VisitDep
from .rendering import indented

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
_NOUNS = {"vet": "judgment", "clash": "clash", "case": "case"}
RUN_TONES = {"finished": "good", "running": "accent", "interrupted": "warn", "budget": "warn", "failed": "bad"}


@router.get("/jobs")
async def jobs(visit: VisitDep, before: Name = None) -> Response:
    found = await visit.running.jobs.page(before, ROWS + 1, owner_for(visit.caller))  # one more shows whether more are
    shown = found[:ROWS]
    choices = await visit.running.jobs.asked([status.job_id for status in shown])
    return visit.page(
        "jobs.html",
        part="list",
        jobs=[_progress(status, choices, await _first_question(visit, status)) for status in shown],
        older=shown[-1].job_id if len(found) > ROWS else None,
        newest=before is None,
        moving=any(not status.state.ended for status in shown),
        tones=STATE_TONES,
    )


@router.get("/jobs/{job_id}")
async def job(visit: VisitDep, job_id: str, after: Annotated[int, Query(ge=-1, le=2**62)] = -1) -> Response:
    queue = visit.running.jobs
    status = await queue.status(job_id)
    blind = visit.viewer.session.blind
    found = None if blind else await queue.results_page(job_id, after, ROWS)
    rows = [] if found is None else found.rows
    vets = status.kind == "vet"
    every = [(row.item, Assessment.model_validate_json(row.payload)) for row in rows] if vets else []
    hidden = await visit.hidden()
    results = [(item, one) for item, one in every if one.judgment_id not in hidden]
    others = [] if vets else [row for row in rows if row.judgment_id not in hidden]
    subjects = {*(one.judgment_id for _, one in results), *(row.judgment_id for row in others)}
    if visit.running.engine.store is not None and subjects:
        await visit.show_waiting(subjects)
    first, count = await _first_question(visit, status), _count(status)
    return visit.page(
        "jobs_one.html",
        part="job",
        job=_progress(status, await queue.asked([job_id]), first),
        heading=count if first is None else first if status.items == 1 else f"{count}, the first: {first}",
        questions=await _questions(visit, [one for _, one in results]),
        results=results,
        others=others,
        left_out=len(rows) - len(results) - len(others),
        blind=blind,
        may_cancel=visit.permits("POST /jobs/{job_id}/cancel"),
        after=after,
        more=found.next_cursor if found is not None and len(rows) == ROWS else None,
        tones=STATE_TONES,
    )


def _count(status: JobStatus) -> str:
    noun = _NOUNS[status.kind]
    return f"{status.items} {noun}" if status.items == 1 else f"{status.items} {noun}{'es' if noun == 'clash' else 's'}"


async def _questions(visit: Visit, results: Sequence[Assessment]) -> dict[str, str]:
    """First words of the questions, by the judgment's digest."""
    digests = [one.judgment_digest for one in results if one.judgment_digest]
    if visit.running.engine.store is None or not digests:
        return {}
    return await visit.ask(overview.questions_by_digest, digests)


async def _first_question(visit: Visit, status: JobStatus) -> str | None:
    """First words of the question of a job's first judgment; None before it is vetted, and for other records."""
    if not status.done or status.kind != "vet":
        return None
    rows = (await visit.running.jobs.results_page(status.job_id, -1, 1)).rows
    found = [Assessment.model_validate_json(row.payload) for row in rows]
    return next(iter((await _questions(visit, found)).values()), None)


@router.get("/jobs/{job_id}/results.jsonl")
async def results(visit: VisitDep, job_id: str) -> Response:
    """All results as a file, for the session; the path under ``/v1`` needs a key.

    Raises:
        HTTPException: 403, one of them is about what the person decides blind.
    """
    from ..routes.jobs import results as all_results

    if hidden := await visit.hidden():
        async for row in visit.running.jobs.all_results(job_id):
            if row.judgment_id in hidden:
                raise HTTPException(403, "some of these wait for your blind decision: decide them first")
    response = await all_results(visit.running, job_id, "application/x-ndjson")
    response.headers["Content-Disposition"] = 'attachment; filename="results.jsonl"'
    return response


@router.post("/jobs/{job_id}/cancel")
async def cancel(visit: VisitDep, job_id: str) -> Response:
    """Items in flight stop within two seconds; results so far are kept. A job that has ended is not changed."""
    status = await visit.running.jobs.status(job_id)
    if not status.state.ended:
        status = await visit.running.jobs.cancel(job_id)
        await visit.note(Action.JOB_CANCEL, job_id, done=status.done, items=status.items)
    return go_to(f"/jobs/{job_id}")


def _progress(status: JobStatus, asked: Mapping[str, Asked], first: str | None) -> dict[str, Any]:
    """A job, how far it is, and the first words of its first question, if known."""
    share = status.done / status.items if status.items else 0.0
    settings = asked.get(status.job_id, Choice())
    told = {"status": status, "asked": settings, "number": _count(status), "about": first}
    return {**told, "share": share, "percent": int(100 * share)}


@router.get("/runs")
async def runs(visit: StoredVisit, limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = ROWS) -> Response:
    found = await visit.store.runs(limit + 1)
    shown = found[:limit]
    names = [run.run_id for run in shown]
    totals = await visit.ask(dashboard.run_totals, names)
    return visit.page(
        "jobs_runs.html",
        questions=await visit.ask(overview.first_questions, names),
        judges=await _judges(visit, names),
        outcomes=OUTCOMES,
        runs=[(run, totals[run.run_id]) for run in shown],
        blind=visit.viewer.session.blind,
        more=min(MOST_RUNS, 2 * limit) if len(found) > limit and limit < MOST_RUNS else None,
        run_tones=RUN_TONES,
    )


@router.get("/runs/{run_id}")
async def run(visit: StoredVisit, run_id: str) -> Response:
    found = next((one for one in await visit.store.runs(MOST_RUNS) if one.run_id == run_id), None)
    if found is None:
        raise HTTPException(404, f"there is no run {run_id!r} among the newest {MOST_RUNS} of this store")
    blind = visit.viewer.session.blind
    return visit.page(
        "jobs_run.html",
        part="run",
        run=found,
        question=(await visit.ask(overview.first_questions, [run_id])).get(run_id),
        judges=(await _judges(visit, [run_id])).get(run_id),
        outcomes=OUTCOMES,
        totals=(await visit.ask(dashboard.run_totals, [run_id]))[run_id],
        config=indented(found.config),
        summary=None if found.summary is None or blind else indented(found.summary),
        blind=blind,
        run_tones=RUN_TONES,
    )


async def _judges(visit: StoredVisit, run_ids: list[str]) -> dict[str, list[str]]:
    """The judges of some runs; none while a review hides its judge, whose name would stand beside its question."""
    return {} if await visit.hidden() else await visit.ask(overview.run_judges, run_ids)
