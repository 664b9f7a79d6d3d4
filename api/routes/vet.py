"""Vetting one judgment."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from metajudge.types import AgentResult, Assessment, Judgment

from ..deps import CallerDep, ServiceDep
from ..errors import problem_of, request_id_of, status_of
from ..idempotency import Claim, IdempotencyKey, fingerprint, replay
from ..schemas import EXAMPLE_CATEGORY, EXAMPLE_GRADE, EXAMPLE_JUDGMENT, VetBody, VetRequest
from ..service import Service

router = APIRouter(prefix="/v1", tags=["vet"])

EXAMPLES: Any = {
    "judgment": {"summary": "A plain judgment record", "value": EXAMPLE_JUDGMENT},
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
async def vet(
    request: Request, running: ServiceDep, caller: CallerDep, body: Given, key: IdempotencyKey = None
) -> Response:
    """Vets one judgment: a plain record, or a request that also names panel and rubric.

    If models could not be asked or gave no usable answer, the response is 200 with status
    `failed` or `unscored` and typed reasons. A stored assessment by the same panel is returned without asking again.
    """
    asked = _asked(body)
    mark = "" if key is None else fingerprint(b"vet", asked.model_dump_json().encode())
    claim = Claim(running.answers, caller, key, mark)
    if earlier := await claim.earlier():
        return replay(earlier)
    async with claim.working():
        found = await running.admission.work(
            request, lambda: running.panels.vet(asked.judgment, asked.choice, asked.others, headers=request.headers)
        )
        running.metrics.assessed(found)
        content = found.model_dump_json().encode()
        await claim.answered(200, content)
    return Response(content, media_type="application/json")


class VetStream:
    """One vet that streams the agents' results; it counts as in flight until it ends."""

    def __init__(self, request: Request, running: Service, asked: VetRequest) -> None:
        self._results: asyncio.Queue[AgentResult | None] = asyncio.Queue()
        self._deadline = asyncio.get_running_loop().time() + running.admission.request_s
        self._place = contextlib.ExitStack()
        self._place.enter_context(running.admission.place())
        work = running.panels.vet(
            asked.judgment, asked.choice, asked.others, self._results.put_nowait, headers=request.headers
        )
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Assessment]") -> None:
        self._place.close()
        self._results.put_nowait(None)
        if not task.cancelled():
            task.exception()  # retrieved here, as the caller may be gone

    async def agents(self) -> AsyncIterator[AgentResult]:
        """The agents' results as they complete.

        Raises:
            TimeoutError: the time limit was exceeded.
        """
        while True:
            async with asyncio.timeout_at(self._deadline):
                result = await self._results.get()
            if result is None:
                return
            yield result

    async def found(self) -> Assessment:
        return await self._task

    def stop(self) -> None:
        """Cancels the work if it has not ended."""
        self._task.cancel()


async def open_stream(request: Request, running: ServiceDep, body: Given) -> AsyncIterator[VetStream]:
    """The vet; an unknown choice or a full service is refused before the stream begins."""
    asked = _asked(body)
    await running.panels.check(asked.choice)
    stream = VetStream(request, running, asked)
    try:
        yield stream
    finally:
        stream.stop()  # the caller may be gone


@router.post("/vet/stream", summary="Vet one judgment, as a stream", response_class=EventSourceResponse)
async def vet_stream(
    request: Request, running: ServiceDep, stream: Annotated[VetStream, Depends(open_stream)]
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `agent` for each agent's result, then `assessment`, or `error` with a problem.

    A stored assessment by the same panel is sent at once, without `agent` events.
    """
    try:
        async for result in stream.agents():
            yield ServerSentEvent(event="agent", raw_data=result.model_dump_json())
        found = await stream.found()
    except Exception as error:
        status, detail = status_of(error)
        yield ServerSentEvent(event="error", data=problem_of(status, detail, request_id_of(request.scope)))
        return
    finally:
        stream.stop()
    running.metrics.assessed(found)
    yield ServerSentEvent(event="assessment", raw_data=found.model_dump_json())
