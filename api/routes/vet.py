"""Vetting one judgment."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from metajudge.types import AgentResult, Assessment, Judgment

from ..deps import CallerDep, ServiceDep, needs
from ..errors import RESPONSES, status_of
from ..idempotency import Claim, IdempotencyKey, fingerprint, replay
from ..keys import Scope
from ..schemas import EXAMPLE_JUDGMENT, VetBody, VetRequest
from ..tracing import traced

router = APIRouter(prefix="/v1", tags=["vet"], dependencies=[Depends(needs(Scope.VET))], responses=RESPONSES)

EXAMPLES: Any = {
    "judgment": {"summary": "A judgment record as it is", "value": EXAMPLE_JUDGMENT},
    "with choices": {
        "summary": "With panel and rubric by name",
        "value": {"judgment": EXAMPLE_JUDGMENT, "rubric": "short"},
    },
}
Given = Annotated[VetBody, Body(openapi_examples=EXAMPLES)]


def _asked(body: VetBody) -> VetRequest:
    return VetRequest(judgment=body) if isinstance(body, Judgment) else body


@router.post("/vet", summary="Vet one judgment", response_model=Assessment)
async def vet(
    request: Request, running: ServiceDep, caller: CallerDep, body: Given, key: IdempotencyKey = None
) -> Response:
    """Assesses one judgment: a record as it is, or one with a panel and a rubric chosen by name.

    A judgment whose models could not be asked, or did not answer usably, is answered with 200 and status
    `failed` or `unscored` with typed reasons. One that was assessed before under the same panel is not asked again.
    """
    asked = _asked(body)
    mark = "" if key is None else fingerprint(b"vet", asked.model_dump_json().encode())
    claim = Claim(running.ledger, caller, key, mark)
    if earlier := claim.earlier():
        return replay(earlier)
    with claim.working():
        found = await running.admission.work(
            request, lambda: traced(running.panels.vet(asked.judgment, asked.choice, asked.others))
        )
        running.metrics.assessed(found)
        content = found.model_dump_json().encode()
        claim.answered(200, content)
    return Response(content, media_type="application/json")


async def chosen(running: ServiceDep, body: Given) -> VetRequest:
    """The request, refused before a stream begins where it names what there is not."""
    asked = _asked(body)
    running.panels.check(asked.choice)
    return asked


async def placed(running: ServiceDep) -> AsyncIterator[None]:
    """A place among those at work, for as long as the answer takes; refused before a stream begins."""
    with running.admission.place():
        yield


@router.post(
    "/vet/stream",
    summary="Vet one judgment, as a stream",
    response_class=EventSourceResponse,
    dependencies=[Depends(placed)],
)
async def vet_stream(
    running: ServiceDep, asked: Annotated[VetRequest, Depends(chosen)]
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `agent` with each agent's result as it comes, then `assessment`, or `error` with a problem.

    One that was assessed before under the same panel is answered with its assessment alone.
    """
    heard: asyncio.Queue[AgentResult | None] = asyncio.Queue()
    work = running.panels.vet(asked.judgment, asked.choice, asked.others, heard.put_nowait)
    task = asyncio.ensure_future(traced(work))
    task.add_done_callback(lambda _task: heard.put_nowait(None))
    try:
        async with asyncio.timeout(running.admission.request_s):
            while (said := await heard.get()) is not None:
                yield ServerSentEvent(event="agent", raw_data=said.model_dump_json())
            found = await task
    except Exception as error:
        status, detail = status_of(error)
        yield ServerSentEvent(event="error", data={"status": status, "detail": detail})
        return
    finally:
        task.cancel()  # the caller may have gone away
    running.metrics.assessed(found)
    yield ServerSentEvent(event="assessment", raw_data=found.model_dump_json())
