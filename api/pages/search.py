"""``/search``: one field over judgments, items, clashes, cases, runs and jobs."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from metajudge.store import browsing, overview, searching
from metajudge.store.browsing import AssessmentFilter, AssessmentLines

from ..authorization import owner_for
from .assessments import OUTCOME_TONES, OUTCOMES
from .clash import that_may_be_seen
from .jobs import STATE_TONES
from .page_route import PageRoute, StoredVisit

router = APIRouter(prefix="/search", include_in_schema=False, route_class=PageRoute)
ROWS = 20


@router.get("")
async def search(visit: StoredVisit, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The newest results of each kind; a text of a judgment that the person decides blind is found in its review."""
    text = q.strip()
    found: dict[str, Any] = {
        "hides": visit.viewer.session.blind,
        "is_id": False,
        "judgments": AssessmentLines((), None, None),
        "reviews": searching.ReviewHits((), 0, 0),
        **dict.fromkeys(("cases", "runs", "clashes", "jobs"), ()),
    }
    return visit.page(
        "search.html",
        part="results",
        q=text,
        **(found | (await _found(visit, text) if text else {})),
        state_tones=STATE_TONES,
        outcomes=OUTCOMES,
        outcome_tones=OUTCOME_TONES,
        may_log=visit.viewer.may("admin"),
    )


async def _found(visit: StoredVisit, text: str) -> dict[str, Any]:
    """Of a text that is an id, what has this id is found, without a search in texts."""
    hidden = await visit.hidden()
    without = tuple(sorted(hidden))
    runs = await visit.ask(searching.search_runs, text, limit=ROWS)
    cases = await visit.ask(searching.search_cases, text, without=hidden, limit=ROWS)
    lines = await visit.ask(browsing.page_of_assessments, AssessmentFilter(name=text, without=without), limit=ROWS)
    reviews = await visit.ask(searching.reviews_named, text, hidden=hidden)
    is_id = bool(lines.lines or reviews.hits or text in {one.case_id for one in cases} | {one.run_id for one in runs})
    if not is_id:
        wanted = AssessmentFilter(text=text, without=without)
        lines = await visit.ask(browsing.page_of_assessments, wanted, limit=ROWS)
        reviews = await visit.ask(searching.search_reviews, text, hidden=hidden, limit=ROWS)
    await visit.show_waiting({line.judgment_id for line in lines.lines})
    known = {hit.subject_id for hit in reviews.hits}
    alone = await visit.ask(overview.decided_clashes, text=text, limit=ROWS)
    own = await visit.running.jobs.page(None, ROWS, owner_for(visit.caller), text) if visit.permits("GET /jobs") else []
    return {
        "hides": bool(hidden),
        "is_id": is_id,
        "judgments": replace(lines, newer=None),
        "reviews": reviews,
        "cases": [one for one in cases if one.case_id not in known],
        "runs": runs,
        "clashes": (await that_may_be_seen(visit, alone))[0],
        "jobs": own,
    }
