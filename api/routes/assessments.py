"""What is kept: the newest assessment of every judgment by every panel."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from metajudge.types import Assessment, Status

from ..deps import StoreDep, needs
from ..errors import RESPONSES
from ..keys import Scope

router = APIRouter(
    prefix="/v1/assessments", tags=["assessments"], dependencies=[Depends(needs(Scope.READ))], responses=RESPONSES
)
SCANNED = 5_000
"""Assessments looked at for one page at most, so that a rare filter cannot hold the service."""


class Filters(BaseModel):
    """Which assessments; absent ones filter nothing."""

    model_config = ConfigDict(extra="forbid")

    judge: str | None = None
    category: str | None = None
    item_id: str | None = None
    judgment_id: str | None = None
    status: Status | None = None
    accepted: bool | None = None
    decision: Annotated[str | None, Field(description="The policy's action, such as REVIEW.")] = None
    after: int = Field(default=0, ge=0, le=2**62, description="The cursor of the page before.")
    limit: int = Field(default=50, ge=1, le=500)

    def let(self, one: Assessment) -> bool:
        """Whether an assessment passes."""
        action = None if one.decision is None else one.decision.action.value
        pairs = (
            (self.judge, one.judge),
            (self.category, one.category),
            (self.item_id, one.item_id),
            (self.judgment_id, one.judgment_id),
            (self.status, one.status),
            (self.accepted, one.accepted),
            (self.decision, action),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)


class AssessmentPage(BaseModel):
    """A page, oldest first."""

    assessments: list[Assessment]
    next_cursor: int | None = Field(
        default=None, description="`after` of the next page, which may be empty; null at the end."
    )


@router.get("", summary="Assessments by filters")
async def assessments(store: StoreDep, wanted: Annotated[Filters, Query()]) -> AssessmentPage:
    """The newest one of every judgment by every panel, oldest first."""
    found: list[Assessment] = []
    after, looked = wanted.after, 0
    while looked < SCANNED:
        size = min(1000, max(100, wanted.limit))
        page = await store.newest_assessments(after, size)
        for number, one in page:
            after, looked = number, looked + 1
            if wanted.let(one):
                found.append(one)
                if len(found) == wanted.limit:
                    return AssessmentPage(assessments=found, next_cursor=after)
        if len(page) < size:
            return AssessmentPage(assessments=found)
    return AssessmentPage(assessments=found, next_cursor=after)


@router.get("/{name:path}", summary="Everything about a judgment, an item or a run", response_model=dict[str, Any])
async def provenance(store: StoreDep, name: str) -> Response:
    """Records, every assessment, every call with its cost, reviews, policies: by judgment, item or run id."""
    found = await store.show(name)
    if found is None:
        raise HTTPException(404, f"nothing is kept under {name!r}")
    return Response(orjson.dumps(found), media_type="application/json")
