"""Liveness, readiness, version and metrics."""

import asyncio

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from metajudge import __version__
from metajudge.errors import MetajudgeError
from metajudge.providers.daily_budget import DailyBudget

from ..deps import ServiceDep
from ..errors import RESPONSES
from ..schemas import Health, Readiness, Version
from ..service import Service

router = APIRouter(tags=["service"], responses={status: RESPONSES[status] for status in (400, 405, 408, 413, 500)})

UNTOLD = "not ok: send a key to see why"


@router.get("/healthz", summary="Liveness")
async def healthz() -> Health:
    return Health()


@router.get("/readyz", summary="Readiness", responses={503: {"model": Readiness}})
async def readyz(request: Request, running: ServiceDep, response: Response) -> Readiness:
    """Whether the store answers and the providers' clients can be opened; 503 if not. No model is asked.

    The reasons are given to callers with a key, or where the service has none.
    """
    checks = {"store": await _store(running), "providers": await _providers(running)}
    ready = all(result == "ok" for result in checks.values())
    response.status_code = 200 if ready else 503
    if request.scope["state"].get("who") is None:
        checks = {name: result if result == "ok" else UNTOLD for name, result in checks.items()}
    return Readiness(ready=ready, checks=checks)


async def _store(running: Service) -> str:
    if running.engine.store is None:
        return "ok"
    try:
        async with asyncio.timeout(5):
            await running.engine.store.runs(1)
    except (MetajudgeError, TimeoutError) as error:
        return str(error) or "the store does not answer within 5 s"
    return "ok"


async def _providers(running: Service) -> str:
    try:
        running.engine.connect()
    except MetajudgeError as error:
        return str(error)
    return "ok"


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
        gauges |= await _of_budget(running.budget)
    return running.metrics.text(running.engine.meter, gauges, running.promises.last)


async def _of_budget(budget: DailyBudget) -> dict[str, tuple[str, float]]:
    """The budget of the day; the limit alone where the database does not answer."""
    found = {"metajudge_budget_usd": ("Dollars that may be spent a day (UTC).", budget.limit)}
    try:
        async with asyncio.timeout(5):
            state = await budget.state()
    except (MetajudgeError, TimeoutError):
        return found
    return found | {
        "metajudge_budget_spent_usd": ("Dollars spent since 00:00 UTC, by all replicas.", state.spent),
        "metajudge_budget_held_usd": ("Dollars set aside for calls in flight, by all replicas.", state.held),
    }


@router.get("/version", summary="Version")
async def version() -> Version:
    return Version(version=__version__)
