"""Writes groups of records to PostgreSQL, each group in one transaction, its rows by COPY."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from metajudge.errors import StoreError
from metajudge.store.postgres_connections import PgConnection
from metajudge.store.repeats import Newest, NewRows, Write, new_rows
from metajudge.store.rows import AssessmentWrite, Row, Subject, agent_rows, annotation_row, assessment_row, call_row
from metajudge.types import CallRecord

Record = CallRecord | AssessmentWrite

# Saving a redacted record again restores its texts.
_SAVE_ITEMS: Final = """
    INSERT INTO items (item_digest, item_id, category, payload, redacted)
    SELECT * FROM unnest($1::VARCHAR[], $2::VARCHAR[], $3::VARCHAR[], $4::VARCHAR[], $5::BOOLEAN[])
    ON CONFLICT (item_digest) DO UPDATE SET payload = excluded.payload, redacted = false WHERE items.redacted
"""
_SAVE_JUDGMENTS: Final = """
    INSERT INTO judgments (judgment_digest, judgment_id, item_digest, item_id, judge, payload, redacted)
    SELECT * FROM unnest($1::VARCHAR[], $2::VARCHAR[], $3::VARCHAR[], $4::VARCHAR[], $5::VARCHAR[], $6::VARCHAR[],
        $7::BOOLEAN[])
    ON CONFLICT (judgment_digest) DO UPDATE SET payload = excluded.payload, redacted = false WHERE judgments.redacted
"""
_CALLS: Final = """
    COPY calls (key, run_id, endpoint, model, draw, attempt, status, started_at, latency_s, reply_text, reply_model,
        finish, input_tokens, cached_tokens, cache_write_tokens, output_tokens, cost_usd, failure_kind,
        failure_message, http_status, redacted, token_probabilities) FROM STDIN
"""
_ASSESSMENTS: Final = """
    COPY assessments (assessment_id, key, run_id, created_at, judgment_digest, judgment_id, item_id, judge, status,
        final_score, accepted, strategy, panel_digest, payload, redacted) FROM STDIN
"""
_AGENT_SCORES: Final = """
    COPY agent_scores (assessment_id, position, stage, agent, model, role, weight, score, criteria, failure_kind,
        skipped, calls, cached_calls, cost_usd, input_tokens, output_tokens, latency_s, request_key) FROM STDIN
"""
_ANNOTATIONS: Final = """
    COPY annotations (annotation_id, assessment_id, run_id, created_at, status, accepted, calibration, probability,
        policy, policy_digest, action, payload, redacted) FROM STDIN
