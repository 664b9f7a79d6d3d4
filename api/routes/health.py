"""The service itself: liveness, readiness, version, metrics, promises, the change log and the OpenAPI document."""

import asyncio
import contextlib
import time
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel, Field

from metajudge import __version__
from metajudge.errors import MetajudgeError
from metajudge.monitor.records import reports

from ..declaring import declare
from ..deps import CHANGE, Service, ServiceDep, StoredCall
from ..errors import RESPONSES
from ..schemas import Health, Readiness, Version, plain_json

router = APIRouter(tags=["service"], responses={status: RESPONSES[status] for status in (400, 405, 408, 413, 500)})
monitor_router = APIRouter(prefix="/v1/monitor", tags=["monitor"])
changes_router = APIRouter(prefix="/v1", tags=["changes"])
document_router = APIRouter(include_in_schema=False)
UNTOLD = "not ok: send a key to see why"


@router.get("/healthz", summary="Liveness")
async def healthz() -> Health:
    return Health()


@router.get("/readyz", summary="Readiness", responses={503: {"model": Readiness}})
async def readyz(request: Request, running: ServiceDep, response: Response) -> Readiness:
    """Whether the store answers and the providers' clients can be opened; 503 if not. No model is asked.

    The reasons are given to callers with a key, or where the service has none.
    """
    checks = {"store": "ok", "providers": "ok"}
    if running.engine.store is not None:
        try:
            async with asyncio.timeout(5):
                await running.engine.store.runs(1)
        except (MetajudgeError, TimeoutError) as error:
            checks["store"] = str(error) or "the store does not answer within 5 s"
    try:
        running.engine.connect()
    except MetajudgeError as error:
        checks["providers"] = str(error)
    ready = all(result == "ok" for result in checks.values())
    response.status_code = 200 if ready else 503
    if request.scope["state"].get("who") is None:
        checks = {name: result if result == "ok" else UNTOLD for name, result in checks.items()}
    return Readiness(ready=ready, checks=checks)


@router.get(
    "/metrics",
    summary="Counts for Prometheus",
    response_class=PlainTextResponse,
    responses={status: RESPONSES[status] for status in (401, 403, 429)},
)
async def metrics(running: ServiceDep) -> PlainTextResponse:
    """Requests, latency, model calls, tokens, cost, failures by kind, queue depth, decisions, since the start."""
    return PlainTextResponse(await metrics_text(running), media_type=CONTENT_TYPE_PLAIN_0_0_4)


async def metrics_text(running: Service) -> bytes:
    """The metrics of this process in Prometheus' text format."""
    admission, jobs = running.admission, running.jobs
    gauges: dict[str, tuple[str, float]] = {
        "metajudge_in_flight": ("Requests in flight that ask models.", admission.in_flight),
        "metajudge_in_flight_limit": ("Limit of requests in flight that ask models.", admission.most),
        "metajudge_jobs_running": ("Jobs in progress.", jobs.running),
        "metajudge_queue_depth": ("Jobs that wait to be started.", await jobs.waiting()),
    }
    if running.budget is not None:
        gauges["metajudge_budget_usd"] = ("Dollars that may be spent a day (UTC).", running.budget.limit)
        with contextlib.suppress(MetajudgeError, TimeoutError):  # the limit alone where the database does not answer
            async with asyncio.timeout(5):
                state = await running.budget.state()
            gauges["metajudge_budget_spent_usd"] = ("Dollars spent since 00:00 UTC, by all replicas.", state.spent)
            held = "Dollars set aside for calls in flight, by all replicas."
            gauges["metajudge_budget_held_usd"] = (held, state.held)
    return running.metrics.text(running.engine.meter, gauges, running.promises.last)


@router.get("/version", summary="Version")
async def version() -> Version:
    return Version(version=__version__)


class Promises(BaseModel):
    """Reports as of ``metajudge monitor --json``: state, audits, e-value, precision, delays, drift, advice."""

    promises: list[dict[str, Any]]


@monitor_router.get("", summary="Promises tested on people's decisions", response_model=Promises)
async def monitor(
    call: StoredCall,
    fdr: Annotated[float, Query(ge=1e-6, le=0.5, description="False discovery rate of the drift findings.")] = 0.05,
    confidence: Annotated[float, Query(ge=0.5, le=0.9999, description="Of the intervals.")] = 0.95,
    most: Annotated[int | None, Query(ge=1, le=10_000, description="Most judgments a question may keep.")] = None,
) -> Response:
    """Broken promises first. The service checks them after every decision, and then records and sends alarms."""
    found = await call.running.computing.ask(
        lambda: reports(call.store, now=time.time(), level=fdr, confidence=confidence, most=most)
    )
    return plain_json({"promises": [one.to_json() for one in found]})


class ChangeRecord(BaseModel):
    """One change."""

    entry_id: int
    subject: str = Field(description="What was changed: a rubric's or policy's name, a review's or job's id.")
    recorded_at: float = Field(description="Seconds since the epoch.")
    change: dict[str, Any] = Field(description="`action`, `by` (the key's name), `request_id`, and details.")


@changes_router.get("/changes", summary="Changes")
@changes_router.get("/audit", summary="Changes, by their earlier path", deprecated=True)
async def changes(
    call: StoredCall,
    subject: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[ChangeRecord]:
    """The newest entries of the change log, oldest first; of one subject if given."""
    found = await call.store.audit_log.entries(CHANGE, subject, limit)
    return [
        ChangeRecord(entry_id=one.entry_id, subject=one.subject, recorded_at=one.recorded_at, change=dict(one.payload))
        for one in found
    ]


@document_router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The OpenAPI document of the service."""
    schema = await schema_of(request)
    prefix = request.scope.get("root_path", "").rstrip("/")
    if prefix:  # a proxy serves the service under a path prefix
        schema = {"servers": [{"url": prefix}], **schema}
    return Response(orjson.dumps(schema), media_type="application/json")


async def schema_of(request: Request) -> dict[str, Any]:
    """The document; building it takes most of a second, so it is built in a thread."""
    keyed = not request.app.state.service.keys.empty
    return declare(await asyncio.to_thread(request.app.openapi), keyed=keyed)
