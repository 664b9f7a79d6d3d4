"""Jobs and runs: progress, cost and failures; a job can be cancelled."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from metajudge.store import dashboard, overview
from metajudge.store.protocol import Store
from metajudge.types import Assessment

from ..audit import Action
from ..authorization import ROUTES, owner_for
from ..deps import ServiceDep, StoreDep
from ..panels import Choice
from ..queue import JobState, JobStatus, results_page
from ..service import Service
from ..tasks import Asked
from .access import ChangesDep, Viewer, ViewerDep, hidden_subjects, show_machine
from .dashboard_view import OUTCOMES
from .login import go_to
from .page_route import PageRoute
from .rendering import indented, page

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
CHECKED = 1000
"""Results that are read at a time to see whether one is hidden."""
_NOUNS = {"vet": "judgment", "clash": "clash", "case": "case"}
RUN_TONES = {"finished": "good", "running": "accent", "interrupted": "warn", "budget": "warn", "failed": "bad"}


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job; ``share`` in [0, 1]; ``about``: the first words of its first question, if known."""

    status: JobStatus
    share: float
    asked: Asked
    about: str | None = None

    @property
    def percent(self) -> int:
        return int(100 * self.share)

    @property
    def count(self) -> str:
        """How many records of what kind it has."""
        return _count(self.status)


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
        jobs=[replace(_progress(status, choices), about=await _first_question(running, status)) for status in found],
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
    vets = status.kind == "vet"
    every = [(row.item, Assessment.model_validate_json(row.payload)) for row in rows] if vets else []
    hidden = await _hidden(running, viewer)
    results = [(item, one) for item, one in every if one.judgment_id not in hidden]
    others = [] if vets else [row for row in rows if row.judgment_id not in hidden]
    await _shown(running, viewer, {*(one.judgment_id for _, one in results), *(row.judgment_id for row in others)})
    made = _progress(status, await running.jobs.asked([job_id]))
    first = await _first_question(running, status)
    return page(
        request,
        "jobs_one.html",
        viewer,
        part="job",
        job=made,
        heading=_heading(status, first),
        questions=await _questions(running, [one for _, one in results]),
        results=results,
        others=others,
        left_out=len(rows) - len(results) - len(others),
        blind=blind,
        may_cancel=ROUTES["POST /jobs/{job_id}/cancel"].permits(viewer.caller),
        after=after,
        more=found.next_cursor if found is not None and len(rows) == ROWS else None,
        tones=STATE_TONES,
    )


def _count(status: JobStatus) -> str:
    noun = _NOUNS[status.kind]
    return f"{status.items} {noun}" if status.items == 1 else f"{status.items} {noun}{'es' if noun == 'clash' else 's'}"


def _heading(status: JobStatus, first: str | None) -> str:
    """What a job is about: its first question, or how many records it has."""
    count = _count(status)
    return count if first is None else first if status.items == 1 else f"{count}, the first: {first}"


async def _questions(running: Service, results: Sequence[Assessment]) -> dict[str, str]:
    """First words of the questions, by the judgment's digest."""
    digests = [one.judgment_digest for one in results if one.judgment_digest]
    if running.engine.store is None or not digests:
        return {}
    return await running.engine.store.ask(lambda connection: overview.questions_by_digest(connection, digests))


async def _first_question(running: Service, status: JobStatus) -> str | None:
    """First words of the question of a job's first judgment; None before it is vetted, and for other records."""
    if not status.done or status.kind != "vet":
        return None
    rows = (await results_page(running.jobs, status.job_id, -1, 1)).rows
    found = [Assessment.model_validate_json(row.payload) for row in rows]
    return next(iter((await _questions(running, found)).values()), None)


async def _hidden(running: Service, viewer: Viewer) -> frozenset[str]:
    store = running.engine.store
    return frozenset() if store is None else await hidden_subjects(store, viewer)


async def _has_hidden(running: Service, viewer: Viewer, job_id: str) -> bool:
    hidden, after = await _hidden(running, viewer), -1
    while hidden:
        found = await results_page(running.jobs, job_id, after, CHECKED)
        if any(row.judgment_id in hidden for row in found.rows):
            return True
        if found.next_cursor is None or len(found.rows) < CHECKED:
            return False
        after = found.next_cursor
    return False


async def _shown(running: Service, viewer: Viewer, subjects: Set[str]) -> None:
    """Records which subjects that wait for this person's decision are shown here."""
    store = running.engine.store
    if store is not None and subjects:
        waiting = (await viewer.sight.undecided(store)).subjects
        await show_machine(store, viewer, waiting & subjects)


@router.get("/jobs/{job_id}/results.jsonl")
async def results(viewer: ViewerDep, running: ServiceDep, job_id: str) -> Response:
    """All results as a file, for the session; the path under ``/v1`` needs a key.

    Raises:
        HTTPException: 403, one of them is about what the person decides blind.
    """
    from ..routes.jobs import results as all_results

    if await _has_hidden(running, viewer, job_id):
        raise HTTPException(403, "some of these wait for your blind decision: decide them first")
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


def _progress(status: JobStatus, asked: Mapping[str, Asked]) -> Progress:
    share = status.done / status.items if status.items else 0.0
    return Progress(status, share, asked.get(status.job_id, Choice()))


@router.get("/runs")
async def runs(
    request: Request, viewer: ViewerDep, store: StoreDep, limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = ROWS
) -> Response:
    found = await store.runs(limit + 1)
    shown = found[:limit]
    names = [run.run_id for run in shown]
    totals = await store.ask(lambda connection: dashboard.run_totals(connection, names))
    return page(
        request,
        "jobs_runs.html",
        viewer,
        questions=await store.ask(lambda connection: overview.first_questions(connection, names)),
        judges=await _judges(store, viewer, names),
        outcomes=OUTCOMES,
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
        question=(await store.ask(lambda connection: overview.first_questions(connection, [run_id]))).get(run_id),
        judges=(await _judges(store, viewer, [run_id])).get(run_id),
        outcomes=OUTCOMES,
        totals=totals[run_id],
        config=indented(found.config),
        summary=None if found.summary is None or viewer.session.blind else indented(found.summary),
        blind=viewer.session.blind,
        run_tones=RUN_TONES,
    )


async def _judges(store: Store, viewer: Viewer, run_ids: list[str]) -> dict[str, list[str]]:
    """The judges of some runs; none while a review hides its judge, whose name would stand beside its question."""
    if await hidden_subjects(store, viewer):
        return {}
    return await store.ask(lambda connection: overview.run_judges(connection, run_ids))
