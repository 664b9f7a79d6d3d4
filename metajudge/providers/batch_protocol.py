"""What providers' batch APIs have in common: lines in, a status to look at, one answer a line out."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import orjson

from metajudge.errors import BadReplyError
from metajudge.providers.client import EndpointClient
from metajudge.providers.http_errors import Asked
from metajudge.providers.model import Endpoint

CALL_S, TRANSFER_S = 60.0, 1800.0
_PAGES = 50


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one batch may contain: requests, and bytes of all requests together."""

    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of a batch: the id under which its answer comes back, and the body that would be sent live."""

    custom_id: str
    body: bytes


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


class BatchService(ABC):
    """One endpoint's batch API."""

    limits: ClassVar[BatchLimits]
    path: ClassVar[str]

    def __init__(self, client: EndpointClient) -> None:
        self.client = client

    @property
    def endpoint(self) -> Endpoint:
        return self.client.endpoint

    @abstractmethod
    async def submit(
        self, label: str, lines: Sequence[BatchLine], asked: Asked, headers: tuple[tuple[str, str], ...]
    ) -> str:
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

    @abstractmethod
    async def look(self, batch_id: str, asked: Asked) -> BatchStatus:
        """The batch's state."""

    @abstractmethod
    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        """Custom id and answer of one line of results, None where it is no such line."""

    async def fetch(self, source: str, asked: Asked) -> bytes:
        """The results at one of the status's sources, as JSON lines."""
        return await self.client.exchange(source, asked, timeout_s=TRANSFER_S)

    async def get(self, path: str, asked: Asked) -> dict[str, Any]:
        """What the provider says at a path."""
        return read_object(await self.client.exchange(path, asked, timeout_s=CALL_S), asked)

    async def pages(self, asked: Asked, after: str) -> AsyncIterator[list[dict[str, Any]]]:
        """The account's batches, newest first, page by page.

        Args:
            after: the parameter that names the last batch of the page before.
        """
        last = ""
        for _ in range(_PAGES):
            page = await self.get(f"{self.path}?limit=100{last}", asked)
            batches = [one for one in page.get("data") or () if isinstance(one, dict) and one.get("id")]
            yield batches
            if not page.get("has_more") or not batches:
                return
            last = f"&{after}={batches[-1]['id']}"


def read_object(content: bytes, asked: Asked) -> dict[str, Any]:
    """A JSON object of an answer.

    Raises:
        BadReplyError: it is none.
    """
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


def read_field(found: Mapping[str, Any], field: str, asked: Asked) -> str:
    """A text of an answer's object.

    Raises:
        BadReplyError: it is missing or empty.
    """
    value = found.get(field)
    if not isinstance(value, str) or not value:
        raise BadReplyError(f"{asked} answered a request about batches without {field!r}", status=200)
    return value
