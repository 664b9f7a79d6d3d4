"""The interface of a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from metajudge.store.sql import Connection
from metajudge.types import Assessment, CallRecord, Judgment, Reply

if TYPE_CHECKING:
    from metajudge.reviews.queue import ReviewQueue
    from metajudge.store.bulk import BulkStore
    from metajudge.store.line_facts import LineFacts
    from metajudge.store.outcomes import StoredOutcomes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One invocation of a command over many records.

    Attributes:
        status: ``running``, ``finished``, ``interrupted``, ``budget`` (stopped at its budget) or ``failed``;
            a run whose process was killed stays ``running`` until the next one on this store opens it.
        config: the settings of the run, as plain data without secrets.
        summary: counts at the end (or so far).
    """

    run_id: str
    command: str
    started_at: float
    status: str
    config: Mapping[str, Any]
    finished_at: float | None = None
    summary: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One record of the audit log; ``recorded_at`` in seconds since the epoch."""

    entry_id: int
    kind: str
    subject: str
    recorded_at: float
    payload: Mapping[str, Any]


class AuditLog(Protocol):
    """Append-only entries by kind and subject: policies, snapshots, proposals, backtests, activations."""

    async def append(self, kind: str, subject: str, payload: Mapping[str, Any], *, now: float) -> AuditEntry:
        """Adds an entry, durable when this returns."""

    async def entries(self, kind: str, subject: str | None = None, limit: int | None = None) -> list[AuditEntry]:
        """The entries of a kind (about one subject), oldest first; ``limit`` keeps the newest."""

    def appended(self, kind: str) -> int:
        """A number that grows whenever this process adds an entry of a kind; other processes' entries do not count."""


class Store(Protocol):
    """Append-only memory of judgments, calls, assessments and runs.

    Satisfies :class:`~metajudge.providers.model.CallCache` and :class:`~metajudge.providers.model.Ledger` too.
    Whatever is awaited is durable when the await returns.
    """

    @property
    def reviews(self) -> "ReviewQueue": ...

    @property
    def audit_log(self) -> AuditLog: ...

    @property
    def outcomes(self) -> "StoredOutcomes": ...

    @property
    def blocks(self) -> "BulkStore": ...

    @property
    def line_facts(self) -> "LineFacts": ...

    async def find_reply(self, key: str) -> Reply | None: ...

    def record_call(self, call: CallRecord) -> None: ...

    async def flush(self) -> None: ...

    async def save_assessment(
        self, key: str, judgment: Judgment, assessment: Assessment, run_id: str, found: Assessment | None = None
    ) -> None:
        """Keeps a judgment (once per content), its panel's assessment and the annotation of that.

        Several assessments of one key are a history, and so are the annotations of an assessment. A save that repeats
        the newest ones of the judgment and panel adds no row, even if several processes save at the same time; see
        :mod:`metajudge.store.repeats`.

        Args:
            assessment: with its probability and decision, if any.
            found: the panel's own assessment; None for ``assessment`` without probability, guarantee and decision.
        """

    async def find_assessments(self, keys: Sequence[str]) -> dict[str, Assessment]:
        """The panels' newest assessment per key, without annotations, for the keys that have one."""

    async def judgments(self) -> list[Judgment]:
        """Every judgment whose texts are kept."""

    async def find_judgment(self, judgment_digest: str) -> Judgment | None:
        """A judgment by the digest of its content, None if unknown or forgotten."""

    async def newest_assessments(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
        """A page of the current assessment of each judgment by each panel, with its newest annotation, oldest first.

        Each comes with the number of its version (see :mod:`metajudge.store.versions`).

        Args:
            after: the last number of the page before; 0 for the first page.
        """

    async def run_assessments(self, run_id: str, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
        """A page of a run's own assessments, paged like :meth:`newest_assessments`; reused ones are not included."""

    async def start_run(self, run: RunRecord) -> None: ...

    async def finish_run(self, run_id: str, status: str, finished_at: float, summary: Mapping[str, Any]) -> None: ...

    async def runs(self, limit: int = 50) -> list[RunRecord]:
        """Newest first."""

    async def show(self, name: str) -> dict[str, Any] | None:
        """Everything kept about a judgment id (or an item id, or a run id): records, assessments, calls."""

    async def ask(self, question: Callable[[Connection], T], /) -> T:
        """Runs a read-only query of :mod:`~metajudge.store.browsing` or :mod:`~metajudge.store.dashboard`.

        Args:
            question: is called with a connection, in a thread; must not change anything.
        """

    async def forget(self, item_id: str) -> int:
        """Redacts the texts of an item and all texts about it; keeps digests and numbers.

        Returns:
            How many rows were redacted.
        """

    async def close(self) -> None:
        """Commits the queue and closes the database."""