"""
_HASH: Final = 1
"""Where ``call_row`` and ``assessment_row`` have the hash of the key, which PostgreSQL has no column for."""


class PostgresJournal:
    """Turns records into rows; belongs to one writer, which is a row of ``writers``."""

    def __init__(self, writer_id: int) -> None:
        self.writer_id = writer_id

    def commit(self, connection: PgConnection, records: Sequence[Record], number: int) -> None:
        """Puts a group into the database, all of it or nothing, and notes its number."""
        calls = [record for record in records if isinstance(record, CallRecord)]
        writes = [record for record in records if isinstance(record, AssessmentWrite)]
        with connection.transaction():
            if calls:
                copy_rows(connection, _CALLS, (_unhashed(call_row(0, call))[1:] for call in calls))
            if writes:
                items = [w.item for w in writes if w.item is not None]
                save_texts(connection, items, [w.judgment for w in writes if w.judgment is not None])
                _copy_assessments(connection, rows_to_add(connection, writes))
            connection.execute("UPDATE writers SET committed = $1 WHERE writer_id = $2", [number, self.writer_id])

    def committed(self, connection: PgConnection) -> int:
        """Number of the last group that is in the database.

        Raises:
            StoreError: the writer's own row is gone.
        """
        rows = connection.execute("SELECT committed FROM writers WHERE writer_id = $1", [self.writer_id]).fetchall()
        if not rows:
            raise StoreError("the store was emptied or restored while it was in use: open the store again")
        return int(rows[0][0])


def save_texts(connection: PgConnection, items: Sequence[Row], judgments: Sequence[Row]) -> int:
    """Keeps the rows of items and judgments, once per digest; returns how many were added or restored.

    Sorted, so that two replicas that save the same records cannot deadlock.
    """
    return _save(connection, _SAVE_ITEMS, items) + _save(connection, _SAVE_JUDGMENTS, judgments)


def _save(connection: PgConnection, query: str, rows: Iterable[Row]) -> int:
    once = {row[0]: row for row in rows}  # a statement may touch a row only once
    columns = zip(*(once[digest] for digest in sorted(once)), strict=True)
    return connection.execute(query, [list(column) for column in columns]).rowcount if once else 0


W = TypeVar("W", bound=Write)


def rows_to_add(connection: PgConnection, writes: Sequence[W]) -> NewRows[W]:
    """The rows that these writes add.

    Saving a judgment has locked its row, changed or not, until this transaction ends: no other replica can append
    anything about it between this look and the rows that follow.
    """
    rows = connection.execute(
        "SELECT DISTINCT key FROM assessments WHERE key = ANY($1::VARCHAR[])", [[write.key for write in writes]]
    ).fetchall()
    known = {key for (key,) in rows}
    newest = _newest(connection, {write.subject for write in writes if write.key in known})
    most = sum(1 if write.annotation is None else 2 for write in writes)
    return new_rows(writes, known, newest, iter(next_numbers(connection, "assessments", "assessment_id", most)))


def _newest(connection: PgConnection, subjects: Iterable[Subject]) -> Mapping[Subject, Newest]:
    wanted = sorted(subjects)
    if not wanted:
        return {}
    rows = connection.execute(
        "SELECT DISTINCT ON (a.judgment_digest, a.panel_digest) a.judgment_digest, a.panel_digest, a.assessment_id, "
        "coalesce(n.annotation_id, a.assessment_id), a.payload, n.payload "
        "FROM assessments a JOIN unnest($1::VARCHAR[], $2::VARCHAR[]) wanted (judgment_digest, panel_digest) "
        "USING (judgment_digest, panel_digest) LEFT JOIN annotations n ON n.assessment_id = a.assessment_id "
        "ORDER BY a.judgment_digest, a.panel_digest, a.assessment_id DESC, n.annotation_id DESC",
        [[one.judgment_digest for one in wanted], [one.panel_digest for one in wanted]],
    ).fetchall()
    return {Subject(judgment, panel): Newest.read(*values) for judgment, panel, *values in rows}


def _copy_assessments(connection: PgConnection, new: NewRows[AssessmentWrite]) -> None:
    now = time.time()
    rows = (_unhashed(assessment_row(number, write, now)) for number, write in new.assessments)
    copy_assessment_rows(connection, rows)
    copy_rows(
        connection,
        _AGENT_SCORES,
        (row for number, write in new.assessments for row in agent_rows(number, write.assessment)),
    )
    copy_annotations(connection, (annotation_row(number, of, write, now) for number, of, write in new.annotations))


def copy_assessment_rows(connection: PgConnection, rows: Iterable[Row]) -> None:
    """Adds rows of ``assessments``, without hashes."""
    copy_rows(connection, _ASSESSMENTS, rows)


def copy_annotations(connection: PgConnection, rows: Iterable[Row]) -> None:
    """Adds rows of ``annotations``."""
    copy_rows(connection, _ANNOTATIONS, rows)


def next_numbers(connection: Any, table: str, column: str, count: int) -> list[int]:
    """Numbers of new rows, ascending; reserved for this writer."""
    rows = connection.execute(
        "SELECT nextval(pg_get_serial_sequence($1, $2)) FROM generate_series(1, $3)", [table, column, count]
    ).fetchall()
    return [number for (number,) in rows]


def _unhashed(row: Row) -> Row:
    return (*row[:_HASH], *row[_HASH + 1 :])


def copy_rows(connection: PgConnection, statement: str, rows: Iterable[Row]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
