"""What a route is given of a request: the running service, the caller, the store and the change log.

:mod:`.authorization` checks permissions. All dependencies are coroutines: plain functions would each run in a thread.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from fastapi import Depends, Header, HTTPException, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from metajudge.errors import StoreError
from metajudge.providers.budget import DailyBudget
from metajudge.store import Store
from metajudge.store.answers import StoredAnswers
from metajudge.store.overview import Undecided, undecided_by
from metajudge.store.sql import Connection
from metajudge.vetting.engine import Engine

from .background import OutcomeFlow, Promises
from .computing import Admission, Computing
from .errors import request_id_of
from .hosts import HostRule
from .jobs import JobQueue
from .keys import ANYBODY, Caller, KeyRing, Scope
from .limits import RateLimit, Visitors
from .metrics import Metrics
from .options import ServiceOptions
from .panels import Panels
from .tasks import Tasks

P = ParamSpec("P")
T = TypeVar("T")
KEY_NEEDED = "an API key is required: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`"
CHANGE = "change"
"""The kind of the change log's records in the store's audit log; their subject is the changed object."""

_bearer = HTTPBearer(auto_error=False, description="A key of the service.")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="A key of the service.")
_log = logging.getLogger("metajudge.api.audit")


class Action(StrEnum):
    """The kinds of changes."""

    RUBRIC_PUT = "rubric.put"
    POLICY_PUT = "policy.put"
    REVIEW_OPEN = "review.open"
    REVIEW_CLAIM = "review.claim"
    REVIEW_RELEASE = "review.release"
    REVIEW_DECIDE = "review.decide"
    REVIEW_AMEND = "review.amend"
    REVIEW_COMMENT = "review.comment"
    REVIEW_ASSIGN = "review.assign"
    FEEDBACK_PROPOSE = "feedback.propose"
    FEEDBACK_BACKTEST = "feedback.backtest"
    FEEDBACK_ACTIVATE = "feedback.activate"
    FEEDBACK_DRAFT = "feedback.draft"
    FEEDBACK_REJUDGE = "feedback.rejudge"
    CASE_DECIDE = "case.decide"
    EXPORT = "export.preferences"
    JOB_ADD = "job.add"
    JOB_CANCEL = "job.cancel"
    JOB_DELETE = "job.delete"


@dataclass(frozen=True, slots=True)
class Service:
    """The parts shared by requests; opened and closed with the application.

    Attributes:
        budget: of a day; None for no limit.
        leaving: set at the stop signal.
    """

    options: ServiceOptions
    engine: Engine
    panels: Panels
    tasks: Tasks
    answers: StoredAnswers
    jobs: JobQueue
    keys: KeyRing
    rates: RateLimit
    visitors: Visitors
    admission: Admission
    computing: Computing
    metrics: Metrics
    promises: Promises
    outcomes: OutcomeFlow
    hosts: HostRule
    budget: DailyBudget | None = None
    leaving: asyncio.Event = field(default_factory=asyncio.Event)

    def leave(self) -> None:
        """Called at the stop signal: streams that only watch end, and an unreachable database is not waited for."""
        self.leaving.set()
        self.jobs.hurry()


@dataclass(frozen=True, slots=True)
class Sight:
    """A caller's permissions to see labels: the rule for the HTTP interface and the pages.

    An item's label, and anything derived from it, is hidden from reviewers who have to decide what is correct. A key
    with ``review`` and without ``read`` never sees labels. A key with both does not see those of items that wait for
    its review.

    Attributes:
        reviewer: the name recorded with their decisions; None while unknown.
    """

    caller: Caller
    reviewer: str | None

    @property
    def reviews(self) -> bool:
        """Whether the caller decides reviews."""
        return Scope.REVIEW in self.caller.scopes

    @property
    def labels(self) -> bool:
        """Whether the caller sees any label, and figures based on labels."""
        return not self.reviews or not self.caller.scopes.isdisjoint({Scope.READ, Scope.ADMIN})

    async def undecided(self, store: Store) -> Undecided:
        """The subjects and items that wait for the caller's decision."""
        return await store.ask(lambda connection: undecided_by(connection, self.reviewer))

    async def withheld(self, store: Store) -> Callable[[str], bool]:
        """A function from an item's id to whether its label must be hidden."""
        if not self.labels:
            return lambda _item: True
        if not self.reviews:
            return lambda _item: False
        items = (await self.undecided(store)).items
        return lambda item: item in items


@dataclass(frozen=True, slots=True)
class Call:
    """A request by a known caller.

    Attributes:
        caller: by the key, or of a page by the session.
    """

    request: Request
    running: Service
    caller: Caller

    @property
    def store(self) -> Store:
        """The store.

        Raises:
            StoreError: the service has no store.
        """
        found = self.running.engine.store
        if found is None:
            raise StoreError("this service has no store: start it with --store")
        return found

    @property
    def sight(self) -> Sight:
        """What the caller may see; without keys the reviewer's name is unknown."""
        return Sight(self.caller, None if self.caller == ANYBODY else self.caller.name)

    async def ask(self, question: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """What a query of the store finds with these arguments."""
        return await self.store.ask(lambda connection: question(connection, *given, **named))

    async def note(self, action: Action, subject: str, **details: Any) -> None:
        """Logs a change, and stores it where there is a store, durable on return.

        Args:
            details: ids and digests, never judged text.
        """
        request_id = request_id_of(self.request.scope)
        record = {"action": action.value, "by": self.caller.name, "request_id": request_id, **details}
        _log.info("change", extra={**record, "subject": subject})
        if self.running.engine.store is not None:
            await self.running.engine.store.audit_log.append(CHANGE, subject, record, now=time.time())


async def service(request: Request) -> Service:
    """The running service."""
    found: Service = request.app.state.service
    return found


ServiceDep = Annotated[Service, Depends(service)]


def key_owner(request: Request) -> Caller:
    """The caller of a path under ``/v1``, as identified by the gate.

    Raises:
        HTTPException: 401, the gate does not check this path.
    """
    found: Caller | None = request.scope["state"].get("who")
    if found is None:
        raise HTTPException(401, KEY_NEEDED)
    return found


async def call(
    request: Request,
    running: ServiceDep,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    header: Annotated[str | None, Depends(_header)],
) -> Call:
    """The request under ``/v1``; the two schemes are parameters for the OpenAPI document."""
    return Call(request, running, key_owner(request))


async def stored_call(given: Annotated[Call, Depends(call)]) -> Call:
    """The same, of an operation that needs the store.

    Raises:
        StoreError: the service has no store.
    """
    assert given.store is not None
    return given


LastEventId = Annotated[
    str | None, Header(description="The id of the last event seen; the stream resumes after it.", max_length=40)
]


def number_of(last_event_id: str | None) -> int | None:
    """The number that an event's id is; None for none, or an invalid one."""
    is_number = last_event_id is not None and last_event_id.isascii() and last_event_id.isdecimal()
    return min(int(last_event_id or 0), 2**62) if is_number else None


CallDep = Annotated[Call, Depends(call)]
StoredCall = Annotated[Call, Depends(stored_call)]
