"""Providers' batch APIs: lines in, a status to look at, one answer a line out."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

import orjson

from metajudge.errors import BadReplyError, ConfigurationError
from metajudge.providers.client import EndpointClient, Headers
from metajudge.providers.http_errors import Asked
from metajudge.providers.protocols import ERROR_STATUS

_CALL_S, _TRANSFER_S = 60.0, 1800.0
_PAGES = 50
_CLOCK_SKEW_S = 600.0

Lines = Sequence[tuple[str, bytes]]
"""The requests of a batch: the id under which the answer comes back, and the body that would be sent live."""


class Ending(StrEnum):
    """How a request ended that has no HTTP status of its own."""

    EXPIRED = "expired"
    CANCELED = "canceled"
    MISSING = "missing"
    CONTRADICTORY = "contradictory"


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What came back for one request.

    Attributes:
        status: the HTTP status the request would have had, None where it was not worked on.
        content: the body that goes with the status.
        ending: why there is no status.
    """

    status: int | None
    content: bytes = b""
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """A batch as its provider reports it.

    Attributes:
        ended: whether results may be fetched, or the batch was refused as a whole.
        done: requests that have ended, in whatever way.
        sources: paths where the results are, once ended.
        unanswered: how requests ended that the results do not mention.
        refusal: status and body of the error, where the batch was refused.
    """

    ended: bool
    done: int = 0
    total: int = 0
    sources: tuple[str, ...] = ()
    unanswered: Ending = Ending.MISSING
    refusal: tuple[int, bytes] | None = None


@dataclass(slots=True)
class BatchResults:
    """The answers of one batch, and what is odd about its files.

    Attributes:
        answers: custom id -> answer, for every request of the batch.
        cut: whether a file ends in the middle of a line.
        unreadable: lines that are no results (among them one cut in the middle).
        unknown: answers to requests that the batch did not contain.
        repeated: requests with several answers; where these differ, none of them is taken.
    """

    answers: dict[str, BatchAnswer] = field(default_factory=dict)
    cut: bool = False
    unreadable: int = 0
    unknown: int = 0
    repeated: int = 0

    @property
    def missing(self) -> int:
        """Requests without a usable line."""
        return sum(one.ending is Ending.MISSING for one in self.answers.values())

    def oddities(self) -> str:
        """Warnings about the files; empty if none."""
        found = [
            (self.missing, "requests without an answer"),
            (self.unreadable, "unreadable lines"),
            (self.unknown, "answers to unknown requests"),
            (self.repeated, "requests answered more than once"),
        ]
        return ", ".join(f"{count} {what}" for count, what in found if count)


class BatchService(ABC):
    """One endpoint's batch API.

    Attributes:
        path: of its batches.
        most: requests that one batch may contain.
        most_bytes: of all its requests together.
        after: the parameter that names the last batch of the page before.
    """

    path: ClassVar[str]
    most: ClassVar[int]
    most_bytes: ClassVar[int]
    after: ClassVar[str]

    def __init__(self, client: EndpointClient) -> None:
        self.client = client

    @abstractmethod
    async def submit(self, label: str, lines: Lines, asked: Asked, headers: Headers) -> str:
        """Submits a batch and returns the provider's id for it.

        Raises:
            ProviderError: typed; whether the batch exists all the same is found out by :meth:`find`.
        """

    @abstractmethod
    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        """The id of the batch that was submitted under a label, None if there was no such batch.

        Args:
            begun_at: seconds since the epoch; the batch is no older.
            requests: their number.
            known: ids that are other batches'.
        """

    async def look(self, batch_id: str, asked: Asked) -> BatchStatus:
        """The batch's state."""
        return self.status(await self._get(f"{self.path}/{batch_id}", asked))

    @abstractmethod
    def status(self, found: Mapping[str, Any]) -> BatchStatus:
        """A batch's state, of what the provider says of it."""

    @abstractmethod
    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        """Custom id and answer of one line of results, None where it is no such line."""

    async def fetch(self, source: str, asked: Asked) -> bytes:
        """The results at one of the status's sources, as JSON lines."""
        return await self.client.exchange(source, asked, timeout_s=_TRANSFER_S)

    def results(
        self, files: Iterable[bytes], ids: Collection[str], unanswered: Ending = Ending.MISSING
    ) -> BatchResults:
        """Reads results by custom id, never by their order.

        Args:
            files: JSON lines as fetched; the order of files and lines means nothing.
            ids: the requests of the batch.
            unanswered: how requests ended that no line mentions.
        """
        results, wanted, repeated = BatchResults(), frozenset(ids), set[str]()
        for content in files:
            *lines, last = content.split(b"\n")
            for line in filter(bytes.strip, (*lines, last)):
                try:
                    data = orjson.loads(line)
                except orjson.JSONDecodeError:
                    data, results.cut = None, results.cut or line is last
                found = self.read(data) if isinstance(data, dict) else None
                if found is None:
                    results.unreadable += 1
                elif found[0] not in wanted:
                    results.unknown += 1
                elif (earlier := results.answers.setdefault(*found)) is not found[1]:
                    repeated.add(found[0])
                    if earlier != found[1]:  # which one was meant cannot be known
                        results.answers[found[0]] = BatchAnswer(None, ending=Ending.CONTRADICTORY)
        results.repeated = len(repeated)
        results.answers = dict.fromkeys(ids, BatchAnswer(None, ending=unanswered)) | results.answers
        return results

    async def _get(self, path: str, asked: Asked) -> dict[str, Any]:
        return _object(await self.client.exchange(path, asked, timeout_s=_CALL_S), asked)

    async def _pages(self, asked: Asked) -> AsyncIterator[list[dict[str, Any]]]:
        """The account's batches, newest first, page by page."""
        last = ""
        for _ in range(_PAGES):
            page = await self._get(f"{self.path}?limit=100{last}", asked)
            batches = [one for one in page.get("data") or () if isinstance(one, dict) and one.get("id")]
            yield batches
            if not page.get("has_more") or not batches:
                return
            last = f"&{self.after}={batches[-1]['id']}"


