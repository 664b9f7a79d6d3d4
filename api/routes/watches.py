"""The systems that this service watches."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, Field

from ..deps import ServiceDep

router = APIRouter(prefix="/v1/watches", tags=["watches"])


class WatchStatus(BaseModel):
    """Where a watch stands; counts are since its position was first kept."""

    name: str
    source: str | None = Field(description="What is watched; null before it was first asked.")
    position: str | None = Field(description="Everything before this time was dealt with.")
    vetted: int
    failed: int = Field(description="Verdicts given up after five rounds without a result.")
    rejected: int = Field(description="Records of the last round that could not be read.")
    put: int = Field(description="Notes created or changed in the system.")
    not_put: int = Field(description="Notes that were not taken; each try counts.")
    day: str = Field(description="The day (UTC) of `spent_usd`.")
    spent_usd: float
    rounds: int = Field(description="Since the start of this process.")
    round_at: float | None = Field(description="End of the last round, in seconds since the epoch.")
    waits_for: str | None = Field(description="`budget`, or `replica` where another process watches.")
    error: str | None = Field(description="What went wrong in the last round.")
    stopped: bool


class WatchList(BaseModel):
    """The watches, in the order of the service's file."""

    watches: list[WatchStatus]


@router.get("", summary="Watched systems")
async def watches(running: ServiceDep) -> WatchList:
    """Position, counts, cost of the day and the last error of each watch of this process."""
    return WatchList(watches=[WatchStatus(**asdict(state)) for state in running.watches.states])
