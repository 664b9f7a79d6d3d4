"""What the client's methods send, and what they make of the answers; the same for both clients."""

import contextlib
import json
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel

from metajudge.client.errors import ServiceError, ServiceUnreachableError, UnfinishedJobError, error_of
from metajudge.errors import ConfigurationError
from metajudge.types import Assessment, Item

T = TypeVar("T")
Record = BaseModel | Mapping[str, Any]
"""A judgment, an item, a question or a case, as an object or as plain data."""
Data = dict[str, Any]
Result = Assessment | Data
"""Of a job that vets an assessment; of others the record as plain data, ``{"error": reason}`` where there is none."""

ENDED = ("done", "failed", "cancelled")
POLL_S = (0.2, 2.0)
WAIT_S = 3600.0
JSONL = {"accept": "application/x-ndjson"}
_NDJSON = {"content-type": "application/x-ndjson"}
PAUSE_S = (0.25, 8.0)
REFUSED_S = 10.0
"""How long a service that does not answer at all is tried again: the URL may be wrong."""
HARMLESS = ("/v1/vet", "/v1/vet/stream", "/v1/audit", "/v1/rank", "/v1/peers")
_random = random.Random()


class Patience:
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


@contextlib.contextmanager
def answers(url: httpx2.URL) -> Iterator[None]:
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


def checked(response: httpx2.Response) -> httpx2.Response:
    """The response, where it is none of a problem.

    Raises:
        ServiceError: a problem.
    """
    if response.is_success:
        return response
    problem: Any = None
    with contextlib.suppress(ValueError):
        problem = response.json()
    problem = problem if isinstance(problem, dict) else {"detail": response.text[:500]}
    after = response.headers.get("retry-after", "")
    raise error_of(response.status_code, problem, float(after) if after.isdecimal() else None)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    options: Data
    read: Callable[[httpx2.Response], T]


def plain(one: Record) -> Any:
    """A record as JSON takes it."""
    return one.model_dump(mode="json") if isinstance(one, BaseModel) else one


def _data(response: httpx2.Response) -> Data:
    return dict(response.json())


def get(path: str, params: Mapping[str, Any] | None = None) -> Call[Data]:
    """A document; parameters that are None are left out."""
    given = {name: value for name, value in (params or {}).items() if value is not None}
    return Call("GET", path, {"params": given}, _data)


def vet(judgment: Record, key: str | None, choice: Mapping[str, Any]) -> Call[Assessment]:
    """One judgment, vetted."""
    others = [plain(one) for one in choice.get("others", ())]
    body = {"judgment": plain(judgment), **choice, "others": others}
    headers = {} if key is None else {"idempotency-key": key}
    read = Assessment.model_validate_json
    return Call("POST", "/v1/vet", {"json": body, "headers": headers}, lambda answer: read(answer.content))


def judging(path: str, name: str, given: Record, key: str | None, choice: Mapping[str, Any]) -> Call[Data]:
    """An item, a question or a case, under its name in the body: judged once."""
    options = {"json": {name: plain(given), **choice}, "headers": {"idempotency-key": _once(key)}}
    return Call("POST", path, options, _data)


def clash(subject: Record, key: str | None, choice: Mapping[str, Any]) -> Call[Data]:
    """A panel ranks the responses of an item, or the candidates' answers to a question."""
    is_item = isinstance(subject, Item) or "responses" in plain(subject)
    return judging("/v1/clash", "item" if is_item else "question", subject, key, choice)


def batch(path: str, lines: Any, key: str | None, choice: Mapping[str, Any]) -> Call[Data]:
    """Many records for a job."""
    headers = {**_NDJSON, "idempotency-key": _once(key)}
    return Call("POST", path, {"content": lines, "params": choice, "headers": headers}, _data)


def audit(lines: Any, choice: Mapping[str, Any]) -> Call[Data]:
    """Judgments and labels for an audit."""
    return Call("POST", "/v1/audit", {"content": lines, "params": choice, "headers": _NDJSON}, _data)


def post(path: str, body: Mapping[str, Any]) -> Call[Data]:
    """Any other request with a body; fields that are None are left out."""
    given = {name: value for name, value in body.items() if value is not None}
    return Call("POST", path, {"json": given, "headers": {}}, _data)


def of_review(review_id: str, what: str, body: Mapping[str, Any]) -> Call[Data]:
    """A claim, a release or a decision."""
    return post(f"/v1/reviews/{quote(review_id, safe='')}/{what}", body)


def _once(key: str | None) -> str:
    """A key, so that what is sent again is done once."""
    return key or uuid.uuid4().hex


class Lines:
    """The body of a batch, made as it is sent; ``again`` says whether it can be made twice."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records, self.again = records, not isinstance(records, Iterator)

    def __iter__(self) -> Iterator[bytes]:
        return (json.dumps(plain(one)).encode() + b"\n" for one in self._records)


class AsyncLines:
    """The same for the asynchronous client."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._lines = Lines(records)
        self.again = self._lines.again

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line


def result(line: str) -> tuple[int, Result]:
    """A line of a job's results: place in the upload, result."""
    found = json.loads(line)
    if "assessment" in found:
        return found["item"], Assessment.model_validate(found["assessment"])
    return found["item"], found.get("clash") or found.get("case") or {"error": found["error"]}


def assessments_in(page: Data) -> list[Assessment]:
    """The assessments of a page."""
    return [Assessment.model_validate(one) for one in page["assessments"]]


def waited(job: Data, until: float, pause: float) -> float:
    """The next pause of waiting for a job."""
    if time.monotonic() + pause > until:
        raise UnfinishedJobError(job, job["items"] - job["done"], f"still {job['state']} after the time to wait")
    return min(1.5 * pause, POLL_S[1])


def check_all_there(job: Data, count: int) -> None:
    """Refuses a job some of whose items have no result."""
    if count < job["items"]:
        raise UnfinishedJobError(job, job["items"] - count)


class Events(list[str]):
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
