"""Batches of judgments, clashes and cases, worked on in the background."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from metajudge.cases.result import CaseResult
from metajudge.clashes.record import ClashRecord
from metajudge.types import Assessment

from ..authorization import owner_for
from ..deps import Action, Call, CallDep, LastEventId, Service, ServiceDep, number_of
from ..idempotency import Claim, IdempotencyKey, fingerprint
from ..panels import Choice
from ..schemas import EXAMPLE_CASE, EXAMPLE_JUDGMENT, upload_body
from ..tasks import (
    FIRST_CURSOR,
    RESULT,
    Asked,
    CaseChoice,
    ClashChoice,
    JobStatus,
    cursor_of,
    kind_of,
    record_type,
    seq_of,
    to_text,
)
from ..uploads import receive_upload

router = APIRouter(prefix="/v1", tags=["jobs"])
Route = TypeVar("Route", bound=Callable[..., Any])


def _batch(path: str, summary: str, example: Any, *schemas: str) -> Callable[[Route], Route]:
    """A route that takes an upload of records, and answers with its job."""
    kinds = [{"$ref": f"#/components/schemas/{name}"} for name in schemas]
    record = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    array = {"type": "array", "items": record, "minItems": 1}
    body = upload_body(array, [example], f"One {' or '.join(schemas)} a line.")
    return router.post(path, status_code=202, summary=summary, response_model=JobStatus, openapi_extra=body)


class JobResult(BaseModel):
    """The result of one item: an assessment, a clash or a case, by the kind of job, or the reason why it failed."""

    item: int = Field(description="Position in the upload, from 0.")
    assessment: Assessment | None = Field(default=None, exclude_if=lambda given: given is None)
    clash: ClashRecord | None = Field(default=None, exclude_if=lambda given: given is None)
    case: CaseResult | None = Field(default=None, exclude_if=lambda given: given is None)
    error: str | None = Field(default=None, exclude_if=lambda given: given is None)


class ResultPage(BaseModel):
    """A page of results in order of completion."""

    results: list[JobResult]
    next_cursor: int | None = Field(
        default=None,
        description="`after` of the next page, which may still be empty; null once the job has ended and no "
        "result follows.",
    )


@_batch("/vet/batch", "Vet many judgments in the background", EXAMPLE_JUDGMENT, "Judgment", "LooseJudgment")
async def vet_batch(call: CallDep, choice: Annotated[Choice, Query()], key: IdempotencyKey = None) -> Response:
    """Accepts judgments as a JSON array, or as JSONL (`application/x-ndjson`), which is written to disk as it arrives.

    One invalid line rejects the whole upload; the error names it. Other judgments of an item are evidence.
    """
    return await _accepted(call, choice, key)


@_batch("/clash/batch", "Run many clashes in the background", EXAMPLE_JUDGMENT["item"], "Item", "Question")
async def clash_batch(call: CallDep, choice: Annotated[ClashChoice, Query()], key: IdempotencyKey = None) -> Response:
    """Accepts items with responses; with `candidates` questions, which their models answer first.

    Divided verdicts are queued for review. One invalid line rejects the whole upload.
    """
    return await _accepted(call, choice, key)


@_batch("/cases/batch", "Judge and decide many cases in the background", EXAMPLE_CASE, "Case")
async def cases_batch(call: CallDep, choice: Annotated[CaseChoice, Query()], key: IdempotencyKey = None) -> Response:
    """Accepts cases; those that the policy sends to people are queued for review.

    One invalid line rejects the whole upload; a case that the policy cannot judge has its `error` as its result.
    """
    return await _accepted(call, choice, key)


async def _accepted(call: Call, choice: Asked, key: str | None) -> Response:
    """The job of an upload."""
    running = call.running
    await running.tasks.check(choice)
    options, text = running.options, to_text(choice)
    async with running.jobs.upload() as (job_id, path):
        limits = options.max_body_bytes, options.limits.batch_items
        items, digest = await receive_upload(call.request, path, record_type(choice), *limits)
        claim = Claim(call, key, fingerprint(b"batch", text.encode(), digest))
        if earlier := await claim.earlier():
            return earlier
        async with claim.working():
            content, location = await running.jobs.add(job_id, call.caller.name, choice, items, key)
    plain = choice.model_dump(mode="json", exclude_none=True)
    await call.note(Action.JOB_ADD, job_id, kind=kind_of(choice), items=items, choice=plain)
    return Response(content, 202, {"Location": location}, media_type="application/json")


class JobPage(BaseModel):
    """A page of jobs, newest first."""

    jobs: list[JobStatus]
    next_cursor: str | None = Field(default=None, description="`before` of the next page; null at the end.")


@router.get("/jobs", summary="Jobs, newest first")
async def all_jobs(
    call: CallDep,
    before: Annotated[str | None, Query(max_length=100, description="`next_cursor` of the previous page.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> JobPage:
    """The jobs this key sent; a key with `admin` sees all. `owner` is the key's name."""
    page = await call.running.jobs.page(before, limit, owner_for(call.caller))
    return JobPage(jobs=page, next_cursor=page[-1].job_id if len(page) == limit else None)


