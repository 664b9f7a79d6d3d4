"""``/audit-log``: every record of the audit log, by kind, subject and person."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from metajudge.reviews.seen import KIND as SEEN
from metajudge.store import overview

from ..deps import StoreDep
from .access import ViewerDep
from .entries import KINDS, entry_line
from .page_route import PageRoute
from .rendering import page

router = APIRouter(prefix="/audit-log", include_in_schema=False, route_class=PageRoute)
ROWS = 50
WATCH = "watch"
"""Kind of entries that version 0.2 kept of the systems it watched."""


class Wish(BaseModel):
    """The filters of the audit log."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str = Field(default="", max_length=100)
    subject: str = Field(default="", max_length=300)
    person: str = Field(default="", max_length=200)
    before: int | None = Field(default=None, ge=1, le=2**62)

    @model_validator(mode="before")
    @classmethod
    def _left_empty(cls, given: Any) -> Any:
        """Drops empty fields, which browsers send as well."""
        return {name: value for name, value in given.items() if value != ""} if isinstance(given, dict) else given

    def address(self, **more: int) -> str:
        """The address of the list with these filters."""
        given = {**self.model_dump(exclude_defaults=True, exclude={"before"}), **more}
        return "/audit-log?" + urlencode(given) if given else "/audit-log"


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
