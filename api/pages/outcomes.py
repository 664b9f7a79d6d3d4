"""``/outcomes``: what became of judgments, clashes and cases in the end, by machines and by people."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from metajudge.outcomes.model import By, FinalOutcome, Kind, OutcomeCount, OutcomeFilter, OutcomeName
from metajudge.store.outcomes import AT_ONCE

from .page_route import Filters, PageRoute, StoredVisit, midnight

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
        return OutcomeFilter(
            kind=self.kind,
            outcome=self.outcome,
            by=self.by,
            policy=self.policy.strip() or None,
            since=midnight(self.since),
            current=not self.history,
        )


@router.get("")
async def outcomes(
    visit: StoredVisit, wish: Annotated[Wish, Query()], before: Annotated[int | None, Query(ge=0, le=2**62)] = None
) -> Response:
    stored = visit.store.outcomes
    await stored.collect_all(AT_ONCE)
    found = await stored.page(wish.filter, before=before, limit=ROWS + 1)
    hidden = await visit.hidden()
    shown = [one for one in found[:ROWS] if one.subject_id not in hidden]
    await visit.show_waiting({one.subject_id for one in shown})
    return visit.page(
        "outcomes.html",
        part="list",
        wish=wish,
        found=shown,
        left_out=len(found[:ROWS]) - len(shown),
        counts=_totals(await stored.counts(wish.filter)),
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
    machine = f"policy {one.policy}" if one.policy else "the panel"
    return ", ".join(person["reviewer"] for person in one.people) or machine