class OpenAIBatches(BatchService):
    """OpenAI's Batch API, and servers that speak it: upload a file, make a batch of it, fetch two files of results.

    Shapes follow the reference of ``/v1/files`` and ``/v1/batches``. The batch carries our label in its metadata, so
    that one whose submission was cut off is found again in the list.
    """

    path, after, most, most_bytes = "/batches", "after", 50_000, 200_000_000
    _LABEL, _URL = "metajudge", "/v1/chat/completions"

    async def submit(self, label: str, lines: Lines, asked: Asked, headers: Headers) -> str:
        written = (
            b'{"custom_id":%s,"method":"POST","url":"%s","body":%s}\n' % (orjson.dumps(name), self._URL.encode(), body)
            for name, body in lines
        )
        file = (f"{self._LABEL}-{label}.jsonl", b"".join(written))
        uploaded = await self.client.exchange("/files", asked, timeout_s=_TRANSFER_S, file=file, headers=headers)
        wanted = {
            "input_file_id": _id_of(uploaded, asked),
            "endpoint": self._URL,
            "completion_window": "24h",
            "metadata": {self._LABEL: label},
        }
        body = orjson.dumps(wanted)
        made = await self.client.exchange(self.path, asked, timeout_s=_CALL_S, body=body, headers=headers)
        return _id_of(made, asked)

    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        async for batches in self._pages(asked):
            for one in batches:
                if (one.get("metadata") or {}).get(self._LABEL) == label:
                    return str(one["id"])
            if batches and (batches[-1].get("created_at") or 0) < begun_at - 3600:
                break
        return None

    def status(self, found: Mapping[str, Any]) -> BatchStatus:
        counts, state = found.get("request_counts") or {}, found.get("status")
        done, total = (counts.get("completed") or 0) + (counts.get("failed") or 0), counts.get("total") or 0
        if state == "failed":
            return BatchStatus(True, done, total, refusal=_refusal(found))
        if state not in ("completed", "expired", "cancelled"):
            return BatchStatus(False, done, total)
        files = [found.get(name) for name in ("output_file_id", "error_file_id")]
        sources = tuple(f"/files/{name}/content" for name in files if name)
        unanswered = {"expired": Ending.EXPIRED, "cancelled": Ending.CANCELED}.get(state, Ending.MISSING)
        return BatchStatus(True, done, total, sources, unanswered)

    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        name, response, error = line.get("custom_id"), line.get("response"), line.get("error")
        if not isinstance(name, str):
            return None
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            return name, BatchAnswer(response["status_code"], orjson.dumps(response.get("body")))
        match error:
            case {"code": "batch_expired"}:
                return name, BatchAnswer(None, ending=Ending.EXPIRED)
            case {"code": "batch_cancelled" | "batch_canceled"}:
                return name, BatchAnswer(None, ending=Ending.CANCELED)
            case dict():  # the provider's own failure: neither answered nor rejected
                return name, BatchAnswer(500, orjson.dumps({"error": error}))
        return None


