"""The outcome of a judgment, a clash or a case, and the event that tells a receiver about it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Self

import orjson
from pydantic import Field

from metajudge.files.tables import write_table
from metajudge.types import digest
from metajudge.types.frozen import Frozen

Kind = Literal["judgment", "clash", "case"]
"""What an outcome is about."""

By = Literal["machine", "people"]
"""Who decided."""


COLUMNS = (
    *("event_id", "kind", "subject_id", "item_id", "outcome", "by"),
    *("decided_at", "policy", "policy_digest", "action", "judge", "category"),
    *("score", "probability", "confidence", "margin", "winner", "review_id"),
    *("reviewers", "corrected_verdict", "follows", "amends", "current", "subject_digest"),
)
"""Columns of a CSV; JSONL has the whole event's data besides."""


class OutcomeName(StrEnum):
    """What became of something."""

    APPROVED = "approved"
    """It is used as it is."""
    APPROVED_WITH_CHANGES = "approved_with_changes"
    """People corrected its verdict or scores; it is used with their corrections."""
    REJECTED = "rejected"
    """It is not used; a case that its gate archived is rejected, too."""
    ESCALATED = "escalated"
    """It waits for people, or people could not agree or tell."""

    @property
    def is_final(self) -> bool:
        """Whether it can be used or dropped without a person acting first."""
        return self is not OutcomeName.ESCALATED


class Finding(Frozen):
    """One stored decision, before it is compared with earlier ones on the same subject.

    Attributes:
        kind: what was decided on.
        subject_id: id of the judgment, clash or case; ``subject_digest`` that of its content.
        outcome: what the decision says.
        by: a machine's policy or panel, or people.
        decided_at: seconds since the epoch.
        policy: name of the policy that decided; with ``by`` people, the one whose decision they judged.
        source: the table of the decision; ``source_number`` its row.
        details: numbers, digests and names behind the decision; no judged text, no free text of a person.
    """

    kind: Kind
    subject_id: str
    subject_digest: str
    item_id: str
    outcome: OutcomeName
    by: By
    decided_at: float
    policy: str | None = None
    policy_digest: str | None = None
    source: Literal["annotation", "audit", "decision", "amendment"]
    source_number: int
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> list[Any]:
        """What makes two decisions on the same content the same decision, whenever and wherever it was made."""
        said = [[one["reviewer"], one["outcome"], one["verdict"], one["scores"]] for one in self.people]
        return [self.kind, self.subject_digest, self.outcome.value, self.by, self.policy_digest, said]

    @property
    def people(self) -> list[dict[str, Any]]:
        """The people's decisions: reviewer, outcome, corrected verdict and scores, time; empty for a machine."""
        found: list[dict[str, Any]] = self.details.get("people", [])
        return found


class FinalOutcome(Finding):
    """An outcome as it is kept and sent.

    Attributes:
        number: its place among all outcomes of the store, ascending; 0 where it is in no store.
        event_id: the same in every attempt, process and run; what a receiver recognises a repeated event by.
        follows: id of the outcome that this one takes the place of; None for the first one on its content.
        amends: ``follows``, where that was final or people's: an outcome that a receiver may have acted on.
        is_current: whether no later outcome on the same content took its place.
    """

    number: int = 0
    event_id: str
    follows: str | None = None
    amends: str | None = None
    is_current: bool = True

    @property
    def event(self) -> dict[str, Any]:
        """What a receiver is sent: the same bytes in every attempt."""
        return {"type": f"outcome.{self.outcome.value}", "timestamp": utc(self.decided_at), "data": self.data}

    @property
    def data(self) -> dict[str, Any]:
        """The outcome as plain data, as events, lists and exports show it."""
        own = {"kind", "subject_id", "subject_digest", "item_id", "outcome", "by", "decided_at", "policy"}
        fields = self.model_dump(mode="json", include=own | {"policy_digest", "follows", "amends"})
        return {"event_id": self.event_id, **fields, **self.details}


def outcome_after(found: Finding, current: FinalOutcome | None) -> FinalOutcome | None:
    """The outcome that a decision leads to; None where it changes nothing.

    A decision changes nothing if it is older than the one that is current, if it says the same, or if a machine made it
    after people decided on the same content: people's decisions stand until people amend them.

    Args:
        found: a stored decision.
        current: the newest outcome on the same content; None where there is none.
    """
    if current is not None:
        older = current.source_number >= found.source_number
        if current.source != found.source:  # a first decision may come after an amendment that was made later
            first_late = found.source == "decision" and current.source == "amendment"
            older = first_late and found.decided_at <= current.decided_at
        overruled = found.by == "machine" and current.by == "people"
        unsettled = not found.outcome.is_final and found.by == "people" and current.outcome.is_final
        if older or overruled or (unsettled and current.by == "machine") or found.identity == current.identity:
            return None
    follows = None if current is None else current.event_id
    acted_on = current is not None and (current.outcome.is_final or current.by == "people")
    return FinalOutcome(
        **found.model_dump(),
        event_id=digest(["outcome", *found.identity, follows])[:32],
        follows=follows,
        amends=follows if acted_on else None,
    )


