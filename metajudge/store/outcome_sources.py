"""Stored decisions that are not outcomes yet: which rows, read as findings."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import orjson

from metajudge.outcomes.model import Finding
from metajudge.outcomes.ruling import outcome_of_action
from metajudge.store.outcome_reviews import findings_of_people
from metajudge.store.sql import Connection, only_row

_LOG = logging.getLogger("metajudge.store")

ANNOTATION: Final = "annotation"
AUDIT: Final = "audit"
DECISION: Final = "decision"
AMENDMENT: Final = "amendment"
MACHINE: Final = (ANNOTATION, AUDIT)
"""Sources of machines' decisions."""
PEOPLE: Final = (DECISION, AMENDMENT)
"""Sources of people's decisions."""
COLUMNS: Final = (
    "number, event_id, kind, subject_id, subject_digest, item_id, outcome, decided_by, decided_at, policy, "
    "policy_digest, source, source_number, follows, amends, details"
)


def waiting(connection: Connection, source: str, limit: int) -> list[int]:
    """Numbers of decisions that are not outcomes yet, ascending; triggers queue them in their transactions."""
    rows = connection.execute(
        "SELECT number FROM event_queue WHERE source = $1 ORDER BY number LIMIT $2", [source, limit]
    ).fetchall()
    return [number for (number,) in rows]


def taken(connection: Connection, source: str, numbers: Sequence[int]) -> None:
    """Notes that these became outcomes, or changed none."""
    connection.execute(
        "DELETE FROM event_queue WHERE source = $1 AND number = ANY($2::BIGINT[])", [source, list(numbers)]
    )


def newest(connection: Connection, digests: Iterable[str]) -> list[Any]:
    """Rows (:data:`COLUMNS`) of the newest outcome on each of these contents, of any kind, that has one."""
    return connection.execute(
        f"SELECT {COLUMNS} FROM events e WHERE subject_digest = ANY($1::VARCHAR[]) AND NOT EXISTS (SELECT 1 "  # noqa: S608
        "FROM events l WHERE l.subject_digest = e.subject_digest AND l.kind = e.kind AND l.number > e.number)",
        [sorted(set(digests))],
    ).fetchall()


def findings(connection: Connection, source: str, numbers: Sequence[int]) -> list[Finding]:
    """Stored decisions as findings, by number; a review that waits for further people gives none."""
    if source in PEOPLE:
        return findings_of_people(connection, source == AMENDMENT, numbers)
    query, made = (_ANNOTATIONS, _of_annotation) if source == ANNOTATION else (_ENTRIES, _of_entry)
    return _readable(source, connection.execute(query, [list(numbers)]).fetchall(), made)


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
    (number,) = only_row(connection, "SELECT coalesce(max(number), 0) FROM events")
    return int(number)
