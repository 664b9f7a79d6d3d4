"""Writes groups of records, each group in one transaction."""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from metajudge.errors import StoreError
from metajudge.store.rows import (
    AGENT_SCORES,
    ANNOTATIONS,
    ASSESSMENTS,
    CALLS,
    FIELDS,
    ITEMS,
    JUDGMENTS,
    AssessmentWrite,
    Subject,
    agent_rows,
    annotated,
    annotation_row,
    assessment_row,
    call_row,
)
from metajudge.store.sql import Connection, Engine, Row
from metajudge.types import AgentResult, Assessment, CallRecord, Failure, TokenUsage


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest assessment of a subject, and its newest annotation.

    Attributes:
        payload: the assessment's, without its annotation.
        annotation: the newest annotation's payload; None without one.
    """

    assessment_id: int
    payload: str
    annotation: str | None

    def repeated_by(self, write: AssessmentWrite) -> bool:
        """Whether a write has the same result; costs, and who set the cut, are not compared."""
        if write.payload == self.payload or orjson.loads(write.payload) == orjson.loads(self.payload):
            return True
        return _content(write.assessment) == _content(annotated(self.payload, None))

    def says(self, write: AssessmentWrite) -> bool:
        """Whether a write of the same result adds no annotation."""
        if write.annotation is None:
            return True
        if self.annotation is None and not write.annotation.startswith('{"failure"'):
            return False  # it sets what was not set; a failure, which may differ in its message, comes first
        if write.annotation == self.annotation:
            return True
        return write.completed is None or same_annotation(write.completed, annotated(self.payload, self.annotation))


@dataclass(frozen=True, slots=True)
class NewRows:
    """The rows that a group of writes adds, by their numbers; an annotation also names its assessment."""

    assessments: list[tuple[int, AssessmentWrite]] = field(default_factory=list)
    annotations: list[tuple[int, int, AssessmentWrite]] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """How many writes added a row."""
        noted = {of for _, of, _ in self.annotations}.difference(number for number, _ in self.assessments)
        return len(self.assessments) + len(noted)


def same_annotation(one: Assessment, other: Assessment) -> bool:
    """Whether two assessments of the same content have equal annotations; the other one may name no rule."""
    named = set(FIELDS) - {"failure", *(_RULE if other.decided_by is None else ())}
    same = all(getattr(one, name) == getattr(other, name) for name in named)
    return same and _kind(one.failure) == _kind(other.failure)


_RULE: Final[dict[str, Any]] = {"decided_by": None, "cut": None, "cut_from": None}
"""The name of the rule, which records of version 0.2 lack: the same rule gives the same decision on the same score."""
_FREE: Final[dict[str, Any]] = {"calls": 0, "cached_calls": 0, "cost_usd": 0.0, "usage": TokenUsage()}


def _content(assessment: Assessment) -> Assessment:
    """An assessment without costs and the rule; failures by kind only, as messages quote times and ids of requests."""
    changes = {
        "agents": tuple(_result(agent) for agent in assessment.agents),
        "summariser": None if assessment.summariser is None else _result(assessment.summariser),
        "failure": _kind(assessment.failure),
    }
    return assessment.model_copy(update=_FREE | _RULE | changes)


def _result(agent: AgentResult) -> AgentResult:
    changes = {
        "latency_s": 0.0,
        "failure": _kind(agent.failure),
        "opening": None if agent.opening is None else _result(agent.opening),
        "draws": tuple(_result(draw) for draw in agent.draws),
    }
    return agent.model_copy(update=_FREE | changes)


def _kind(failure: Failure | None) -> Failure | None:
    return None if failure is None else failure.model_copy(update={"message": ""})


Record = CallRecord | AssessmentWrite

# Saving a redacted record again restores its texts.
_RESTORE: Final = """
    ON CONFLICT ({key}) DO UPDATE SET payload = excluded.payload, redacted = false WHERE {table}.redacted
"""


def commit(engine: Engine, connection: Any, writer_id: int, records: Sequence[Record], number: int) -> None:
    """Puts a writer's group into the database, all of it or nothing, and notes its number."""
    calls = [call_row(record) for record in records if isinstance(record, CallRecord)]
    writes = [record for record in records if isinstance(record, AssessmentWrite)]
    with engine.transaction(connection):
        if calls:
            connection.insert("calls", CALLS, calls)
        if writes:
            items, judgments = [w.item for w in writes if w.item], [w.judgment for w in writes if w.judgment]
            save_texts(connection, items, judgments)
            append(connection, writes)
        connection.execute("UPDATE writers SET committed = $1 WHERE writer_id = $2", [number, writer_id])


