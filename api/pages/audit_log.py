"""``/audit-log``: every record of the audit log, by kind, subject and person."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from metajudge.reviews.seen import KIND as SEEN
from metajudge.store import overview

from ..deps import StoreDep
from .access import ViewerDep
from .entries import KINDS, entry_line
from .page_route import Filters, PageRoute
from .rendering import page

router = APIRouter(prefix="/audit-log", include_in_schema=False, route_class=PageRoute)
ROWS = 50
WATCH = "watch"
"""Kind of entries that version 0.2 kept of the systems it watched."""


class Wish(Filters):
    """The filters of the audit log."""

    PATH = "/audit-log"

    kind: str = Field(default="", max_length=100)
    subject: str = Field(default="", max_length=300)
    person: str = Field(default="", max_length=200)
    before: int | None = Field(default=None, ge=1, le=2**62)


@router.get("")
async def audit_log(request: Request, viewer: ViewerDep, store: StoreDep, wish: Annotated[Wish, Query()]) -> Response:
    """Records of what a person was shown, or of what version 0.2 watched, are listed if their kind is chosen."""
    found = await store.ask(
        lambda connection: overview.entries(
            connection,
            kinds=[wish.kind] if wish.kind else None,
            without=() if wish.kind else (SEEN, WATCH),
            subject=wish.subject.strip() or None,
            person=wish.person.strip() or None,
            before=wish.before,
            limit=ROWS + 1,
        )
    )
    kinds = await store.ask(overview.entry_kinds)
    return page(
        request,
        "audit_log.html",
        viewer,
        part="list",
        wish=wish,
        lines=[entry_line(one) for one in found[:ROWS]],
        older=wish.address(before=found[ROWS - 1].entry_id) if len(found) > ROWS else None,
        kinds={name: f"{KINDS.get(name, name)} ({count})" for name, count in kinds.items()},
        is_filtered=bool(wish.kind or wish.subject or wish.person),
    )
