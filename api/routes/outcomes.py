"""Outcomes: what became of judgments, clashes and cases in the end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from metajudge.outcomes.model import By, FinalOutcome, Kind, OutcomeCount, OutcomeFilter, OutcomeName
from metajudge.store.outcomes import AT_ONCE

from ..deps import LastEventId, StoredCall, number_of

router = APIRouter(prefix="/v1/outcomes", tags=["outcomes"])
POLL_S = 1.0
"""Seconds between two looks for new outcomes."""
STREAM_S = 300.0
"""A stream ends after this long; clients open it again with the id of the last event."""


class OutcomePage(BaseModel):
    """A page of outcomes, newest first."""

    outcomes: list[dict[str, Any]] = Field(description="The `data` of each event, with `number` and `current`.")
    counts: list[OutcomeCount] | None = Field(default=None, description="Of all that fit; with `counts=true`.")
    next_cursor: int | None = Field(default=None, description="`before` of the next page; null at the end.")


async def wanted(
    kind: Kind | None = None,
    outcome: OutcomeName | None = None,
    by: Annotated[By | None, Query(description="Decided by a machine or by people.")] = None,
    policy: Annotated[str | None, Query(max_length=300, description="A policy's name or digest.")] = None,
    since: Annotated[float | None, Query(description="Decided then or later; seconds since the epoch.")] = None,
) -> OutcomeFilter:
    """Filters of lists and streams."""
    return OutcomeFilter(kind=kind, outcome=outcome, by=by, policy=policy, since=since)


WantedDep = Annotated[OutcomeFilter, Depends(wanted)]


@router.get("", summary="Outcomes, newest first")
async def outcomes(
    call: StoredCall,
    only: WantedDep,
    history: Annotated[bool, Query(description="Also outcomes that later ones took the place of.")] = False,
    counts: Annotated[bool, Query(description="Also how many there are of each sort.")] = False,
    before: Annotated[int | None, Query(ge=0, le=2**62, description="`next_cursor` of the previous page.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> OutcomePage:
    """The final outcome of everything that was decided, by machines and by people."""
    stored = call.store.outcomes
    await stored.collect_all(AT_ONCE)
    chosen = only.model_copy(update={"current": not history})
    page = await stored.page(chosen, before=before, limit=limit)
    return OutcomePage(
        outcomes=[shown(one) for one in page],
        counts=await stored.counts(chosen) if counts else None,
        next_cursor=page[-1].number if len(page) == limit else None,
    )


@router.get("/events", summary="Outcomes as a stream", response_class=EventSourceResponse)
async def events(
    call: StoredCall,
    only: WantedDep,
    last_event_id: LastEventId = None,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="As `Last-Event-ID`, for a first request.")] = None,
    follow: Annotated[bool, Query(description="False: the stream ends with the newest outcome.")] = True,
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events, one for each outcome and for each that takes the place of an earlier one, oldest first.

    The event's name is the outcome, its data that of the webhook's event, its id the outcome's number. Without
    `Last-Event-ID` or `after` the stream begins with the oldest outcome. It ends after five minutes: open it again.
    """
    seen = number_of(last_event_id)
    seen = after or 0 if seen is None else seen
    every = only.model_copy(update={"current": False})
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + STREAM_S
    while not call.running.outcomes.closing and loop.time() < ends_at:
        await call.store.outcomes.collect_all(AT_ONCE)
        page = await call.store.outcomes.since(seen, every, limit=100)
        for one in page:
            seen = one.number
            yield ServerSentEvent(event=one.outcome.value, id=str(one.number), data=shown(one))
        if not page and not follow:
            return
        if not page:
            await asyncio.sleep(POLL_S)


def shown(one: FinalOutcome) -> dict[str, Any]:
    """An outcome as lists and streams show it."""
    return {**one.data, "number": one.number, "current": one.is_current}