def committed(connection: Any, writer_id: int) -> int:
    """Number of a writer's last group that is in the database.

    Raises:
        StoreError: the writer's own row is gone.
    """
    rows = connection.rows("SELECT committed FROM writers WHERE writer_id = $1", [writer_id])
    if not rows:
        raise StoreError("the store was emptied or restored while it was in use: open the store again")
    return int(rows[0][0])


def save_texts(connection: Connection, items: Sequence[Row], judgments: Sequence[Row]) -> int:
    """Keeps the rows of items and judgments, once per digest; returns how many were added or restored.

    In the order given; sorted where rows are locked, so that two processes that save the same cannot deadlock.
    """
    saved = 0
    for table, columns, rows in (("items", ITEMS, items), ("judgments", JUDGMENTS, judgments)):
        once = {row[0]: row for row in rows}
        missing = once if connection.for_update else without(connection, table, columns[0], once)
        new = [once[one] for one in (sorted(once) if connection.for_update else once) if one in missing]
        if new:
            ending = _RESTORE.format(key=columns[0], table=table)
            saved += connection.insert(table, columns, new, ending)
    return saved


def without(connection: Connection, table: str, digest: str, asked: Collection[str]) -> set[str]:
    """Those of these digests that a table has no row of, or one whose texts were forgotten."""
    return set(asked).difference(
        connection.column(
            f"SELECT {digest} FROM {table} WHERE {digest} IN (SELECT unnest($1::VARCHAR[])) AND NOT redacted",  # noqa: S608
            [list(asked)],
        )
    )


def rows_to_add(connection: Connection, writes: Sequence[AssessmentWrite]) -> NewRows:
    """The rows that these writes add, in their order.

    The first assessment under a key is added whatever its content, since look-ups are by key. On PostgreSQL
    saving a judgment has locked its row, changed or not, until this transaction ends: no other process can append
    anything about it between this look and the rows that follow.
    """
    known = set(
        connection.column(
            "SELECT DISTINCT key FROM assessments WHERE key IN (SELECT unnest($1::VARCHAR[]))",
            [[write.key for write in writes]],
        )
    )
    latest = _newest(connection, {write.subject for write in writes if write.key in known})
    most = sum(1 if write.annotation is None else 2 for write in writes)
    numbers = iter(connection.numbers("assessments", "assessment_id", most))
    new = NewRows()
    for write in writes:
        before = latest.get(write.subject)
        if before is None or write.key not in known or not before.repeated_by(write):
            number = next(numbers)
            before = Newest(number, write.payload, None)
            new.assessments.append((number, write))
            known.add(write.key)
        if not before.says(write):
            new.annotations.append((next(numbers), before.assessment_id, write))
            before = replace(before, annotation=write.annotation)
        latest[write.subject] = before
    return new


def _newest(connection: Connection, subjects: Iterable[Subject]) -> dict[Subject, Newest]:
    wanted = set(subjects)
    if not wanted:
        return {}
    rows = connection.rows(
        """SELECT a.judgment_digest, a.panel_digest, a.assessment_id, a.payload, n.payload
            FROM assessments a LEFT JOIN annotations n ON n.assessment_id = a.assessment_id
            WHERE a.judgment_digest IN (SELECT unnest($1::VARCHAR[])) ORDER BY a.assessment_id, n.annotation_id""",
        [sorted({one.judgment_digest for one in wanted})],
    )
    return {Subject(*row[:2]): Newest(*row[2:]) for row in rows if row[:2] in wanted}  # the last one is the newest


def append(connection: Connection, writes: Sequence[AssessmentWrite], at: float | None = None) -> int:
    """Adds the rows of assessments whose judgments' texts are there; returns how many of them added one.

    Args:
        at: when they were made; None for now.
    """
    new, now = rows_to_add(connection, writes), time.time() if at is None else at
    assessments = [assessment_row(number, write, now) for number, write in new.assessments]
    scores = [row for number, write in new.assessments for row in agent_rows(number, write.assessment)]
    annotations = [annotation_row(number, of, write, now) for number, of, write in new.annotations]
    for table, columns, rows in (
        ("assessments", ASSESSMENTS, assessments),
        ("agent_scores", AGENT_SCORES, scores),
        ("annotations", ANNOTATIONS, annotations),
    ):
        if rows:
            connection.insert(table, columns, rows)
    return new.changed


def append_block(connection: Connection, writes: Sequence[AssessmentWrite]) -> int:
    """As :func:`append`, where the texts were kept in another transaction.

    Locks the judgments' rows until the transaction ends, as saving them does: no other process can append anything
    about them meanwhile.
    """
    if connection.for_update:
        connection.execute(
            f"""SELECT 1 FROM judgments WHERE judgment_digest IN (SELECT unnest($1::VARCHAR[]))
                ORDER BY judgment_digest {connection.for_update}""",  # noqa: S608
            [[write.assessment.judgment_digest for write in writes]],
        )
    return append(connection, writes)
