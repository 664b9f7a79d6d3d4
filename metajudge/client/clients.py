"""The synchronous and the asynchronous client."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

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
    Lines,
    Patience,
    Record,
    answers,
    checked,
)
from metajudge.client.errors import ServiceError
from metajudge.types import Assessment

T = TypeVar("T")
H = TypeVar("H", bound=httpx2.Client | httpx2.AsyncClient)


class _Connected(Generic[H]):
    _transport: type[H]

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        key: str | None = None,
        timeout_s: float = 130.0,
        patience_s: float = 60.0,
    ) -> None:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._http = self._transport(base_url=url, timeout=timeout_s, headers=headers)
        self._patience_s = patience_s


class Client(_Connected[httpx2.Client]):
    """Asks the service at a URL, with an API key where it has any.

    Args:
        timeout_s: for the connection and for each part of an answer.
        patience_s: how long a request is sent again that the service was too busy for or that did not reach it.
    """

    _transport = httpx2.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Any request, such as ``request("GET", "/v1/rubrics")``; raises :class:`ServiceError` for a problem."""
        patience = Patience(self._patience_s, method, path, options)
        while True:
            try:
                with answers(self._http.base_url):
                    return checked(self._http.request(method, path, **options))
            except ServiceError as error:
                time.sleep(patience.pause_after(error))

    def _do(self, call: Call[T]) -> T:
        return call.read(self.request(call.method, call.path, **call.options))

    def _lines(self, method: str, path: str, **options: Any) -> Iterator[str]:
        patience = Patience(self._patience_s, method, path, options)
        while True:
            try:
                with answers(self._http.base_url), self._http.stream(method, path, **options) as response:
                    if not response.is_success:
                        response.read()
                    lines = checked(response).iter_lines()
                    patience.end()
                    yield from lines
                    return
            except ServiceError as error:
                time.sleep(patience.pause_after(error))

    def stream(self, method: str, path: str, **options: Any) -> Iterator[tuple[str, Any]]:
        """The server-sent events that answer any request: name, data."""
        return filter(None, map(calls.Events().feed, self._lines(method, path, **options)))

    def vet(self, judgment: Record, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        """Vets one judgment; ``choice`` is panel, rubric, strategy, policy, others."""
        return self._do(calls.vet(judgment, idempotency_key, choice))

    def vet_stream(self, judgment: Record, **choice: Any) -> Iterator[tuple[str, Any]]:
        """Events ``agent``, then ``assessment`` or ``error``, with their data."""
        return self.stream("POST", "/v1/vet/stream", **calls.vet(judgment, None, choice).options)

    def vet_batch(self, given: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any) -> Data:
        """Sends many judgments as they come; the job that vets them."""
        return self._do(calls.batch("/v1/vet/batch", Lines(given), idempotency_key, choice))

    def judge(self, item: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        """Has a panel's agents judge an item; ``choice`` is panel, orders, grade, with_reference."""
        return self._do(calls.judging("/v1/judge", "item", item, idempotency_key, choice))

    def clash(self, subject: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        """Ranks the responses of an item blind, or the candidates' answers to a question.

        ``choice`` is panel, candidates, criteria_model, observers, voters and further fields of ``POST /v1/clash``.
        """
        return self._do(calls.clash(subject, idempotency_key, choice))

    def clash_batch(self, given: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any) -> Data:
        """Sends many items, or questions for candidates; the job that has them ranked."""
        return self._do(calls.batch("/v1/clash/batch", Lines(given), idempotency_key, choice))

    def case(self, case: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        """Judges and decides one case; ``choice`` is panel, policy."""
        return self._do(calls.judging("/v1/cases", "case", case, idempotency_key, choice))

    def case_batch(self, cases: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any) -> Data:
        """Sends many cases; the job that judges and decides them."""
        return self._do(calls.batch("/v1/cases/batch", Lines(cases), idempotency_key, choice))

    def audit(self, judgments: Iterable[Record], labels: Iterable[Mapping[str, Any]] = (), **choice: Any) -> Data:
        """The document of ``metajudge audit --json``; a label has ``item_id`` and ``value``, ``choice``: on, right."""
        return self._do(calls.audit(Lines([*judgments, *labels]), choice))

    def rank(self, rankings: Sequence[Any], **options: Any) -> Data:
        """Aggregates rankings by a voting rule; ``options`` are those of ``POST /v1/rank``."""
        return self._do(calls.post("/v1/rank", {"rankings": rankings, **options}))

    def peers(self, ballots: Sequence[Any], **options: Any) -> Data:
        """Peer evaluation of given rankings; ``options`` are those of ``POST /v1/peers``."""
        return self._do(calls.post("/v1/peers", {"ballots": ballots, **options}))

    def assessments(self, **filters: Any) -> Iterator[Assessment]:
        """Stored assessments, the current one of every judgment and panel, oldest first, page by page."""
        cursor: Any = None
        while True:
            page = self._do(calls.get("/v1/assessments", {**filters, "after": cursor}))
            yield from calls.assessments_in(page)
            if (cursor := page["next_cursor"]) is None:
                return

    def reviews(self, **filters: Any) -> Iterator[Data]:
        """The queue in its order, page by page; ``filters`` are status, judge, category, reviewer."""
        cursor: Any = None
        while True:
            page = self._do(calls.get("/v1/reviews", {**filters, "cursor": cursor}))
            yield from page["reviews"]
            if (cursor := page["next_cursor"]) is None:
                return

    def claim(self, review_id: str, reviewer: str | None = None, lease_s: float | None = None) -> Data:
        """Claims a review; claiming it again extends the claim."""
        return self._do(calls.of_review(review_id, "claim", {"reviewer": reviewer, "lease_s": lease_s}))

    def release(self, review_id: str, reviewer: str | None = None) -> Data:
        """Ends a claim before a decision."""
        return self._do(calls.of_review(review_id, "release", {"reviewer": reviewer}))

    def decide(self, review_id: str, reviewer: str | None = None, **decision: Any) -> Data:
        """Decides a claimed review; ``decision`` is outcome, verdict, scores, reason, blind.

        Never sent twice where it may have been made.
        """
        return self._do(calls.of_review(review_id, "decide", {"reviewer": reviewer, **decision}))

    def job(self, job_id: str) -> Data:
        """How far a job has come."""
        return self._do(calls.get(f"/v1/jobs/{job_id}"))

    def cancel(self, job_id: str) -> Data:
        """Cancels a job; one that has ended is deleted with its results."""
        return dict(self.request("DELETE", f"/v1/jobs/{job_id}").json())

    def wait(self, job_id: str, timeout_s: float = WAIT_S) -> Data:
        """Returns when a job has ended; raises :class:`UnfinishedJobError` where it has not in time."""
        until, pause = time.monotonic() + timeout_s, POLL_S[0]
        while (job := self.job(job_id))["state"] not in ENDED:
            pause = calls.waited(job, until, pause)
            time.sleep(pause)
        return job

    def results(self, job_id: str, *, wait: bool = True, timeout_s: float = WAIT_S) -> Iterator[tuple[int, Any]]:
        """A job's results in input order: place in the upload, result.

        Of a job that vets a result is an :class:`~metajudge.types.Assessment`; of others the record as plain data, or
        ``{"error": reason}`` for an item that could not be judged.

        Args:
            wait: until the job has ended; else what there is so far.
            timeout_s: how long to wait.

        Raises:
            UnfinishedJobError: after the last result, where items have none, because the job was not waited for, was
                cancelled or failed; before the first one, where it has not ended in time.
        """
        job, count = self.wait(job_id, timeout_s) if wait else self.job(job_id), 0
        for line in self._lines("GET", f"/v1/jobs/{job_id}/results", headers=JSONL):
            yield calls.result(line)
            count += 1
        calls.check_all_there(job, count)


class AsyncClient(_Connected[httpx2.AsyncClient]):
    """As :class:`~metajudge.client.clients.Client`, awaited; what it iterates over is iterated with ``async for``."""

    _transport = httpx2.AsyncClient

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
        return self.stream("POST", "/v1/vet/stream", **calls.vet(judgment, None, choice).options)

    async def vet_batch(
        self, judgments: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any
    ) -> Data:
        return await self._do(calls.batch("/v1/vet/batch", AsyncLines(judgments), idempotency_key, choice))

    async def judge(self, item: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.judging("/v1/judge", "item", item, idempotency_key, choice))

    async def clash(self, subject: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.clash(subject, idempotency_key, choice))

    async def clash_batch(
        self, subjects: Iterable[Record], *, idempotency_key: str | None = None, **choice: Any
    ) -> Data:
        return await self._do(calls.batch("/v1/clash/batch", AsyncLines(subjects), idempotency_key, choice))

    async def case(self, case: Record, *, idempotency_key: str | None = None, **choice: Any) -> Data:
        return await self._do(calls.judging("/v1/cases", "case", case, idempotency_key, choice))

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
