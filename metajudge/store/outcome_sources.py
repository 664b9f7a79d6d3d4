"""Stored decisions that are not outcomes yet: which rows, read as findings. SQL for both databases."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

import orjson

from metajudge.outcomes.model import FinalOutcome, Finding
from metajudge.outcomes.ruling import outcome_of_action
from metajudge.store.compact_map import CompactMap
from metajudge.store.lookups import key_hash
from metajudge.store.outcome_reviews import between, findings_of_people
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
_ROWS: Final = {
    ANNOTATION: ("annotations", "annotation_id"),
    AUDIT: ("audit_log", "entry_id"),
    DECISION: ("review_decisions", "decision_id"),
    AMENDMENT: ("review_events", "event_id"),
}


FEW: Final = 50
"""Contents looked up one by one after a start, before the newest outcome on every content is read into memory."""


class Sources(Protocol):
    """How a database knows which decisions are not outcomes yet, and the newest outcome on a content."""

    @property
    def is_gone(self) -> str:
        """A condition on ``event_sends``: its holder is no longer there; $3 is the holder that asks."""

    @property
    def if_known(self) -> str:
        """Ends the insertion of events of which some may be there."""

    def lock(self, connection: Connection) -> None:
        """Lets one process at a time add events, until the transaction ends."""

    def waiting(self, connection: Connection, source: str, limit: int) -> list[int]:
        """Numbers of rows that are not outcomes yet, ascending; some may be no decisions."""

    def taken(self, connection: Connection, source: str, numbers: Sequence[int]) -> None:
        """Notes that these became outcomes, or changed none."""

    def newest(self, connection: Connection, subjects: Iterable[str]) -> list[Any]:
        """Rows (:data:`COLUMNS`) of the newest outcome on each of these contents that has one."""

    def added(self, outcomes: Iterable[FinalOutcome]) -> None:
        """Called once these are committed."""


COLUMNS: Final = (
    "number, event_id, kind, subject_id, subject_digest, item_id, outcome, decided_by, decided_at, policy, "
    "policy_digest, source, source_number, follows, amends, details"
)


def subject_key(kind: str, subject_digest: str) -> str:
    """What identifies a content among those of all kinds."""
    return f"{kind} {subject_digest}"


class DuckDBSources:
    """One process writes and rows are committed in the order of their numbers, so the last number is a cursor."""

    is_gone: Final = "holder <> $3"
    if_known: Final = ""

    def __init__(self) -> None:
        self._newest = CompactMap()
        self._loaded = False
        self._asked = 0

    def lock(self, connection: Connection) -> None:
        return

    def waiting(self, connection: Connection, source: str, limit: int) -> list[int]:
        table, key = _ROWS[source]
        rows = connection.execute(
            f"SELECT {key} FROM {table} WHERE {key} > $1 ORDER BY {key} LIMIT $2",  # noqa: S608 - our own names
            [self._last(connection, source), limit],
        ).fetchall()
        return [number for (number,) in rows]

    def _last(self, connection: Connection, source: str) -> int:
        rows = connection.execute("SELECT number FROM event_sources WHERE source = $1", [source]).fetchall()
        return int(rows[0][0]) if rows else 0

    def taken(self, connection: Connection, source: str, numbers: Sequence[int]) -> None:
        if self._last(connection, source):
            connection.execute("UPDATE event_sources SET number = $2 WHERE source = $1", [source, numbers[-1]])
        else:
            connection.execute("INSERT INTO event_sources VALUES ($1, $2)", [source, numbers[-1]])

    def newest(self, connection: Connection, subjects: Iterable[str]) -> list[Any]:
        wanted = list(subjects)
        self._asked += len(wanted)
        if self._loaded or self._asked > FEW:
            self._load(connection)
            known = sorted({number for one in wanted if (number := self._newest.get(key_hash(one))) is not None})
        else:
            known = _newest_numbers(connection, wanted)
        if not known:
            return []
        return connection.execute(
            f"SELECT {COLUMNS} FROM events WHERE number BETWEEN $2 AND $3 "  # noqa: S608 - our own names
            "AND number IN (SELECT unnest($1::BIGINT[]))",
            [known, known[0], known[-1]],
        ).fetchall()

    def _load(self, connection: Connection) -> None:
        if self._loaded:
            return
        after = 0
        while rows := connection.execute(
            "SELECT number, kind, subject_digest FROM events WHERE number > $1 ORDER BY number LIMIT 20000", [after]
        ).fetchall():
            for number, kind, subject in rows:
                self._newest.put(key_hash(subject_key(kind, subject)), number)
            after = rows[-1][0]
        self._loaded = True

    def reload(self) -> None:
        """Reads the newest outcomes again at the next look-up: another process added some."""
        self._newest, self._loaded = CompactMap(), False

    def added(self, outcomes: Iterable[FinalOutcome]) -> None:
        for one in outcomes if self._loaded else ():
            self._newest.put(key_hash(subject_key(one.kind, one.subject_digest)), one.number)


def _newest_numbers(connection: Connection, subjects: Sequence[str]) -> list[int]:
    """Numbers of the newest outcome on each content that has one, by a scan of the contents."""
    rows = connection.execute(
        "SELECT max(number) FROM events WHERE subject_digest IN (SELECT unnest($1::VARCHAR[])) "
        "GROUP BY kind, subject_digest ORDER BY 1",
        [sorted({one.partition(" ")[2] for one in subjects})],
    ).fetchall()
    return [number for (number,) in rows]


class PostgresSources:
    """Several processes write; triggers queue what they commit, and whoever turns it into outcomes holds a lock.

    Args:
        alive: SQL for the numbers of the stores that are open on the database.
    """

    if_known: Final = " ON CONFLICT DO NOTHING"

    def __init__(self, alive: str) -> None:
        self.is_gone = f"holder::BIGINT NOT IN ({alive})"

    def lock(self, connection: Connection) -> None:
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('metajudge events ' || current_schema(), 0))"
        ).fetchall()

    def waiting(self, connection: Connection, source: str, limit: int) -> list[int]:
        rows = connection.execute(
            "SELECT number FROM event_queue WHERE source = $1 ORDER BY number LIMIT $2", [source, limit]
        ).fetchall()
        return [number for (number,) in rows]

    def taken(self, connection: Connection, source: str, numbers: Sequence[int]) -> None:
        connection.execute(
            "DELETE FROM event_queue WHERE source = $1 AND number = ANY($2::BIGINT[])", [source, list(numbers)]
        )

    def newest(self, connection: Connection, subjects: Iterable[str]) -> list[Any]:
        digests = sorted({one.partition(" ")[2] for one in subjects})
        return connection.execute(
            f"SELECT DISTINCT ON (kind, subject_digest) {COLUMNS} FROM events "  # noqa: S608 - our own names
            "WHERE subject_digest = ANY($1::VARCHAR[]) ORDER BY kind, subject_digest, number DESC",
            [digests],
        ).fetchall()

    def added(self, outcomes: Iterable[FinalOutcome]) -> None:
        return


def findings(connection: Connection, source: str, numbers: Sequence[int]) -> list[Finding]:
    """Stored decisions as findings, by number; a review that waits for further people gives none."""
    if source == ANNOTATION:
        return _of_annotations(connection, numbers)
    if source == AUDIT:
        return _of_audit_log(connection, numbers)
    return findings_of_people(connection, source == AMENDMENT, numbers)


def _of_annotations(connection: Connection, numbers: Sequence[int]) -> list[Finding]:
    rows = connection.execute(
        "SELECT n.annotation_id, n.created_at, n.policy, n.policy_digest, n.action, n.probability, n.payload, "  # noqa: S608
        "a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.final_score, a.panel_digest FROM annotations n "
        "JOIN assessments a ON a.assessment_id = n.assessment_id "
        f"WHERE {between('n.annotation_id')} AND n.action IS NOT NULL ORDER BY n.annotation_id",
        [list(numbers), numbers[0], numbers[-1]],
    ).fetchall()
    return _readable(ANNOTATION, rows, _of_annotation)


def _readable(source: str, rows: Iterable[tuple[Any, ...]], made: Callable[..., Finding]) -> list[Finding]:
    """The findings of rows; one that is no decision, such as another version's, must not stop those after it."""
    found = []
    for row in rows:
        try:
            found.append(made(*row))
        except (KeyError, TypeError, ValueError) as error:
            _LOG.warning("%s %s is no decision and has no outcome: %r", source, row[0], error)
    return found


