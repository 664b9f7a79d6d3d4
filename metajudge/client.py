"""A client of the HTTP service, synchronous and asynchronous.

>>> with Client("http://127.0.0.1:8080", key="mj_...") as client:  # doctest: +SKIP
...     assessment = client.vet(judgment)
...     job = client.vet_batch(judgments)
...     results = list(client.results(job["job_id"]))

Those of :class:`AsyncClient` are awaited, streams and results iterated with ``async for``. What has no method of its
own is asked with :meth:`~Client.request`. Errors::

    MetajudgeError
    ├── ServiceError                    the service answered with a problem
    │   └── ServiceUnreachableError     it did not answer
    └── UnfinishedJobError              some items of a job have no result

A request that the service was too busy for (429, 503) or that did not reach it is sent again, after the time that the
answer names or after growing pauses, for ``patience_s`` at most (10 s where nothing answers). What may have been done
already is repeated only where that does no harm: reads, vets, and whatever has an idempotency key.
"""

import asyncio
import contextlib
import json
import random
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Self

import httpx2

from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.types import Assessment, Judgment

ENDED = ("done", "failed", "cancelled")
POLL_S = (0.2, 2.0)
PAUSE_S = (0.25, 8.0)
REFUSED_S = 10.0
"""How long a service that does not answer at all is tried again: the URL may be wrong."""
WAIT_S = 3600.0
HARMLESS = ("/v1/vet", "/v1/vet/stream", "/v1/audit")
JSONL = {"accept": "application/x-ndjson"}
Given = Judgment | Mapping[str, Any]
JobData = dict[str, Any]
_random = random.Random()


