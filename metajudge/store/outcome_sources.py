"""Stored decisions that are not outcomes yet: which rows, read as findings."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import orjson

from metajudge.outcomes.model import Finding, OutcomeName
from metajudge.reviews.review import HumanDecision, Outcome, Review
from metajudge.store.sql import Connection
from metajudge.types.decision import Action

_LOG = logging.getLogger("metajudge.store")

MACHINE: Final = ("annotation", "audit")
PEOPLE: Final = ("decision", "amendment")
"""Sources of machines' and of people's decisions."""
COLUMNS: Final = (
    "number, event_id, kind, subject_id, subject_digest, item_id, outcome, decided_by, decided_at, policy, "
    "policy_digest, source, source_number, follows, amends, details"
)


def waiting(connection: Connection, source: str, limit: int) -> list[int]:
    """Numbers of decisions that are not outcomes yet, ascending; triggers queue them in their transactions."""
    return connection.column(
        "SELECT number FROM event_queue WHERE source = $1 ORDER BY number LIMIT $2", [source, limit]
    )


def taken(connection: Connection, source: str, numbers: Sequence[int]) -> None:
    """Notes that these became outcomes, or changed none."""
    connection.execute(
        "DELETE FROM event_queue WHERE source = $1 AND number = ANY($2::BIGINT[])", [source, list(numbers)]
    )


def newest(connection: Connection, digests: Iterable[str]) -> list[Any]:
    """Rows (:data:`COLUMNS`) of the newest outcome on each of these contents, of any kind, that has one."""
    return connection.rows(
        f"""SELECT {COLUMNS} FROM events e WHERE subject_digest = ANY($1::VARCHAR[]) AND NOT EXISTS (SELECT 1
            FROM events l WHERE l.subject_digest = e.subject_digest AND l.kind = e.kind AND l.number > e.number)""",  # noqa: S608
        [sorted(set(digests))],
    )


def findings(connection: Connection, source: str, numbers: Sequence[int]) -> list[Finding]:
    """Stored decisions as findings, by number; a review that waits for further people gives none."""
    if source in PEOPLE:
        return _findings_of_people(connection, source == "amendment", numbers)
    query, made = (_ANNOTATIONS, _of_annotation) if source == "annotation" else (_ENTRIES, _of_entry)
    return _readable(source, connection.rows(query, [list(numbers)]), made)


_ANNOTATIONS: Final = """
    SELECT n.annotation_id, n.created_at, n.policy, n.policy_digest, n.action, n.probability, n.payload,
        a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.final_score, a.panel_digest
    FROM annotations n JOIN assessments a ON a.assessment_id = n.assessment_id
    WHERE n.annotation_id = ANY($1::BIGINT[]) AND n.action IS NOT NULL ORDER BY n.annotation_id
"""
_ENTRIES: Final = """
    SELECT entry_id, kind, subject, recorded_at, payload FROM audit_log
    WHERE entry_id = ANY($1::BIGINT[]) AND kind IN ('case', 'clash') ORDER BY entry_id
"""


def _readable(source: str, rows: Iterable[tuple[Any, ...]], made: Callable[..., Finding]) -> list[Finding]:
    """The findings of rows; one that is no decision, such as another version's, must not stop those after it."""
    found = []
    for row in rows:
        try:
            found.append(made(*row))
        except (KeyError, TypeError, ValueError) as error:
            _LOG.warning("%s %s is no decision and has no outcome: %r", source, row[0], error)
    return found


def _of_annotation(*row: Any) -> Finding:
    number, at, policy, policy_digest, action, probability, payload, digest, name, item_id, judge, score, panel = row
    decision = orjson.loads(payload).get("decision") or {}
    return Finding(
        kind="judgment",
        subject_id=name,
        subject_digest=digest,
        item_id=item_id,
        outcome=outcome_of_action(action),
        by="machine",
        decided_at=at,
        policy=policy,
        policy_digest=policy_digest,
        source="annotation",
        source_number=number,
        details={
            "action": action,
            "judge": judge,
            "score": score,
            "probability": probability,
            "confidence": (decision.get("inputs") or {}).get("confidence"),
            "margin": decision.get("margin"),
            "justification": decision.get("justification"),  # the policy's own words, no judged text
            "panel_digest": panel,
        },
    )


def _of_entry(number: int, kind: str, subject: str, at: float, payload: str) -> Finding:
    return (case_finding if kind == "case" else _of_clash)(number, subject, at, orjson.loads(payload))


def case_finding(number: int, case_id: str, at: float, record: dict[str, Any]) -> Finding:
    """A case's decision, from what :func:`metajudge.cases.records.numbers_of` gives."""
    decision = record["decision"]
    return Finding(
        kind="case",
        subject_id=case_id,
        subject_digest=record["case_digest"],
        item_id=case_id,
        outcome=outcome_of_action(decision["action"]),
        by="machine",
        decided_at=at,
        policy=decision.get("policy"),
        policy_digest=decision.get("policy_digest"),
        source="audit",
        source_number=number,
        details={
            "case_id": case_id,
            "type": record.get("type"),
            "action": decision["action"],
            "gate": decision.get("gate"),
            "reasoning": record.get("reasoning") or decision.get("justification"),
            "overall_quality_score": record.get("overall_quality_score"),
            "overall_confidence": record.get("overall_confidence"),
            "rubric_digest": record.get("rubric_digest"),
            "case_digest": record["case_digest"],
            "margin": decision.get("margin"),
        },
    )


