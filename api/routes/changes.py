"""The change log: changes over HTTP, with key and request."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from ..audit import KIND
from ..deps import StoreDep

router = APIRouter(prefix="/v1", tags=["changes"])


class ChangeRecord(BaseModel):
    """One change."""

    entry_id: int
    subject: str = Field(description="What was changed: a rubric's or policy's name, a review's or job's id.")
    recorded_at: float = Field(description="Seconds since the epoch.")
    change: dict[str, Any] = Field(description="`action`, `by` (the key's name), `request_id`, and details.")


@router.get("/changes", summary="Changes")
@router.get("/audit", summary="Changes, by their earlier path", deprecated=True)
async def changes(
    store: StoreDep,
    subject: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[ChangeRecord]:
    """The newest entries of the change log, oldest first; of one subject if given."""
    found = await store.audit_log.entries(KIND, subject, limit)
    return [
        ChangeRecord(entry_id=one.entry_id, subject=one.subject, recorded_at=one.recorded_at, change=dict(one.payload))
        for one in found
    ]
