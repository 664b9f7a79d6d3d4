"""Promised precisions, tested on later decisions by people."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from metajudge.monitor.records import reports

from ..deps import ServiceDep, StoreDep
from ..encoding import plain_json

router = APIRouter(prefix="/v1/monitor", tags=["monitor"])


class Promises(BaseModel):
    """Reports as of ``metajudge monitor --json``: state, audits, e-value, precision, delays, drift, advice."""

    promises: list[dict[str, Any]]


@router.get("", summary="Promises tested on people's decisions", response_model=Promises)
async def monitor(
    running: ServiceDep,
    store: StoreDep,
    fdr: Annotated[float, Query(ge=1e-6, le=0.5, description="False discovery rate of the drift findings.")] = 0.05,
    confidence: Annotated[float, Query(ge=0.5, le=0.9999, description="Of the intervals.")] = 0.95,
    most: Annotated[int | None, Query(ge=1, le=10_000, description="Most judgments a question may keep.")] = None,
) -> Response:
    """Broken promises first. The service checks them after every decision, and then records and sends alarms."""
    found = await running.computing.ask(
        lambda: reports(store, now=time.time(), level=fdr, confidence=confidence, most=most)
    )
    return plain_json({"promises": [one.to_json() for one in found]})
