"""A client of the HTTP service, synchronous and asynchronous.

>>> with Client("http://127.0.0.1:8080", key="mj_...") as client:  # doctest: +SKIP
...     assessment = client.vet(judgment)
...     job = client.wait(client.vet_batch(judgments)["job_id"])
...     results = list(client.results(job["job_id"]))

Those of :class:`AsyncClient` are awaited, streams and results iterated with ``async for``. What has no method of its
own is asked with :meth:`~Client.request`.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Self

import httpx2

from metajudge.errors import MetajudgeError
from metajudge.types import Assessment, Judgment

ENDED = ("done", "failed", "cancelled")
POLL_S = 0.2
RESULTS = "/v1/jobs/{}/results?after={}&limit=500"
Given = Judgment | Mapping[str, Any]
JobData = dict[str, Any]


class ServiceError(MetajudgeError):
    """The service answered with a problem (RFC 9457); ``retry_after`` is in seconds, None where it does not say."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(f"{status}: {problem.get('detail', 'no details')} (request {problem.get('request_id', '?')})")
        self.status, self.problem, self.retry_after = status, problem, retry_after


def _plain(one: Given) -> Any:
    return one.model_dump(mode="json") if isinstance(one, Judgment) else one


def _vet(judgment: Given, key: str | None, choice: Mapping[str, Any]) -> dict[str, Any]:
    others = [_plain(one) for one in choice.get("others", ())]
    headers = {} if key is None else {"idempotency-key": key}
    return {"json": {"judgment": _plain(judgment), **choice, "others": others}, "headers": headers}


def _batch(lines: Any, key: str | None, choice: Mapping[str, Any]) -> dict[str, Any]:
    headers = {"content-type": "application/x-ndjson"} | ({} if key is None else {"idempotency-key": key})
    return {"content": lines, "params": choice, "headers": headers}


def _lines(judgments: Iterable[Given]) -> Iterator[bytes]:
    return (json.dumps(_plain(one)).encode() + b"\n" for one in judgments)


def _page(response: httpx2.Response) -> tuple[list[tuple[int, Assessment]], int | None]:
    page = response.json()
    return [(one["item"], Assessment.model_validate(one["assessment"])) for one in page["results"]], page["next_cursor"]


def _checked(response: httpx2.Response) -> httpx2.Response:
    if response.is_success:
        return response
    told = response.headers.get("content-type", "").endswith("json")
    problem = response.json() if told else {"detail": response.text[:500]}
    after = response.headers.get("retry-after", "")
    raise ServiceError(response.status_code, problem, float(after) if after.isdecimal() else None)


class _Events(list[str]):
    """The lines of a server-sent event so far."""

    def feed(self, line: str) -> tuple[str, Any] | None:
        """Takes a line; the event it ends, if it ends one."""
        if line:
            self.append(line)
            return None
        fields = [one.partition(":")[::2] for one in self]
        self.clear()
        data = [value.removeprefix(" ") for name, value in fields if name == "data"]
        name = next((value.strip() for name, value in fields if name == "event"), "message")
        return (name, json.loads("\n".join(data))) if data else None


def _options(url: str, key: str | None, timeout_s: float) -> dict[str, Any]:
    return {"base_url": url, "timeout": timeout_s, "headers": {} if key is None else {"authorization": f"Bearer {key}"}}


class Client:
    """Asks the service at a URL, with an API key where it has any."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, timeout_s: float = 130.0) -> None:
        self._http = httpx2.Client(**_options(url, key, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Any request, such as ``request("GET", "/v1/reviews")``; raises :class:`ServiceError` for a problem."""
        return _checked(self._http.request(method, path, **options))

    def stream(self, method: str, path: str, **options: Any) -> Iterator[tuple[str, Any]]:
        """The server-sent events that answer any request: name, data."""
        with self._http.stream(method, path, **options) as response:
            if not response.is_success:
                response.read()
            yield from filter(None, map(_Events().feed, _checked(response).iter_lines()))

    def vet(self, judgment: Given, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        """Vets one judgment; ``choice`` is panel, rubric, strategy, policy, others."""
        found = self.request("POST", "/v1/vet", **_vet(judgment, idempotency_key, choice))
        return Assessment.model_validate_json(found.content)

    def vet_stream(self, judgment: Given, **choice: Any) -> Iterator[tuple[str, Any]]:
        """Events ``agent``, then ``assessment`` or ``error``, with their data."""
        return self.stream("POST", "/v1/vet/stream", **_vet(judgment, None, choice))

    def vet_batch(self, judgments: Iterable[Given], *, idempotency_key: str | None = None, **choice: Any) -> JobData:
        """Sends many judgments as they come; the job that vets them."""
        upload = _batch(_lines(judgments), idempotency_key, choice)
        return dict(self.request("POST", "/v1/vet/batch", **upload).json())

    def job(self, job_id: str) -> JobData:
        """How far a job has come."""
        return dict(self.request("GET", f"/v1/jobs/{job_id}").json())

    def wait(self, job_id: str) -> JobData:
        """Returns when a job has ended."""
        while (job := self.job(job_id))["state"] not in ENDED:
            time.sleep(POLL_S)
        return job

    def results(self, job_id: str) -> Iterator[tuple[int, Assessment]]:
        """A job's results in input order: place in the upload, assessment."""
        after: int | None = -1
        while after is not None:
            found, after = _page(self.request("GET", RESULTS.format(job_id, after)))
            yield from found


class AsyncClient:
    """As :class:`Client`, awaited."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, timeout_s: float = 130.0) -> None:
        self._http = httpx2.AsyncClient(**_options(url, key, timeout_s))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return _checked(await self._http.request(method, path, **options))

    async def stream(self, method: str, path: str, **options: Any) -> AsyncIterator[tuple[str, Any]]:
        events = _Events()
        async with self._http.stream(method, path, **options) as response:
            if not response.is_success:
                await response.aread()
            async for line in _checked(response).aiter_lines():
                if event := events.feed(line):
                    yield event

    async def vet(self, judgment: Given, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        found = await self.request("POST", "/v1/vet", **_vet(judgment, idempotency_key, choice))
        return Assessment.model_validate_json(found.content)

    def vet_stream(self, judgment: Given, **choice: Any) -> AsyncIterator[tuple[str, Any]]:
        return self.stream("POST", "/v1/vet/stream", **_vet(judgment, None, choice))

    async def vet_batch(self, given: Iterable[Given], *, idempotency_key: str | None = None, **choice: Any) -> JobData:
        upload = _batch(_each(_lines(given)), idempotency_key, choice)
        return dict((await self.request("POST", "/v1/vet/batch", **upload)).json())

    async def job(self, job_id: str) -> JobData:
        return dict((await self.request("GET", f"/v1/jobs/{job_id}")).json())

    async def wait(self, job_id: str) -> JobData:
        while (job := await self.job(job_id))["state"] not in ENDED:  # noqa: ASYNC110 - what ends it is elsewhere
            await asyncio.sleep(POLL_S)
        return job

    async def results(self, job_id: str) -> AsyncIterator[tuple[int, Assessment]]:
        after: int | None = -1
        while after is not None:
            found, after = _page(await self.request("GET", RESULTS.format(job_id, after)))
            for one in found:
                yield one


async def _each(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
