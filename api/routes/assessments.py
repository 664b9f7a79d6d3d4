"""Stored assessments: the current one of every judgment by every panel."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, Field

from metajudge.store.browsing import AssessmentFilter, newest_fitting
from metajudge.store.redaction import without_labels
from metajudge.types import Assessment, Status

from ..deps import StoredCall
from ..schemas import Strict

router = APIRouter(prefix="/v1/assessments", tags=["assessments"])


class Filters(Strict):
    """Filters of assessments; missing ones select all."""

    judge: str | None = None
    category: str | None = None
    item_id: str | None = None
    judgment_id: str | None = None
    status: Status | None = None
    accepted: bool | None = None
    decision: Annotated[str | None, Field(description="The policy's action, such as REVIEW.")] = None
    after: int = Field(default=0, ge=0, le=2**62, description="`next_cursor` of the previous page.")
    limit: int = Field(default=50, ge=1, le=500)

    @property
    def filter(self) -> AssessmentFilter:
        """The filter for the store, but for the category."""
        given = self.model_dump(exclude={"after", "limit", "category", "item_id", "judgment_id"})
        return AssessmentFilter(item=self.item_id, judgment=self.judgment_id, **given)


class AssessmentPage(BaseModel):
    """A page, oldest first; shorter than `limit` only at the end."""

    assessments: list[Assessment]
    next_cursor: int | None = Field(default=None, description="`after` of the next page; null at the end.")


@router.get("", summary="Assessments by filters")
async def assessments(call: StoredCall, wanted: Annotated[Filters, Query()]) -> AssessmentPage:
    """The current one of every judgment by every panel, oldest first."""
    page = await call.ask(newest_fitting, wanted.filter, wanted.after, wanted.limit, wanted.category)
    return AssessmentPage(assessments=[one for _, one in page.found], next_cursor=page.next_cursor)


@router.get("/{name:path}", summary="Everything about a judgment, an item or a run", response_model=dict[str, Any])
async def provenance(call: StoredCall, name: str) -> Response:
    """Records, assessments, every call with its cost, reviews, policies: by judgment, item or run id.

    `assessments` has the current version of each judgment and panel, `history` the other versions of it. Labels are
    withheld from keys with `review` and without `read`, and from all reviewers while the item waits for their decision:
    `labels_withheld` then lists the items.
    """
    found = await call.store.show(name)
    if found is None:
        raise HTTPException(404, f"nothing is stored under {name!r}: give the id of a judgment, an item or a run")
    found = without_labels(found, await call.sight.withheld(call.store))
    return Response(orjson.dumps(found), media_type="application/json")
