"""Amendments, comments and assignments of reviews, in SQL for both databases. Rows are added, never changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import orjson
from pydantic import ValidationError

from metajudge.decision import Policy
from metajudge.decision.load import spellings
from metajudge.reviews.review import Comment, HumanDecision
from metajudge.store.sql import Connection, Dialect

Kind = Literal["amend", "comment", "assign", "unassign"]


def spellings_in(connection: Connection, category: str) -> list[str]:
    """The names, in lower case, that a category goes by: its own and those of every profile for it.

    Every version of a policy that decided something counts, so that what an earlier one decided is still found.
    """
    rows = connection.execute(
        "SELECT payload FROM audit_log WHERE kind = 'policy' AND strpos(payload, '\"profiles\":[') > 0"
    ).fetchall()
    policies = []
    for (payload,) in rows:
        try:
            policies.append(Policy.model_validate(orjson.loads(payload)["policy"]))
        except (KeyError, ValidationError):  # another version's, or altered: it is not used for decisions either
            continue
    return list(spellings(category, policies))


@dataclass(slots=True)
class ReviewEvents:
    """What happened to one review beside claims and first decisions, oldest first.

    Attributes:
        assigned: who is to review it now, in the order of assignment.
    """

    amendments: list[HumanDecision] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)


def add_event(
    connection: Connection, dialect: Dialect, review_id: str, kind: Kind, reviewer: str, *, now: float, payload: str
) -> None:
    """Adds a row."""
    (number,) = dialect.numbers(connection, "review_events", "event_id", 1)
    connection.execute(
        "INSERT INTO review_events VALUES ($1, $2, $3, $4, $5, $6, false)",
        [number, review_id, kind, reviewer, now, payload],
    )


def assignment(by: str) -> str:
    """The payload of an assignment: who made it."""
    return orjson.dumps({"by": by}).decode()


def events_of(connection: Connection, review_ids: Sequence[str]) -> dict[str, ReviewEvents]:
    """Review -> its events; reviews without any are left out."""
    rows = connection.execute(
        "SELECT review_id, kind, reviewer, payload FROM review_events "
        "WHERE review_id IN (SELECT unnest($1::VARCHAR[])) ORDER BY event_id",
        [list(review_ids)],
    ).fetchall()
    found: dict[str, ReviewEvents] = {}
    for review_id, kind, reviewer, payload in rows:
        one = found.setdefault(review_id, ReviewEvents())
        match kind:
            case "amend":
                one.amendments.append(HumanDecision.model_validate_json(payload))
            case "comment":
                one.comments.append(Comment.model_validate_json(payload))
            case "assign" if reviewer not in one.assigned:
                one.assigned.append(reviewer)
            case "unassign" if reviewer in one.assigned:
                one.assigned.remove(reviewer)
    return found


def newest_decisions(first: Sequence[HumanDecision], amendments: Sequence[HumanDecision]) -> tuple[HumanDecision, ...]:
    """The newest decision of each person, in the order in which they decided first."""
    newest = {one.reviewer: one for one in first}
    newest.update({one.reviewer: one for one in amendments})
    return tuple(newest.values())