class ServiceError(MetajudgeError):
    """The service answered with a problem (RFC 9457); ``retry_after`` is in seconds, None where it does not say."""

    def __init__(self, status: int | None, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(f"{status}: {problem.get('detail', 'no details')} (request {problem.get('request_id', '?')})")
        self.status, self.problem, self.retry_after = status, problem, retry_after


class ServiceUnreachableError(ServiceError):
    """There was no answer, or not all of it (``status`` is None); ``sent`` is False where no request left."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(None, {"detail": message})
        self.args, self.sent = (message,), sent


class UnfinishedJobError(MetajudgeError):
    """``missing`` items of a job have no result; ``job`` is its status at the last check."""

    def __init__(self, job: JobData, missing: int, why: str = "") -> None:
        state = f"{why or job['state']}{': ' + job['detail'] if job.get('detail') else ''}"
        super().__init__(f"job {job['job_id']} is {state}: {missing} of its {job['items']} items have no result")
        self.job, self.missing = job, missing


def _plain(one: Given) -> Any:
    return one.model_dump(mode="json") if isinstance(one, Judgment) else one


def _vet(judgment: Given, key: str | None, choice: Mapping[str, Any]) -> dict[str, Any]:
    others = [_plain(one) for one in choice.get("others", ())]
    headers = {} if key is None else {"idempotency-key": key}
    return {"json": {"judgment": _plain(judgment), **choice, "others": others}, "headers": headers}


def _batch(lines: Any, key: str | None, choice: Mapping[str, Any]) -> dict[str, Any]:
    key = key or uuid.uuid4().hex  # sent again, it is still one job
    return {
        "content": lines,
        "params": choice,
        "headers": {"content-type": "application/x-ndjson", "idempotency-key": key},
    }


def _audit(lines: Any, choice: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": lines, "params": choice, "headers": {"content-type": "application/x-ndjson"}}


class _Lines:
    """The body of a batch, made as it is sent; ``again`` says whether it can be made twice."""

    def __init__(self, judgments: Iterable[Given]) -> None:
        self._judgments, self.again = judgments, not isinstance(judgments, Iterator)

    def __iter__(self) -> Iterator[bytes]:
        return (json.dumps(_plain(one)).encode() + b"\n" for one in self._judgments)


class _AsyncLines:
    """The same for :class:`AsyncClient`."""

    def __init__(self, judgments: Iterable[Given]) -> None:
        self._lines = _Lines(judgments)
        self.again = self._lines.again

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line


def _result(line: str) -> tuple[int, Assessment]:
    found = json.loads(line)
    return found["item"], Assessment.model_validate(found["assessment"])


@contextlib.contextmanager
def _answers(url: httpx2.URL) -> Iterator[None]:
    """Makes errors of ours out of the transport's."""
    try:
        yield
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        raise ConfigurationError(f"{str(url)!r} is not a service URL: it needs http:// or https://") from error
    except httpx2.HTTPError as error:
        sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        what, hint = ("cannot be reached", "check the URL and that it is running")
        if sent:
            what, hint = ("did not answer", "it may or may not have handled the request")
        raise ServiceUnreachableError(f"the service at {url} {what} ({reason}): {hint}", sent) from error


class _Patience:
    """Whether, and when, a request is sent again."""

    def __init__(self, seconds: float, method: str, path: str, options: Mapping[str, Any]) -> None:
        self._until = time.monotonic() + seconds
        self._refused_until = min(self._until, time.monotonic() + REFUSED_S)
        self._pause, self._longest = PAUSE_S
        content = options.get("content")
        self._resendable = getattr(content, "again", content is None or isinstance(content, str | bytes))
        keyed = "idempotency-key" in {name.lower() for name in options.get("headers") or {}}
        self._harmless = keyed or method.upper() in ("GET", "HEAD") or path in HARMLESS

    def pause_after(self, error: ServiceError) -> float:
        """Seconds to wait before the request is sent again; raises the error where it must not be."""
        pause = error.retry_after if error.retry_after is not None else self._pause
        pause *= 1 + _random.random() / 2  # those who were refused together do not come back together
        self._pause = min(2 * self._pause, self._longest)
        until = self._until if error.status is not None else self._refused_until
        if not self._again(error) or time.monotonic() + pause > until:
            raise error
        return pause

    def _again(self, error: ServiceError) -> bool:
        if isinstance(error, ServiceUnreachableError) and not error.sent:
            return True
        busy = error.status in (None, 503) or (error.status == 409 and error.retry_after is not None)
        return self._resendable and (error.status == 429 or (busy and self._harmless))

    def end(self) -> None:
        """What has begun to be answered is not asked for again."""
        self._until = self._refused_until = 0.0


def _checked(response: httpx2.Response) -> httpx2.Response:
    if response.is_success:
        return response
    problem: Any = None
    with contextlib.suppress(ValueError):
        problem = response.json()
    problem = problem if isinstance(problem, dict) else {"detail": response.text[:500]}
    after = response.headers.get("retry-after", "")
    raise ServiceError(response.status_code, problem, float(after) if after.isdecimal() else None)


def _waited(job: JobData, until: float, pause: float) -> float:
    """The next pause of waiting for a job."""
    if time.monotonic() + pause > until:
        raise UnfinishedJobError(job, job["items"] - job["done"], f"still {job['state']} after the time to wait")
    return min(1.5 * pause, POLL_S[1])


def _check_all_there(job: JobData, count: int) -> None:
    if count < job["items"]:
        raise UnfinishedJobError(job, job["items"] - count)


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
    """Asks the service at a URL, with an API key where it has any.

    Args:
        timeout_s: for the connection and for each part of an answer.
        patience_s: how long a request is sent again that the service was too busy for or that did not reach it.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        key: str | None = None,
        timeout_s: float = 130.0,
        patience_s: float = 60.0,
    ) -> None:
        self._http = httpx2.Client(**_options(url, key, timeout_s))
        self._patience_s = patience_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Any request, such as ``request("GET", "/v1/reviews")``; raises :class:`ServiceError` for a problem."""
        patience = _Patience(self._patience_s, method, path, options)
        while True:
            try:
                with _answers(self._http.base_url):
                    return _checked(self._http.request(method, path, **options))
            except ServiceError as error:
                time.sleep(patience.pause_after(error))

    def _lines(self, method: str, path: str, **options: Any) -> Iterator[str]:
        patience = _Patience(self._patience_s, method, path, options)
        while True:
            try:
                with _answers(self._http.base_url), self._http.stream(method, path, **options) as response:
                    if not response.is_success:
                        response.read()
                    lines = _checked(response).iter_lines()
                    patience.end()
                    yield from lines
                    return
            except ServiceError as error:
                time.sleep(patience.pause_after(error))

    def stream(self, method: str, path: str, **options: Any) -> Iterator[tuple[str, Any]]:
        """The server-sent events that answer any request: name, data."""
        return filter(None, map(_Events().feed, self._lines(method, path, **options)))

    def vet(self, judgment: Given, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        """Vets one judgment; ``choice`` is panel, rubric, strategy, policy, others."""
        found = self.request("POST", "/v1/vet", **_vet(judgment, idempotency_key, choice))
        return Assessment.model_validate_json(found.content)

    def vet_stream(self, judgment: Given, **choice: Any) -> Iterator[tuple[str, Any]]:
        """Events ``agent``, then ``assessment`` or ``error``, with their data."""
        return self.stream("POST", "/v1/vet/stream", **_vet(judgment, None, choice))

    def vet_batch(self, judgments: Iterable[Given], *, idempotency_key: str | None = None, **choice: Any) -> JobData:
        """Sends many judgments as they come; the job that vets them."""
        upload = _batch(_Lines(judgments), idempotency_key, choice)
        return dict(self.request("POST", "/v1/vet/batch", **upload).json())

    def audit(self, judgments: Iterable[Given], labels: Iterable[Mapping[str, Any]] = (), **choice: Any) -> JobData:
        """The document of ``metajudge audit --json``; a label has ``item_id`` and ``value``, ``choice``: on, right."""
        return dict(self.request("POST", "/v1/audit", **_audit(_Lines([*judgments, *labels]), choice)).json())

    def job(self, job_id: str) -> JobData:
        """How far a job has come."""
        return dict(self.request("GET", f"/v1/jobs/{job_id}").json())

    def wait(self, job_id: str, timeout_s: float = WAIT_S) -> JobData:
        """Returns when a job has ended; raises :class:`UnfinishedJobError` where it has not in time."""
        until, pause = time.monotonic() + timeout_s, POLL_S[0]
        while (job := self.job(job_id))["state"] not in ENDED:
            pause = _waited(job, until, pause)
            time.sleep(pause)
        return job

    def results(self, job_id: str, *, wait: bool = True, timeout_s: float = WAIT_S) -> Iterator[tuple[int, Assessment]]:
        """A job's results in input order: place in the upload, assessment.

        Args:
            wait: until the job has ended; else what there is so far.
            timeout_s: how long to wait.

        Raises:
            UnfinishedJobError: after the last result, where items have none, because the job was not waited for, was
                cancelled or failed; before the first one, where it has not ended in time.
        """
        job, count = self.wait(job_id, timeout_s) if wait else self.job(job_id), 0
        for line in self._lines("GET", f"/v1/jobs/{job_id}/results", headers=JSONL):
            yield _result(line)
            count += 1
        _check_all_there(job, count)


class AsyncClient:
    """As :class:`Client`, awaited."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        key: str | None = None,
        timeout_s: float = 130.0,
        patience_s: float = 60.0,
    ) -> None:
        self._http = httpx2.AsyncClient(**_options(url, key, timeout_s))
        self._patience_s = patience_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        patience = _Patience(self._patience_s, method, path, options)
        while True:
            try:
                with _answers(self._http.base_url):
                    return _checked(await self._http.request(method, path, **options))
            except ServiceError as error:
                await asyncio.sleep(patience.pause_after(error))

    async def _lines(self, method: str, path: str, **options: Any) -> AsyncIterator[str]:
        patience = _Patience(self._patience_s, method, path, options)
        while True:
            try:
                with _answers(self._http.base_url):
                    async with self._http.stream(method, path, **options) as response:
                        if not response.is_success:
                            await response.aread()
                        lines = _checked(response).aiter_lines()
                        patience.end()
                        async for line in lines:
                            yield line
                        return
            except ServiceError as error:
                await asyncio.sleep(patience.pause_after(error))

    async def stream(self, method: str, path: str, **options: Any) -> AsyncIterator[tuple[str, Any]]:
        events = _Events()
        async for line in self._lines(method, path, **options):
            if event := events.feed(line):
                yield event

    async def vet(self, judgment: Given, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        found = await self.request("POST", "/v1/vet", **_vet(judgment, idempotency_key, choice))
        return Assessment.model_validate_json(found.content)

    def vet_stream(self, judgment: Given, **choice: Any) -> AsyncIterator[tuple[str, Any]]:
        return self.stream("POST", "/v1/vet/stream", **_vet(judgment, None, choice))

    async def vet_batch(self, given: Iterable[Given], *, idempotency_key: str | None = None, **choice: Any) -> JobData:
        upload = _batch(_AsyncLines(given), idempotency_key, choice)
        return dict((await self.request("POST", "/v1/vet/batch", **upload)).json())

    async def audit(
        self, judgments: Iterable[Given], labels: Iterable[Mapping[str, Any]] = (), **choice: Any
    ) -> JobData:
        asked = _audit(_AsyncLines([*judgments, *labels]), choice)
        return dict((await self.request("POST", "/v1/audit", **asked)).json())

    async def job(self, job_id: str) -> JobData:
        return dict((await self.request("GET", f"/v1/jobs/{job_id}")).json())

    async def wait(self, job_id: str, timeout_s: float = WAIT_S) -> JobData:
        until, pause = time.monotonic() + timeout_s, POLL_S[0]
        while (job := await self.job(job_id))["state"] not in ENDED:
            pause = _waited(job, until, pause)
            await asyncio.sleep(pause)
        return job

    async def results(
        self, job_id: str, *, wait: bool = True, timeout_s: float = WAIT_S
    ) -> AsyncIterator[tuple[int, Assessment]]:
        job, count = await (self.wait(job_id, timeout_s) if wait else self.job(job_id)), 0
        async for line in self._lines("GET", f"/v1/jobs/{job_id}/results", headers=JSONL):
            yield _result(line)
            count += 1
        _check_all_there(job, count)