class AnthropicBatches(BatchService):
    """Anthropic's Message Batches: one request makes the batch, one file contains the results.

    Shapes follow the reference of ``/v1/messages/batches``. A batch carries no label of ours but in the custom ids of
    its requests, which are seen in its results alone: one whose submission was cut off is found by its age and its
    size, and known for certain once it has ended.
    """

    path, after, most, most_bytes = "/v1/messages/batches", "after_id", 100_000, 256_000_000

    async def submit(self, label: str, lines: Lines, asked: Asked, headers: Headers) -> str:
        requests = b",".join(b'{"custom_id":%s,"params":%s}' % (orjson.dumps(name), body) for name, body in lines)
        body = b'{"requests":[' + requests + b"]}"
        return _id_of(
            await self.client.exchange(self.path, asked, timeout_s=_TRANSFER_S, body=body, headers=headers), asked
        )

    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        candidates: list[dict[str, Any]] = []
        async for batches in self._pages(asked):
            young = [one for one in batches if _created_at(one) >= begun_at - _CLOCK_SKEW_S]
            candidates += [one for one in young if _total(one) == requests and one["id"] not in known]
            if len(young) < len(batches):
                break
        unsure = None
        for one in reversed(candidates):  # the oldest first
            name = str(one["id"])
            if one.get("processing_status") != "ended":
                unsure = unsure or name
            elif (first := await self._first_id(name, asked)) is not None and first.startswith(f"{label}_"):
                return name
        return unsure

    async def _first_id(self, batch_id: str, asked: Asked) -> str | None:
        content = await self.fetch(f"{self.path}/{batch_id}/results", asked)
        name = _object(content.split(b"\n", 1)[0], asked).get("custom_id") if content else None
        return name if isinstance(name, str) else None

    def status(self, found: Mapping[str, Any]) -> BatchStatus:
        total = _total(found)
        done = total - ((found.get("request_counts") or {}).get("processing") or 0)
        if found.get("processing_status") != "ended":
            return BatchStatus(False, done, total)
        return BatchStatus(True, done, total, (f"{self.path}/{found.get('id')}/results",))

    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        name, result = line.get("custom_id"), line.get("result")
        if not isinstance(name, str):
            return None
        match result:
            case {"type": "succeeded", "message": message}:
                return name, BatchAnswer(200, orjson.dumps(message))
            case {"type": "errored", "error": error}:
                inner = error.get("error") if isinstance(error, dict) else None
                kind = inner.get("type") if isinstance(inner, dict) else None
                return name, BatchAnswer(ERROR_STATUS.get(str(kind), 500), orjson.dumps(error))
            case {"type": "expired"}:
                return name, BatchAnswer(None, ending=Ending.EXPIRED)
            case {"type": "canceled"}:
                return name, BatchAnswer(None, ending=Ending.CANCELED)
        return None


SERVICES: dict[str, type[BatchService]] = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}
"""The batch API that goes with a protocol."""


def service_of(client: EndpointClient) -> BatchService:
    """The batch API at an endpoint.

    Raises:
        ConfigurationError: its protocol has none.
    """
    if (found := SERVICES.get(client.endpoint.protocol)) is None:
        raise ConfigurationError(f"{client.endpoint} has no batch API: leave out --batch to ask it live")
    return found(client)


def _object(content: bytes, asked: Asked) -> dict[str, Any]:
    """A JSON object of an answer. Raises BadReplyError: it is none."""
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise BadReplyError(
            f"{asked} answered a request about batches with no JSON object: {asked.excerpt(content) or 'nothing'}",
            status=200,
        )
    return found


def _id_of(content: bytes, asked: Asked) -> str:
    """The id in an answer. Raises BadReplyError: there is none."""
    value = _object(content, asked).get("id")
    if not isinstance(value, str) or not value:
        raise BadReplyError(f"{asked} answered a request about batches without 'id'", status=200)
    return value


def _refusal(found: Mapping[str, Any]) -> tuple[int, bytes]:
    """Status and body of the error that keeps a whole batch from being worked on."""
    errors = [one for one in (found.get("errors") or {}).get("data") or () if isinstance(one, dict)]
    codes = {str(one.get("code")) for one in errors}
    said = "; ".join(dict.fromkeys(str(one.get("message")) for one in errors[:3]))
    message = f"the batch was refused: {said or 'the batch failed without a reason'}"
    status = 429 if "token_limit_exceeded" in codes else 404 if "model_not_found" in codes else 400
    return status, orjson.dumps({"error": {"message": message, "code": min(codes, default=None)}})


def _total(found: Mapping[str, Any]) -> int:
    counts = found.get("request_counts")
    return sum(n for n in counts.values() if isinstance(n, int)) if isinstance(counts, dict) else 0


def _created_at(found: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(found.get("created_at"))).timestamp()
    except ValueError:
        return float("inf")