def _of_clash(number: int, _subject: str, at: float, record: dict[str, Any]) -> Finding:
    return Finding(
        kind="clash",
        subject_id=record["clash_id"],
        subject_digest=record["subject_digest"],
        item_id=record["item_id"],
        outcome=outcome_of_action(record["action"]),
        by="machine",
        decided_at=at,
        source="audit",
        source_number=number,
        details={name: value for name, value in record.items() if name not in ("subject_digest", "item_id")},
    )


def newest_number(connection: Connection) -> int:
    """The number of the newest event, 0 without one."""
    (number,) = connection.row("SELECT coalesce(max(number), 0) FROM events")
    return int(number)


class _Said(NamedTuple):
    """A decision or an amendment as a row of its table."""

    number: int
    review_id: str
    decision: HumanDecision


_DECISIONS: Final = "SELECT decision_id, review_id, payload FROM review_decisions WHERE true"
_AMENDMENTS: Final = "SELECT event_id, review_id, payload FROM review_events WHERE kind = 'amend'"


def _findings_of_people(connection: Connection, amendments: bool, numbers: Sequence[int]) -> list[Finding]:
    """Findings by number; a review that waits for further people gives none.

    Args:
        amendments: whether the numbers are those of review events, else of first decisions.
    """
    key, rows = ("event_id", _AMENDMENTS) if amendments else ("decision_id", _DECISIONS)
    new = _read_said(connection, f"{rows} AND {key} = ANY($1::BIGINT[]) ORDER BY 1", numbers)
    names = list({one.review_id for one in new})
    about = "review_id = ANY($1::VARCHAR[])"
    reviews = {
        name: Review.model_validate_json(payload)
        for name, payload in connection.rows(f"SELECT review_id, payload FROM reviews WHERE {about}", [names])  # noqa: S608
    }
    first, amended = (
        _read_said(connection, f"{some} AND {about} ORDER BY 1", names) for some in (_DECISIONS, _AMENDMENTS)
    )
    found = []
    for one in new:
        review = reviews.get(one.review_id)
        said = _until(one, first, amended, amendments)
        if review is not None and len(said) >= review.reviewers:
            found.append(_of_review(review, said, one.number, amendments))
    return found


def _read_said(connection: Connection, query: str, values: Sequence[object]) -> list[_Said]:
    return [
        _Said(number, name, HumanDecision.model_validate_json(payload))
        for number, name, payload in connection.rows(query, [list(values)])
    ]


def _until(one: _Said, first: Iterable[_Said], amended: Iterable[_Said], is_amendment: bool) -> list[HumanDecision]:
    """The newest decision of each person on a review when a row was added.

    Numbers order the rows of one table; between the two tables the times of the decisions do.
    """
    at = one.decision.decided_at
    newest: dict[str, HumanDecision] = {}
    for said in first:
        if said.review_id == one.review_id and (is_amendment or said.number <= one.number):
            newest[said.decision.reviewer] = said.decision
    for said in amended:
        known = said.number <= one.number if is_amendment else said.decision.decided_at <= at
        if said.review_id == one.review_id and known and said.decision.reviewer in newest:
            newest[said.decision.reviewer] = said.decision
    return list(newest.values())


def _of_review(review: Review, decisions: Sequence[HumanDecision], number: int, is_amendment: bool) -> Finding:
    outcome, reason = outcome_of_people(decisions)
    policy = review.policy
    return Finding(
        kind=review.kind,
        subject_id=review.subject_id,
        subject_digest=review.subject_digest,
        item_id=review.item_id,
        outcome=outcome,
        by="people",
        decided_at=max(one.decided_at for one in decisions),
        policy=None if policy is None else policy.name,
        policy_digest=None if policy is None else policy.digest,
        source="amendment" if is_amendment else "decision",
        source_number=number,
        details={
            "review_id": review.review_id,
            "action": review.action,
            "judge": review.judge,
            "category": review.category,
            "origin": review.origin.value,
            "score": review.score,
            "probability": review.probability,
            "confidence": review.confidence,
            "people": people_data(decisions),
            "unsettled": reason,
        },
    )


_OF_ACTION = {
    Action.APPROVE: OutcomeName.APPROVED,
    Action.REVIEW: OutcomeName.ESCALATED,
    Action.REVIEW_PRIORITY: OutcomeName.ESCALATED,
    Action.REJECT: OutcomeName.REJECTED,
}


def outcome_of_action(action: str) -> OutcomeName:
    """The outcome of a policy's action."""
    return _OF_ACTION[Action(action)]


def outcome_of_people(decisions: Sequence[HumanDecision]) -> tuple[OutcomeName, str | None]:
    """The outcome of a review that as many people decided as were asked, with the reason if it is not final.

    ``cannot_tell`` abstains. More than half of the others reject: rejected. More than half approve it as it is:
    approved. More than half approve it, with or without corrections: approved with changes. Else escalated.

    Args:
        decisions: one a person.
    """
    votes = Counter(one.outcome for one in decisions if one.outcome is not Outcome.CANNOT_TELL)
    said = votes.total()
    if not said:
        return OutcomeName.ESCALATED, "nobody could tell"
    if 2 * votes[Outcome.REJECT] > said:
        return OutcomeName.REJECTED, None
    if 2 * votes[Outcome.APPROVE] > said:
        return OutcomeName.APPROVED, None
    if 2 * (votes[Outcome.APPROVE] + votes[Outcome.MODIFY]) > said:
        return OutcomeName.APPROVED_WITH_CHANGES, None
    return OutcomeName.ESCALATED, "people are divided"


def people_data(decisions: Sequence[HumanDecision]) -> list[dict[str, Any]]:
    """People's decisions for an event: without their free text."""
    return [one.data("reviewer", "outcome", "verdict", "scores", "blind", "decided_at") for one in decisions]
