"""The asynchronous client."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx2

import metajudge.client.calls as calls
from metajudge.client.calls import (
    ENDED,
    JSONL,
    POLL_S,
    WAIT_S,
    AsyncLines,
    Call,
    Data,
    Patience,
    Record,
    answers,
    checked,
)
from metajudge.client.errors import ServiceError
from metajudge.types import Assessment

T = TypeVar("T")


class AsyncClient:
    """As :class:`~metajudge.client.sync.Client`, awaited; what it iterates over is iterated with ``async for``."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        key: str | None = None,
        timeout_s: float = 130.0,
        patience_s: float = 60.0,
    ) -> None:
        self._http = httpx2.AsyncClient(**calls.connection(url, key, timeout_s))
        self._patience_s = patience_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        patience = Patience(self._patience_s, method, path, options)
        while True:
            try:
                with answers(self._http.base_url):
                    return checked(await self._http.request(method, path, **options))
            except ServiceError as error:
                await asyncio.sleep(patience.pause_after(error))

    async def _do(self, call: Call[T]) -> T:
        return call.read(await self.request(call.method, call.path, **call.options))

    async def _lines(self, method: str, path: str, **options: Any) -> AsyncIterator[str]:
        patience = Patience(self._patience_s, method, path, options)
        while True:
            try:
                with answers(self._http.base_url):
                    async with self._http.stream(method, path, **options) as response:
                        if not response.is_success:
                            await response.aread()
                        lines = checked(response).aiter_lines()
                        patience.end()
                        async for line in lines:
                            yield line
                        return
            except ServiceError as error:
                await asyncio.sleep(patience.pause_after(error))

    async def stream(self, method: str, path: str, **options: Any) -> AsyncIterator[tuple[str, Any]]:
        events = calls.Events()
        async for line in self._lines(method, path, **options):
            if event := events.feed(line):
                yield event

    async def vet(self, judgment: Record, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        return await self._do(calls.vet(judgment, idempotency_key, choice))

    def vet_stream(self, judgment: Record, **choice: Any) -> AsyncIterator[tuple[str, Any]]:
        return self.stream("POST", "/v1/vet/stream", **calls.vet_options(judgment, None, choice))

    async def vet_batch(
        self, judgments: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any
    ) -> Data:
        return await self._do(calls.batch("/v1/vet/batch", AsyncLines(judgments), idempotency_key, choice))

    async def judge(self, item: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.judge(item, idempotency_key, choice))

    async def clash(self, subject: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.clash(subject, idempotency_key, choice))

    async def clash_batch(
        self, subjects: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any
    ) -> Data:
        return await self._do(calls.batch("/v1/clash/batch", AsyncLines(subjects), idempotency_key, choice))

    async def case(self, case: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.case(case, idempotency_key, choice))

    async def case_batch(self, cases: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.batch("/v1/cases/batch", AsyncLines(cases), idempotency_key, choice))

    async def audit(self, judgments: Iterable[Record], labels: Iterable[Mapping[str, Any]] = (), **choice: Any) -> Data:
        return await self._do(calls.audit(AsyncLines([*judgments, *labels]), choice))

    async def rank(self, rankings: Sequence[Any], **options: Any) -> Data:
        return await self._do(calls.post("/v1/rank", {"rankings": rankings, **options}))

    async def peers(self, ballots: Sequence[Any], **options: Any) -> Data:
        return await self._do(calls.post("/v1/peers", {"ballots": ballots, **options}))

    async def assessments(self, **filters: Any) -> AsyncIterator[Assessment]:
        cursor: Any = None
        while True:
            page = await self._do(calls.get("/v1/assessments", {**filters, "after": cursor}))
            for one in calls.assessments_in(page):
                yield one
            if (cursor := page["next_cursor"]) is None:
                return

    async def reviews(self, **filters: Any) -> AsyncIterator[Data]:
        cursor: Any = None
        while True:
            page = await self._do(calls.get("/v1/reviews", {**filters, "cursor": cursor}))
            for one in page["reviews"]:
                yield one
            if (cursor := page["next_cursor"]) is None:
                return

    async def claim(self, review_id: str, reviewer: str | None = None, lease_s: float | None = None) -> Data:
        return await self._do(calls.of_review(review_id, "claim", {"reviewer": reviewer, "lease_s": lease_s}))

    async def release(self, review_id: str, reviewer: str | None = None) -> Data:
        return await self._do(calls.of_review(review_id, "release", {"reviewer": reviewer}))

    async def decide(self, review_id: str, reviewer: str | None = None, **decision: Any) -> Data:
        return await self._do(calls.of_review(review_id, "decide", {"reviewer": reviewer, **decision}))

    async def job(self, job_id: str) -> Data:
        return await self._do(calls.get(f"/v1/jobs/{job_id}"))

    async def cancel(self, job_id: str) -> Data:
        return dict((await self.request("DELETE", f"/v1/jobs/{job_id}")).json())

    async def wait(self, job_id: str, timeout_s: float = WAIT_S) -> Data:
        until, pause = time.monotonic() + timeout_s, POLL_S[0]
        while (job := await self.job(job_id))["state"] not in ENDED:
            pause = calls.waited(job, until, pause)
            await asyncio.sleep(pause)
        return job

    async def results(
        self, job_id: str, *, wait: bool = True, timeout_s: float = WAIT_S
    ) -> AsyncIterator[tuple[int, Any]]:
        job, count = await (self.wait(job_id, timeout_s) if wait else self.job(job_id)), 0
        async for line in self._lines("GET", f"/v1/jobs/{job_id}/results", headers=JSONL):
            yield calls.result(line)
            count += 1
        calls.check_all_there(job, count)