def utc(at: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def row_of(one: FinalOutcome) -> dict[str, Any]:
    """An outcome as one flat row; what it does not have is None."""
    data = one.data
    corrected = sorted({person["verdict"] for person in one.people if person["verdict"] is not None})
    flat = {
        **data,
        "decided_at": utc(one.decided_at),
        "score": data.get("score", data.get("overall_quality_score")),
        "confidence": data.get("confidence", data.get("overall_confidence")),
        "category": data.get("category", data.get("type")),
        "reviewers": ", ".join(person["reviewer"] for person in one.people) or None,
        "corrected_verdict": ", ".join(corrected) or None,
        "current": one.is_current,
    }
    return {name: flat.get(name) for name in COLUMNS}


def write_outcomes(outcomes: Iterable[FinalOutcome], path: Path) -> int:
    """Writes outcomes as CSV (``.csv``) or JSONL; returns their number.

    Raises:
        InputError: the file cannot be written.
    """

    def line(one: FinalOutcome) -> bytes:
        """The data of its event, its number and whether it is current, as JSON."""
        data = {**one.data, "decided_at": utc(one.decided_at), "number": one.number, "current": one.is_current}
        return orjson.dumps(data)

    return write_table(outcomes, path, COLUMNS, row_of, line)


class OutcomeFilter(Frozen):
    """Which outcomes; None for all.

    Attributes:
        policy: a policy's name or digest.
        since: seconds since the epoch; outcomes decided then or later.
        current: only the newest outcome on each content; False for the whole history.
    """

    kind: Kind | None = None
    outcome: OutcomeName | None = None
    by: By | None = None
    policy: str | None = None
    since: float | None = None
    current: bool = True


class OutcomeCount(Frozen):
    """How many outcomes of a kind ended alike."""

    kind: Kind
    outcome: OutcomeName
    by: By
    count: int


class Callback(Frozen):
    """An event that is no outcome: a job ended, a review was decided.

    Attributes:
        kind: ``job`` or ``review``; ``what`` happened to it: together the event's type, such as ``job.ended``.
        subject_id: of the job or the review.
        event_id: as for outcomes.
        at: seconds since the epoch.
        data: what the receiver is told.
    """

    kind: Literal["job", "review"]
    what: Literal["ended", "decided"]
    subject_id: str
    event_id: str
    at: float
    data: dict[str, Any]

    @classmethod
    def of(cls, kind: Literal["job", "review"], subject_id: str, version: Any, at: float, data: dict[str, Any]) -> Self:
        """A callback; the same subject and version have the same event id."""
        what: Literal["ended", "decided"] = "ended" if kind == "job" else "decided"
        name = digest([f"{kind}.{what}", subject_id, version])[:32]
        return cls(kind=kind, what=what, subject_id=subject_id, event_id=name, at=at, data={"event_id": name, **data})

    @property
    def event(self) -> dict[str, Any]:
        """What a receiver is sent."""
        return {"type": f"{self.kind}.{self.what}", "timestamp": utc(self.at), "data": self.data}


class QueuedEvent(Frozen):
    """An event that a sender has claimed for a receiver.

    Attributes:
        number: of the event in the store.
        event: what is sent.
        failures: how many times it was tried in vain before, each time with several requests.
    """

    number: int
    event_id: str
    event: dict[str, Any]
    failures: int = 0


class Sent(Frozen):
    """How one try to send an event to a receiver ended.

    Attributes:
        receiver: digest of its address; the address itself is not kept.
        attempts: requests sent.
        status: of the last answer; None without one.
        ended_at: seconds since the epoch.
    """

    receiver: str
    delivered: bool
    attempts: int
    status: int | None = None
    reason: str | None = None
    ended_at: float


class ReceiverState(Frozen):
    """How far a receiver is.

    Attributes:
        receiver: digest of its address.
        callbacks: whether it gets ``job.ended`` and ``review.decided`` besides outcomes.
        delivered: events it accepted.
        behind: events not tried yet; ``waiting`` tried in vain and tried again later; ``sending`` at this moment;
            ``given_up`` no longer tried by themselves.
        last_reason: of the newest failure that is not made good; None without one.
    """

    receiver: str
    host: str
    callbacks: bool
    registered_at: float
    delivered: int
    behind: int
    waiting: int
    sending: int
    given_up: int
    last_reason: str | None = None
