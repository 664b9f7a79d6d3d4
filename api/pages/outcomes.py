"""``/outcomes``: what became of judgments, clashes and cases in the end, by machines and by people."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from metajudge.outcomes.model import By, FinalOutcome, Kind, OutcomeCount, OutcomeFilter, OutcomeName
from metajudge.store.outcomes import AT_ONCE

from ..deps import StoreDep
from .access import ViewerDep, hidden_subjects, show_machine
from .page_route import Filters, PageRoute
from .rendering import page

router = APIRouter(prefix="/outcomes", include_in_schema=False, route_class=PageRoute)
ROWS = 25
TONES = {
    OutcomeName.APPROVED: "good",
    OutcomeName.APPROVED_WITH_CHANGES: "good",
    OutcomeName.REJECTED: "bad",
    OutcomeName.ESCALATED: "warn",
}


class Wish(Filters):
    """The filters of the list."""

    PATH = "/outcomes"

    kind: Kind | None = None
    outcome: OutcomeName | None = None
    by: By | None = None
    policy: Annotated[str, Field(max_length=200)] = ""
    since: date | None = None
    history: Literal["", "1"] = ""

    @property
    def filter(self) -> OutcomeFilter:
        """The filter for the store; days are UTC."""
        since = None if self.since is None else datetime(self.since.year, self.since.month, self.since.day, tzinfo=UTC)
        return OutcomeFilter(
            kind=self.kind,
            outcome=self.outcome,
            by=self.by,
            policy=self.policy.strip() or None,
            since=None if since is None else since.timestamp(),
            current=not self.history,
        )


@router.get("")
async def outcomes(
    request: Request,
    viewer: ViewerDep,
    store: StoreDep,
    wish: Annotated[Wish, Query()],
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> Response:
    await store.outcomes.collect_all(AT_ONCE)
    found = await store.outcomes.page(wish.filter, before=before, limit=ROWS + 1)
    hidden = await hidden_subjects(store, viewer)
    shown = [one for one in found[:ROWS] if one.subject_id not in hidden]
    waiting = (await viewer.sight.undecided(store)).subjects
    await show_machine(store, viewer, waiting & {one.subject_id for one in shown})
    return page(
        request,
        "outcomes.html",
        viewer,
        part="list",
        wish=wish,
        found=shown,
        left_out=len(found[:ROWS]) - len(shown),
        counts=_totals(await store.outcomes.counts(wish.filter)),
        older=found[ROWS - 1].number if len(found) > ROWS else None,
        newest=before is None,
        names=list(OutcomeName),
        outcome_tones=TONES,
        who=_who,
    )


def _totals(counts: list[OutcomeCount]) -> list[tuple[OutcomeName, int, int]]:
    """Each outcome with how many machines and how many people decided."""

    def of(name: OutcomeName, by: By) -> int:
        return sum(one.count for one in counts if one.outcome is name and one.by == by)

    return [(name, of(name, "machine"), of(name, "people")) for name in OutcomeName]


def _who(one: FinalOutcome) -> str:
    """Who decided, in words."""
    names = ", ".join(person["reviewer"] for person in one.people)
    if names:
        return names
    return f"policy {one.policy}" if one.policy else "the panel"
