"""What providers' batch APIs have in common: lines in, a status to look at, one answer a line out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from metajudge.providers.http_errors import Asked
from metajudge.providers.model import Endpoint


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one batch may hold: requests, and bytes of all requests together."""

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


class BatchPhase(StrEnum):
    """Where a batch stands: being worked on, ended (results may be fetched), or refused as a whole."""

    WAITING = "waiting"
    ENDED = "ended"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """A batch as its provider reports it.

    Attributes:
        done: requests that have ended, in whatever way.
        sources: paths where the results are, once ended.
        unanswered: how requests ended that the results do not mention.
        refusal: status and body of the error, where the batch was refused.
    """

    phase: BatchPhase
    done: int = 0
    total: int = 0
    sources: tuple[str, ...] = ()
    unanswered: Ending = Ending.MISSING
    refusal: tuple[int, bytes] | None = None


class BatchService(Protocol):
    """One endpoint's batch API."""

    @property
    def endpoint(self) -> Endpoint: ...

    @property
    def limits(self) -> BatchLimits: ...

    async def submit(
        self, label: str, lines: Sequence[BatchLine], asked: Asked, headers: tuple[tuple[str, str], ...]
    ) -> str:
        """Submits a batch and returns the provider's id for it.

        Raises:
            ProviderError: typed; whether the batch exists all the same is found out by :meth:`find`.
        """

    async def find(self, label: str, begun_at: float, requests: int, known: frozenset[str], asked: Asked) -> str | None:
        """The id of the batch that was submitted under a label, None where there is none.

        Args:
            begun_at: seconds since the epoch; the batch is no older.
            requests: how many it holds.
            known: ids that are other batches'.
        """

    async def look(self, batch_id: str, asked: Asked) -> BatchStatus:
        """Where a batch stands."""

    async def fetch(self, source: str, asked: Asked) -> bytes:
        """The results at one of the status's sources, as JSON lines."""

    async def cancel(self, batch_id: str, asked: Asked) -> None:
        """Asks the provider to stop; what is answered by then is kept and billed."""

    def read(self, line: Mapping[str, object]) -> tuple[str, BatchAnswer] | None:
        """Custom id and answer of one line of results, None where it is no such line."""
