"""Writes groups of records, each group in one transaction."""

import time
from collections.abc import Sequence
from typing import Final

import duckdb

from metajudge.store.keyed_reads import stored_hashes
from metajudge.store.lookups import KnownKeys
from metajudge.store.rows import AssessmentWrite, Row, agent_rows, assessment_row, call_row
from metajudge.store.sql import only_row
from metajudge.types import CallRecord

Record = CallRecord | AssessmentWrite

# A record that was redacted and is saved again has its texts again.
_RESTORE_ITEMS: Final = """
    INSERT INTO items
    SELECT unnest($1::VARCHAR[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[]), unnest($4::VARCHAR[]),
        unnest($5::BOOLEAN[])
    ON CONFLICT (item_digest) DO UPDATE SET payload = excluded.payload, redacted = false WHERE redacted
"""
_RESTORE_JUDGMENTS: Final = """
    INSERT INTO judgments
    SELECT unnest($1::VARCHAR[]), unnest($2::VARCHAR[]), unnest($3::VARCHAR[]), unnest($4::VARCHAR[]),
        unnest($5::VARCHAR[]), unnest($6::VARCHAR[]), unnest($7::BOOLEAN[])
    ON CONFLICT (judgment_digest) DO UPDATE SET payload = excluded.payload, redacted = false WHERE redacted
"""
_DIGEST_HASH: Final = "('0x' || left({}, 16))::UBIGINT"


class Once:
    """A table whose rows are kept once per digest, their first column.

    Appending costs a third of an insertion that asks for conflicts, so only rows that may be stored already
    take that way.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, digest: str, restore: str) -> None:
        self._connection = connection
        self._appender = connection.appender(table)
        self._restore = restore
        self._known = KnownKeys(lambda: stored_hashes(connection, table, _DIGEST_HASH.format(digest)))

    def save(self, rows: list[Row]) -> None:
        self._known.load()
        new: dict[str, Row] = {}  # a statement may touch a row only once, hence dicts
        doubtful: dict[str, Row] = {}
        for row in rows:
            hashed = int(row[0][:16], 16)
            if row[0] in new:
                continue
            if self._known.may_contain(hashed):
                doubtful[row[0]] = row
            else:
                new[row[0]] = row
                self._known.add(hashed)
        if new:
            self._appender.append_rows(list(new.values()))
            self._appender.flush()
        if doubtful:
            self._connection.execute(self._restore, [list(column) for column in zip(*doubtful.values(), strict=True)])


class Journal:
    """Turns records into rows, numbers them and commits them; belongs to the writer thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._calls = connection.appender("calls")
        self._assessments = connection.appender("assessments")
        self._agent_scores = connection.appender("agent_scores")
        self._items = Once(connection, "items", "item_digest", _RESTORE_ITEMS)
        self._judgments = Once(connection, "judgments", "judgment_digest", _RESTORE_JUDGMENTS)
        self._next_call = _next_number(connection, "call_id", "calls")
        self._next_assessment = _next_number(connection, "assessment_id", "assessments")

    def committed_segment(self) -> int:
        """Number of the last segment of the write-ahead log whose records are in the database."""
        (number,) = only_row(self._connection, "SELECT committed FROM write_ahead")
        return int(number)

    def commit(self, records: Sequence[Record], segment: int) -> None:
        """Puts a group into the database, all of it or nothing, and notes the log segment it came from."""
        calls = [record for record in records if isinstance(record, CallRecord)]
        writes = [record for record in records if isinstance(record, AssessmentWrite)]
        connection = self._connection
        connection.begin()
        try:
            if calls:
                self._append_calls(calls)
            if writes:
                self._items.save([w.item for w in writes if w.item is not None])
                self._judgments.save([w.judgment for w in writes if w.judgment is not None])
                self._append_assessments(writes)
            connection.execute("UPDATE write_ahead SET committed = $1", [segment])
            connection.commit()
        except BaseException:
            _roll_back(connection)
            raise

    def _append_calls(self, calls: list[CallRecord]) -> None:
        first = self._next_call
        self._calls.append_rows([call_row(number, call) for number, call in enumerate(calls, first)])
        self._calls.flush()
        self._next_call = first + len(calls)

    def _append_assessments(self, writes: list[AssessmentWrite]) -> None:
        first, now = self._next_assessment, time.time()
        self._assessments.append_rows([assessment_row(n, write, now) for n, write in enumerate(writes, first)])
        self._assessments.flush()
        agents = [row for n, write in enumerate(writes, first) for row in agent_rows(n, write.assessment)]
        if agents:
            self._agent_scores.append_rows(agents)
            self._agent_scores.flush()
        self._next_assessment = first + len(writes)


def _next_number(connection: duckdb.DuckDBPyConnection, column: str, table: str) -> int:
    (number,) = only_row(connection, f"SELECT coalesce(max({column}), 0) + 1 FROM {table}")  # noqa: S608 - our own names
    return int(number)


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    try:
        connection.rollback()
    except duckdb.Error:  # the failure that led here is the one to report
        return