def _of_annotation(
    number: int,
    at: float,
    policy: str,
    policy_digest: str,
    action: str,
    probability: float | None,
    payload: str,
    judgment_digest: str,
    judgment_id: str,
    item_id: str,
    judge: str,
    score: float | None,
    panel: str,
) -> Finding:
    decision = orjson.loads(payload).get("decision") or {}
    return Finding(
        kind="judgment",
        subject_id=judgment_id,
        subject_digest=judgment_digest,
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
            **_decided(decision),
            "panel_digest": panel,
        },
    )


def _decided(decision: dict[str, Any]) -> dict[str, Any]:
    """What an event says of a policy's decision; the policy's own words, no judged text."""
    inputs = decision.get("inputs") or {}
    return {
        "confidence": inputs.get("confidence"),
        "margin": decision.get("margin"),
        "justification": decision.get("justification"),
    }


def _of_audit_log(connection: Connection, numbers: Sequence[int]) -> list[Finding]:
    rows = connection.execute(
        "SELECT entry_id, kind, subject, recorded_at, payload FROM audit_log "  # noqa: S608
        f"WHERE {between('entry_id')} AND kind IN ('case', 'clash') ORDER BY entry_id",
        [list(numbers), numbers[0], numbers[-1]],
    ).fetchall()
    return _readable(AUDIT, rows, _of_entry)


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
