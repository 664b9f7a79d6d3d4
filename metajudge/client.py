"""A client of the HTTP service, synchronous and asynchronous.

>>> with Client("http://127.0.0.1:8080", key="mj_...") as client:  # doctest: +SKIP
...     assessment = client.vet(judgment)
...     job = client.vet_batch(judgments)
...     for item, assessment in client.results(client.wait(job["job_id"])["job_id"]):
...         ...

Both have the same methods; those of :class:`AsyncClient` are awaited, its streams iterated with ``async for``. What
has no method of its own is asked with :meth:`~Client.request`. Needs httpx2, which comes with the providers' SDKs.
"""

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from metajudge.errors import MetajudgeError
from metajudge.types import Assessment, Judgment

if TYPE_CHECKING:
    import httpx2

ENDED = ("done", "failed", "cancelled")
POLL_S = 0.2
PAGE = 500
Given = Judgment | Mapping[str, Any]


class ServiceError(MetajudgeError):
    """The service answered with a problem.

    Attributes:
        status: of the answer; ``problem`` is its body (RFC 9457).
        retry_after: seconds to wait before trying again, None where the service does not say.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(f"{status}: {problem.get('detail', 'no details')} (request {problem.get('request_id', '?')})")
        self.status, self.problem, self.retry_after = status, problem, retry_after


def _plain(one: Given) -> Any:
    return one.model_dump(mode="json") if isinstance(one, Judgment) else one


def _vet_body(judgment: Given, choice: Mapping[str, Any]) -> dict[str, Any]:
    others = [_plain(one) for one in choice.get("others", ())]
    return {"judgment": _plain(judgment), **choice, "others": others}


def _batch(judgments: Iterable[Given]) -> Iterator[bytes]:
    for one in judgments:
        yield json.dumps(_plain(one)).encode() + b"\n"


def _key_header(key: str | None) -> dict[str, str]:
    return {} if key is None else {"idempotency-key": key}


def _checked(response: "httpx2.Response") -> "httpx2.Response":
    if response.is_success:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = {"detail": response.text[:500]}
    after = response.headers.get("retry-after", "")
    raise ServiceError(response.status_code, problem, float(after) if after.isdecimal() else None)


class _Events:
    """Server-sent events from lines."""

    def __init__(self) -> None:
        self._name, self._data = "message", list[str]()

    def feed(self, line: str) -> tuple[str, Any] | None:
        """Takes a line; the event it ends, if it ends one."""
        field, _, value = line.partition(":")
        if field == "event":
            self._name = value.strip()
        elif field == "data":
            self._data.append(value.removeprefix(" "))
        elif not line and self._data:
            found = self._name, json.loads("\n".join(self._data))
            self._name, self._data = "message", []
            return found
        return None


def _options(url: str, key: str | None, timeout_s: float) -> dict[str, Any]:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout_s}


class Client:
    """Asks the service.

    Args:
        url: where it is.
        key: an API key, None for a service without keys.
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, timeout_s: float = 130.0) -> None:
        import httpx2

        self._http = httpx2.Client(**_options(url, key, timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request(self, method: str, path: str, **options: Any) -> "httpx2.Response":
        """Any request, for instance ``request("GET", "/v1/reviews", params={"status": "open"})``.

        Raises:
            ServiceError: the answer is a problem.
        """
        return _checked(self._http.request(method, path, **options))

    def vet(self, judgment: Given, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        """Vets one judgment; ``choice`` is panel, rubric, strategy, policy, others."""
        headers = _key_header(idempotency_key)
        found = self.request("POST", "/v1/vet", json=_vet_body(judgment, choice), headers=headers)
        return Assessment.model_validate_json(found.content)

    def vet_stream(self, judgment: Given, **choice: Any) -> Iterator[tuple[str, Any]]:
        """Events ``agent``, then ``assessment`` or ``error``, with their data."""
        events = _Events()
        with self._http.stream("POST", "/v1/vet/stream", json=_vet_body(judgment, choice)) as response:
            if not response.is_success:
                response.read()
            for line in _checked(response).iter_lines():
                if event := events.feed(line):
                    yield event

    def vet_batch(
        self, judgments: Iterable[Given], *, idempotency_key: str | None = None, **choice: Any
    ) -> dict[str, Any]:
        """Sends many judgments as they come; the job that vets them."""
        headers = {"content-type": "application/x-ndjson", **_key_header(idempotency_key)}
        job = self.request("POST", "/v1/vet/batch", content=_batch(judgments), headers=headers, params=choice).json()
        return dict(job)

    def job(self, job_id: str) -> dict[str, Any]:
        """How far a job has come."""
        return dict(self.request("GET", f"/v1/jobs/{job_id}").json())

    def wait(self, job_id: str) -> dict[str, Any]:
        """Returns when a job has ended."""
        while (job := self.job(job_id))["state"] not in ENDED:
            time.sleep(POLL_S)
        return job

    def results(self, job_id: str) -> Iterator[tuple[int, Assessment]]:
        """A job's results in input order: place in the upload, assessment."""
        after: int | None = -1
        while after is not None:
            page = self.request("GET", f"/v1/jobs/{job_id}/results", params={"after": after, "limit": PAGE}).json()
            yield from ((one["item"], Assessment.model_validate(one["assessment"])) for one in page["results"])
            after = page["next_cursor"]


class AsyncClient:
    """As :class:`Client`, awaited."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, timeout_s: float = 130.0) -> None:
        import httpx2

        self._http = httpx2.AsyncClient(**_options(url, key, timeout_s))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def request(self, method: str, path: str, **options: Any) -> "httpx2.Response":
        return _checked(await self._http.request(method, path, **options))

    async def vet(self, judgment: Given, *, idempotency_key: str | None = None, **choice: Any) -> Assessment:
        headers = _key_header(idempotency_key)
        found = await self.request("POST", "/v1/vet", json=_vet_body(judgment, choice), headers=headers)
        return Assessment.model_validate_json(found.content)

    async def vet_stream(self, judgment: Given, **choice: Any) -> AsyncIterator[tuple[str, Any]]:
        events = _Events()
        async with self._http.stream("POST", "/v1/vet/stream", json=_vet_body(judgment, choice)) as response:
            if not response.is_success:
                await response.aread()
            async for line in _checked(response).aiter_lines():
                if event := events.feed(line):
                    yield event
