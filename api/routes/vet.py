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
from ..schemas import EXAMPLE_JUDGMENT, VetBody, VetRequest
from ..service import Service

router = APIRouter(prefix="/v1", tags=["vet"])

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
    claim = Claim(running.answers, caller, key, mark)
    if earlier := await claim.earlier():
        return replay(earlier)
    async with claim.working():
        found = await running.admission.work(
            request,
            lambda: running.panels.vet(asked.judgment, asked.choice, asked.others, headers=request.headers),
        )
        running.metrics.assessed(found)
        content = found.model_dump_json().encode()
        await claim.answered(200, content)
    return Response(content, media_type="application/json")


class Hearing:
    """One vet whose agents are heard as they answer; it has a place among those in flight until it ends."""

    def __init__(self, request: Request, running: Service, asked: VetRequest) -> None:
        self._heard: asyncio.Queue[AgentResult | None] = asyncio.Queue()
        self._deadline = asyncio.get_running_loop().time() + running.admission.request_s
        self._place = contextlib.ExitStack()
        self._place.enter_context(running.admission.place())
        work = running.panels.vet(
            asked.judgment, asked.choice, asked.others, self._heard.put_nowait, headers=request.headers
        )
        self._task = asyncio.ensure_future(work)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Assessment]") -> None:
        self._place.close()
        self._heard.put_nowait(None)
        if not task.cancelled():
            task.exception()  # is asked for here, as the caller may have gone away

    async def agents(self) -> AsyncIterator[AgentResult]:
        """What each agent said, as it comes.

        Raises:
            TimeoutError: they took too long.
        """
        while True:
            async with asyncio.timeout_at(self._deadline):
                said = await self._heard.get()
            if said is None:
                return
            yield said

    async def found(self) -> Assessment:
        return await self._task

    def stop(self) -> None:
        """Ends the work where it is still being done."""
        self._task.cancel()


async def hearing(request: Request, running: ServiceDep, body: Given) -> AsyncIterator[Hearing]:
    """The vet, refused before a stream begins where it names what there is not or there is no place for it."""
    asked = _asked(body)
    await running.panels.check(asked.choice)
    one = Hearing(request, running, asked)
    try:
        yield one
    finally:
        one.stop()  # the caller may have gone away


@router.post("/vet/stream", summary="Vet one judgment, as a stream", response_class=EventSourceResponse)
async def vet_stream(
    request: Request, running: ServiceDep, one: Annotated[Hearing, Depends(hearing)]
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `agent` with each agent's result as it comes, then `assessment`, or `error` with a problem.

    One that was assessed before under the same panel is answered with its assessment alone.
    """
    try:
        async for said in one.agents():
            yield ServerSentEvent(event="agent", raw_data=said.model_dump_json())
        found = await one.found()
    except Exception as error:
        status, detail = status_of(error)
        yield ServerSentEvent(event="error", data=problem_of(status, detail, request_id_of(request.scope)))
        return
    finally:
        one.stop()
    running.metrics.assessed(found)
    yield ServerSentEvent(event="assessment", raw_data=found.model_dump_json())
