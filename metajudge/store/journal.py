"""Writes groups of records, each group in one transaction."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, TypeVar

import orjson

from metajudge.errors import StoreError
from metajudge.store.annotations import FIELDS, annotated
from metajudge.store.rows import (
    AGENT_SCORES,
    ANNOTATIONS,
    ASSESSMENTS,
    CALLS,
    ITEMS,
    JUDGMENTS,
    AssessmentWrite,
    Subject,
    agent_rows,
    annotation_row,
    assessment_row,
    call_row,
)
from metajudge.store.sql import Connection, Dialect, Engine, Row
from metajudge.types import AgentResult, Assessment, CallRecord, Failure, TokenUsage


class Write(Protocol):
    """An assessment that is to be kept.

    Attributes:
        payload: the panel's own assessment as JSON, without derived fields.
        annotation: the fields that calibration and policy add, as JSON; None without any.
    """

    @property
    def key(self) -> str: ...
    @property
    def subject(self) -> Subject: ...
    @property
    def payload(self) -> str: ...
    @property
    def annotation(self) -> str | None: ...
    @property
    def assessment(self) -> Assessment: ...
    @property
    def completed(self) -> Assessment | None: ...


W = TypeVar("W", bound=Write)


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

    def repeated_by(self, write: Write) -> bool:
        """Whether a write has the same result; costs, and who set the cut, are not compared."""
        if write.payload == self.payload or orjson.loads(write.payload) == orjson.loads(self.payload):
            return True
        return _content(write.assessment) == _content(annotated(self.payload, None))

    def says(self, write: Write) -> bool:
        """Whether a write of the same result adds no annotation."""
        if write.annotation is None:
            return True
        if self.annotation is None and not write.annotation.startswith('{"failure"'):
            return False  # it sets what was not set; a failure, which may differ in its message, comes first
        if write.annotation == self.annotation:
            return True
        return write.completed is None or same_annotation(write.completed, annotated(self.payload, self.annotation))


@dataclass(frozen=True, slots=True)
class NewRows(Generic[W]):
    """The rows that a group of writes adds, by their numbers; an annotation also names its assessment."""

    assessments: list[tuple[int, W]] = field(default_factory=list)
    annotations: list[tuple[int, int, W]] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """How many writes added a row."""
        noted = {of for _, of, _ in self.annotations}.difference(number for number, _ in self.assessments)
        return len(self.assessments) + len(noted)


def new_rows(
    writes: Iterable[W], known: Iterable[str], newest: Mapping[Subject, Newest], numbers: Iterator[int]
) -> NewRows[W]:
    """The rows to append, in the order of the writes.

    Args:
        known: which of their keys have a row. The first assessment under a key is appended whatever its content, since
            look-ups are by key.
        newest: about the subjects of the writes under these keys.
        numbers: for new rows, ascending.
    """
    rows: NewRows[W] = NewRows()
    latest, there = dict(newest), set(known)
    for write in writes:
        before = latest.get(write.subject)
        if before is None or write.key not in there or not before.repeated_by(write):
            number = next(numbers)
            before = Newest(number, write.payload, None)
            rows.assessments.append((number, write))
            there.add(write.key)
        if not before.says(write):
            rows.annotations.append((next(numbers), before.assessment_id, write))
            before = replace(before, annotation=write.annotation)
        latest[write.subject] = before
    return rows


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


class Journal:
    """Turns records into rows; belongs to one writer, which is a row of ``writers``."""

    def __init__(self, engine: Engine, writer_id: int) -> None:
        self._engine = engine
        self.writer_id = writer_id

    def commit(self, connection: Any, records: Sequence[Record], number: int) -> None:
        """Puts a group into the database, all of it or nothing, and notes its number."""
        dialect = self._engine.dialect
        calls = [call_row(record) for record in records if isinstance(record, CallRecord)]
        writes = [record for record in records if isinstance(record, AssessmentWrite)]
        with self._engine.transaction(connection):
            if calls:
                dialect.insert(connection, "calls", CALLS, calls)
            if writes:
                save_texts(connection, dialect, [w.item for w in writes], [w.judgment for w in writes])
                _add(connection, dialect, rows_to_add(connection, dialect, writes))
            connection.execute("UPDATE writers SET committed = $1 WHERE writer_id = $2", [number, self.writer_id])

    def committed(self, connection: Any) -> int:
        """Number of the last group that is in the database.

        Raises:
            StoreError: the writer's own row is gone.
        """
        rows = connection.execute("SELECT committed FROM writers WHERE writer_id = $1", [self.writer_id]).fetchall()
        if not rows:
            raise StoreError("the store was emptied or restored while it was in use: open the store again")
        return int(rows[0][0])


def save_texts(connection: Connection, dialect: Dialect, items: Sequence[Row], judgments: Sequence[Row]) -> int:
    """Keeps the rows of items and judgments, once per digest; returns how many were added or restored.

    In the order given; sorted where rows are locked, so that two processes that save the same cannot deadlock.
    """
    saved = 0
    for table, columns, rows in (("items", ITEMS, items), ("judgments", JUDGMENTS, judgments)):
        once = {row[0]: row for row in rows}
        missing = once if dialect.for_update else without(connection, table, columns[0], once)
        new = [once[one] for one in (sorted(once) if dialect.for_update else once) if one in missing]
        if new:
            ending = _RESTORE.format(key=columns[0], table=table)
            saved += dialect.insert(connection, table, columns, new, ending)
    return saved


def without(connection: Connection, table: str, digest: str, asked: Collection[str]) -> set[str]:
    """Those of these digests that a table has no row of, or one whose texts were forgotten."""
    query = f"SELECT {digest} FROM {table} WHERE {digest} IN (SELECT unnest($1::VARCHAR[])) AND NOT redacted"  # noqa: S608
    return set(asked).difference(found for (found,) in connection.execute(query, [list(asked)]).fetchall())


def rows_to_add(connection: Connection, dialect: Dialect, writes: Sequence[W]) -> NewRows[W]:
    """The rows that these writes add.

    On PostgreSQL saving a judgment has locked its row, changed or not, until this transaction ends: no other process
    can append anything about it between this look and the rows that follow.
    """
    rows = connection.execute(
        "SELECT DISTINCT key FROM assessments WHERE key IN (SELECT unnest($1::VARCHAR[]))",
        [[write.key for write in writes]],
    ).fetchall()
    known = {key for (key,) in rows}
    newest = _newest(connection, {write.subject for write in writes if write.key in known})
    most = sum(1 if write.annotation is None else 2 for write in writes)
    numbers = dialect.numbers(connection, "assessments", "assessment_id", most)
    return new_rows(writes, known, newest, iter(numbers))


def _newest(connection: Connection, subjects: Iterable[Subject]) -> Mapping[Subject, Newest]:
    wanted = set(subjects)
    if not wanted:
        return {}
    rows = connection.execute(
        "SELECT a.judgment_digest, a.panel_digest, a.assessment_id, a.payload, n.payload "
        "FROM assessments a LEFT JOIN annotations n ON n.assessment_id = a.assessment_id "
        "WHERE a.judgment_digest IN (SELECT unnest($1::VARCHAR[])) ORDER BY a.assessment_id, n.annotation_id",
        [sorted({one.judgment_digest for one in wanted})],
    ).fetchall()
    return {Subject(*row[:2]): Newest(*row[2:]) for row in rows if row[:2] in wanted}  # the last one is the newest


def _add(connection: Connection, dialect: Dialect, new: NewRows[AssessmentWrite]) -> None:
    now = time.time()
    rows = [assessment_row(number, write, now) for number, write in new.assessments]
    agents = [row for number, write in new.assessments for row in agent_rows(number, write.assessment)]
    said = [annotation_row(number, of, write, now) for number, of, write in new.annotations]
    add_rows(connection, dialect, rows, said, agents)


def add_rows(
    connection: Connection, dialect: Dialect, assessments: list[Row], annotations: list[Row], scores: Sequence[Row] = ()
) -> None:
    """Adds rows with numbers."""
    for table, columns, rows in (
        ("assessments", ASSESSMENTS, assessments),
        ("agent_scores", AGENT_SCORES, scores),
        ("annotations", ANNOTATIONS, annotations),
    ):
        if rows:
            dialect.insert(connection, table, columns, rows)
