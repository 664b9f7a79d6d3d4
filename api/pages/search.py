"""``/search``: one field over judgments, items, clashes, cases, runs and jobs."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from metajudge.store import browsing, overview, searching
from metajudge.store.browsing import AssessmentFilter, AssessmentLines

from ..authorization import ROUTES, owner_for
from ..deps import ServiceDep, StoreDep
from ..queue import JobStatus
from ..service import Service
from .access import Viewer, ViewerDep, hidden_subjects, show_machine
from .assessments import OUTCOME_TONES, OUTCOMES
from .clash import that_may_be_seen
from .jobs import STATE_TONES
from .page_route import PageRoute
from .rendering import page

router = APIRouter(prefix="/search", include_in_schema=False, route_class=PageRoute)
ROWS = 20


@router.get("")
async def search(
    request: Request,
    viewer: ViewerDep,
    running: ServiceDep,
    store: StoreDep,
    q: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The newest results of each kind; a text of a judgment that the person decides blind is found in its review.

    Of a text that is an id, what has this id is found, without a search in texts.
    """
    text = q.strip()
    if not text:
        return _page(request, viewer, text, hides=viewer.session.blind)
    hidden = await hidden_subjects(store, viewer)
    without = tuple(sorted(hidden))
    runs = await store.ask(lambda connection: searching.search_runs(connection, text, limit=ROWS))
    cases = await store.ask(lambda connection: searching.search_cases(connection, text, without=hidden, limit=ROWS))
    wanted = AssessmentFilter(name=text, without=without)
    found = await store.ask(lambda connection: browsing.page_of_assessments(connection, wanted, limit=ROWS))
    reviews = await store.ask(lambda connection: searching.reviews_named(connection, text, hidden=hidden))
    is_id = bool(found.lines or reviews.hits or text in {one.case_id for one in cases} | {one.run_id for one in runs})
    if not is_id:
        other = AssessmentFilter(text=text, without=without)
        found = await store.ask(lambda connection: browsing.page_of_assessments(connection, other, limit=ROWS))
        reviews = await store.ask(
            lambda connection: searching.search_reviews(connection, text, hidden=hidden, limit=ROWS)
        )
    waiting = (await viewer.sight.undecided(store)).subjects
    await show_machine(store, viewer, waiting & {line.judgment_id for line in found.lines})
    known = {hit.subject_id for hit in reviews.hits}
    others = [one for one in cases if one.case_id not in known]
    alone = await store.ask(lambda connection: overview.decided_clashes(connection, text=text, limit=ROWS))
    clashes, _ = await that_may_be_seen(store, viewer, alone)
    jobs = await _jobs(running, viewer, text)
    return _page(request, viewer, text, found, reviews, others, runs, clashes, jobs, hides=bool(hidden), is_id=is_id)


async def _jobs(running: Service, viewer: Viewer, text: str) -> list[JobStatus]:
    """Jobs by a part of their id, newest first: those that the viewer's key may see."""
    if not ROUTES["GET /jobs"].permits(viewer.caller):
        return []
    return await running.jobs.find(text, ROWS, owner_for(viewer.caller))


def _page(
    request: Request,
    viewer: Viewer,
    text: str,
    found: AssessmentLines | None = None,
    reviews: searching.ReviewHits | None = None,
    cases: list[searching.CaseHit] | None = None,
    runs: list[searching.RunHit] | None = None,
    clashes: list[overview.DecidedClash] | None = None,
    jobs: list[JobStatus] | None = None,
    *,
    hides: bool,
    is_id: bool = False,
) -> Response:
    found = found or AssessmentLines((), None, None)
    reviews = reviews or searching.ReviewHits((), 0, 0)
    return page(
        request,
        "search.html",
        viewer,
        part="results",
        q=text,
        hides=hides,
        is_id=is_id,
        judgments=replace(found, newer=None),
        reviews=reviews,
        cases=cases or [],
        runs=runs or [],
        clashes=clashes or [],
        jobs=jobs or [],
        state_tones=STATE_TONES,
        outcomes=OUTCOMES,
        outcome_tones=OUTCOME_TONES,
        may_log=viewer.may("admin"),
    )
