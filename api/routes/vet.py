"""Vetting one judgment."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from metajudge.types import AgentResult, Assessment, Judgment

from ..deps import CallDep, ServiceDep
from ..errors import problem_of, request_id_of, status_of
from ..idempotency import IdempotencyKey, answered_once
from ..schemas import EXAMPLE_CATEGORY, EXAMPLE_GRADE, EXAMPLE_JUDGMENT, EXAMPLE_LOOSE, VetBody, VetRequest

router = APIRouter(prefix="/v1", tags=["vet"])

EXAMPLES: Any = {
    "judgment": {"summary": "A plain judgment record", "value": EXAMPLE_JUDGMENT},
    "loose": {"summary": "Question, responses and verdict; ids and judge are filled in", "value": EXAMPLE_LOOSE},
    "grade": {"summary": "A grade on a declared scale, with people's labels", "value": EXAMPLE_GRADE},
    "category": {"summary": "A category: `true`, `false` or a word", "value": EXAMPLE_CATEGORY},
    "with choices": {
        "summary": "With panel and rubric by name",
        "value": {"judgment": EXAMPLE_JUDGMENT, "rubric": "short"},
    },
}
Given = Annotated[VetBody, Body(openapi_examples=EXAMPLES)]


def _asked(body: VetBody) -> VetRequest:
    return VetRequest(judgment=body) if isinstance(body, Judgment) else body


@router.post("/vet", summary="Vet one judgment", response_model=Assessment)
async def vet(call: CallDep, body: Given, key: IdempotencyKey = None) -> Response:
    """Vets one judgment: a plain record, loose data, or a request that also names panel and rubric.

    A verdict that stands alone is answered by the probability that a stored fit of its judge's history gives; without
    one a person is to be asked (`do`), and the reason says what would answer it.

    If models could not be asked or gave no usable answer, the response is 200 with status
    `failed` or `unscored` and typed reasons. A stored assessment by the same panel is returned without asking again.
    """
    asked, running, request = _asked(body), call.running, call.request

    async def work() -> Assessment:
        found = await running.admission.work(
            request, lambda: running.panels.vet(asked.judgment, asked.choice, asked.others, headers=request.headers)
        )
        running.metrics.assessed(found)
        return found

    return await answered_once(call, key, "vet", asked, work)


@dataclass(frozen=True, slots=True)
class VetStream:
    """One vet whose agents' results are heard as they complete; None after the last one."""

    results: "asyncio.Queue[AgentResult | None]"
    task: "asyncio.Task[Assessment]"
    deadline: float


async def open_stream(call: CallDep, body: Given) -> AsyncIterator[VetStream]:
    """The vet, which counts as in flight until it ends.

    An unknown choice or a full service is refused before the stream begins.
    """
    asked, running = _asked(body), call.running
    await running.panels.check(asked.choice)
    heard: asyncio.Queue[AgentResult | None] = asyncio.Queue()
    place = contextlib.ExitStack()
    place.enter_context(running.admission.place())

    def ended(task: "asyncio.Task[Assessment]") -> None:
        place.close()
        heard.put_nowait(None)
        if not task.cancelled():
            task.exception()  # retrieved here, as the caller may be gone

    headers = call.request.headers
    work = running.panels.vet(asked.judgment, asked.choice, asked.others, heard.put_nowait, headers=headers)
    task = asyncio.ensure_future(work)
    task.add_done_callback(ended)
    try:
        yield VetStream(heard, task, asyncio.get_running_loop().time() + running.admission.request_s)
    finally:
        task.cancel()  # the caller may be gone


@router.post("/vet/stream", summary="Vet one judgment, as a stream", response_class=EventSourceResponse)
async def vet_stream(
    request: Request, running: ServiceDep, stream: Annotated[VetStream, Depends(open_stream)]
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `agent` for each agent's result, then `assessment`, or `error` with a problem.

    A stored assessment by the same panel is sent at once, without `agent` events.
    """
    try:
        while True:
            async with asyncio.timeout_at(stream.deadline):
                result = await stream.results.get()
            if result is None:
                break
            yield ServerSentEvent(event="agent", raw_data=result.model_dump_json())
        found = await stream.task
    except Exception as error:
        status, detail = status_of(error)
        yield ServerSentEvent(event="error", data=problem_of(status, detail, request_id_of(request.scope)))
        return
    finally:
        stream.task.cancel()
    running.metrics.assessed(found)
    yield ServerSentEvent(event="assessment", raw_data=found.model_dump_json())