@router.get("/jobs/{job_id}", summary="A job's state and progress")
async def job(running: ServiceDep, job_id: str) -> JobStatus:
    """Its state, and the number of results by status."""
    return await running.jobs.status(job_id)


@router.delete("/jobs/{job_id}", summary="Cancel a job, or delete one that has ended")
async def cancel(call: CallDep, job_id: str) -> JobStatus:
    """Items in flight stop within two seconds; results so far are kept. An ended job is deleted with its results."""
    jobs = call.running.jobs
    ended = (await jobs.status(job_id)).state.ended
    status = await jobs.cancel(job_id)
    await call.note(Action.JOB_DELETE if ended else Action.JOB_CANCEL, job_id, done=status.done, items=status.items)
    return status


@router.get(
    "/jobs/{job_id}/results",
    summary="A job's results",
    response_model=ResultPage,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
async def results(
    running: ServiceDep,
    job_id: str,
    accept: Annotated[str, Header()] = "application/json",
    after: Annotated[int, Query(ge=-1, le=2**62, description="`next_cursor` of the previous page.")] = -1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """A page in order of completion, so that following `next_cursor` finds every result of a running job once.

    If there is no new result yet, the response waits up to a few seconds. `Accept: application/x-ndjson` gives all
    results so far as JSONL, in input order.
    """
    status = await running.jobs.status(job_id)
    if "application/x-ndjson" in accept:
        return StreamingResponse(_lines(running, job_id, RESULT[status.kind]), media_type="application/x-ndjson")
    page = await running.jobs.results_page(job_id, after, limit)
    if after >= 0 and not page.rows and page.next_cursor is not None:
        await running.jobs.changed(job_id)
        page = await running.jobs.results_page(job_id, after, limit)
    return Response(page.to_json(), media_type="application/json")


async def _lines(running: Service, job_id: str, name: str) -> AsyncIterator[bytes]:
    async for row in running.jobs.all_results(job_id):
        yield row.to_json(name) + b"\n"


async def known(running: ServiceDep, job_id: str) -> None:
    """Refuses an unknown job before a stream begins."""
    await running.jobs.status(job_id)


@router.get(
    "/jobs/{job_id}/events",
    summary="A job as a stream",
    dependencies=[Depends(known)],
    response_class=EventSourceResponse,
)
async def events(running: ServiceDep, job_id: str, last_event_id: LastEventId = None) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `result` for each completed item, with its id and status, and `end` with the job's status.

    An event's id is also the results cursor that continues after it.
    """
    given = number_of(last_event_id) or 0
    seen = seq_of(given) if given >= FIRST_CURSOR else given  # earlier versions used the results' numbers as ids
    kind = (await running.jobs.status(job_id)).kind
    name = {"vet": "judgment_id", "clash": "item_id", "case": "case_id"}[kind]
    while True:
        state = await running.jobs.state(job_id)
        ended = state is None or state.ended
        page = await running.jobs.results_since(job_id, seen, 200)
        for result in page:
            seen = result.seq
            data = {"item": result.item, name: result.judgment_id, "status": result.status}
            yield ServerSentEvent(event="result", id=str(cursor_of(seen)), data=data)
        if ended and not page:
            break
        if running.leaving.is_set():  # this process stops; the client resumes after the last event it has seen
            return
        if not page:
            await running.jobs.changed(job_id)
    if await running.jobs.state(job_id) is not None:
        yield ServerSentEvent(event="end", data=(await running.jobs.status(job_id)).model_dump(mode="json"))
