"""Writes groups of records, each group in one transaction."""

import hashlib
import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from metajudge.store.compact_map import CompactMap
from metajudge.store.keyed_reads import pairs
from metajudge.store.lookups import key_hash
from metajudge.store.repeats import Newest, Subject, new_rows, subject_of
from metajudge.store.rows import (
    AssessmentWrite,
    Row,
    agent_rows,
    annotation_row,
    assessment_row,
    call_row,
    has_reply,
)
from metajudge.store.sql import only_row
from metajudge.types import CallRecord

Record = CallRecord | AssessmentWrite


class Once:
    """A table whose rows are kept once per digest, their first column; one that was redacted gets its texts again."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, digest: str) -> None:
        self._connection = connection
        self._table = table
        self._digest = digest
        self._appender = connection.appender(table)
        self._halves = CompactMap()  # a digest has 128 bits: the second 64 by the first
        self._redacted: set[str] = set()
        self._complete = True
        self._loaded = False

    def save(self, rows: Sequence[Row]) -> None:
        """Keeps the rows that are not there."""
        self._load()
        new: dict[str, Row] = {}
        for row in rows:
            new.setdefault(row[0], row)
        for digest in self._there(list(new)):
            row = new.pop(digest)
            if digest in self._redacted:
                self._restore(row)
        if new:
            self._appender.append_rows(list(new.values()))
            self._appender.flush()
            for digest in new:
                self._halves.put(*_halves(digest))

    def _load(self) -> None:
        if self._loaded:
            return
        hexadecimal = "('0x' || {}({}, 16))::UBIGINT"
        halves = [hexadecimal.format(side, self._digest) for side in ("left", "right")]
        stored = pairs(self._connection, self._table, *halves)
        if stored is None:
            self._complete = False
        else:
            self._halves.add(*stored)
        redacted = self._connection.execute(f"SELECT {self._digest} FROM {self._table} WHERE redacted").fetchall()  # noqa: S608 - our own names
        self._redacted = {digest for (digest,) in redacted}
        self._loaded = True

    def _there(self, digests: list[str]) -> list[str]:
        found = [digest for digest in digests if self._halves.get(_halves(digest)[0]) == _halves(digest)[1]]
        if self._complete or len(found) == len(digests):
            return found
        query = f"SELECT {self._digest} FROM {self._table} WHERE {self._digest} IN (SELECT unnest($1::VARCHAR[]))"  # noqa: S608
        return [digest for (digest,) in self._connection.execute(query, [digests]).fetchall()]

    def _restore(self, row: Row) -> None:
        digest, *_, payload, _redacted = row
        update = f"UPDATE {self._table} SET payload = $2, redacted = false WHERE {self._digest} = $1"  # noqa: S608
        self._connection.execute(update, [digest, payload])
        self._redacted.discard(digest)


def _halves(digest: str) -> tuple[int, int]:
    return int(digest[:16], 16), int(digest[16:], 16)


class NewestRows:
    """The newest assessment of each judgment and panel; belongs to the writer thread.

    Their numbers are read when first asked for, which takes a store whose judgments are vetted again; then they take
    16 bytes each.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._numbers: CompactMap | None = None
        self._complete = True

    def find(self, subjects: Iterable[Subject]) -> dict[Subject, Newest]:
        """The newest assessments about these, each with its newest annotation."""
        wanted = set(subjects)
        if not wanted:
            return {}
        numbers = self._numbers_of(wanted)
        rows = self._connection.execute(
            "SELECT a.assessment_id, a.payload, n.payload FROM assessments a "
            "LEFT JOIN annotations n ON n.assessment_id = a.assessment_id "
            "WHERE a.assessment_id BETWEEN $2 AND $3 AND a.assessment_id IN (SELECT unnest($1::BIGINT[])) "
            "ORDER BY a.assessment_id, n.annotation_id",
            [numbers, min(numbers, default=0), max(numbers, default=0)],
        ).fetchall()
        newest = {number: Newest.read(number, *texts) for number, *texts in {row[0]: row for row in rows}.values()}
        return {subject: one for one in newest.values() if (subject := subject_of(one.found)) in wanted}

    def note(self, rows: Iterable[tuple[Subject, int]]) -> None:
        """Notes rows that were appended."""
        if self._numbers is not None:
            for subject, number in rows:
                self._numbers.put(_hash(subject), number)

    def _numbers_of(self, subjects: Iterable[Subject]) -> list[int]:
        if self._numbers is None and self._complete:
            stored = pairs(self._connection, "assessments", f"md5_number_lower({_SUBJECT})", "assessment_id")
            if stored is None:
                self._complete = False
            else:
                self._numbers = CompactMap()
                self._numbers.add(*stored)
        if self._numbers is None:  # too many to hold
            query = f"SELECT max(assessment_id) FROM assessments WHERE {_SUBJECT} IN (SELECT unnest($1::VARCHAR[])) "  # noqa: S608
            found = self._connection.execute(f"{query} GROUP BY {_SUBJECT}", [[" ".join(one) for one in subjects]])
            return [number for (number,) in found.fetchall()]
        found_or_not = (self._numbers.get(_hash(subject)) for subject in subjects)
        return [number for number in found_or_not if number is not None]


_SUBJECT: Final = "(judgment_digest || ' ' || panel_digest)"


def _hash(subject: Subject) -> int:
    """As ``md5_number_lower`` has it in DuckDB."""
    return int.from_bytes(hashlib.md5(" ".join(subject).encode(), usedforsecurity=False).digest()[8:], "little")


@dataclass(frozen=True, slots=True)
class Numbered:
    """Which rows a group became: (hash of the key, number) of each reply and of each assessment.

    Attributes:
        repeats: hashes of the keys of writes that added no assessment.
    """

    replies: list[tuple[int, int]]
    assessments: list[tuple[int, int]]
    repeats: list[int]


class Journal:
    """Turns records into rows, numbers them and commits them; belongs to the writer thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._calls = connection.appender("calls")
        self._assessments = connection.appender("assessments")
        self._annotations = connection.appender("annotations")
        self._agent_scores = connection.appender("agent_scores")
        self._items = Once(connection, "items", "item_digest")
        self._judgments = Once(connection, "judgments", "judgment_digest")
        self._newest = NewestRows(connection)
        self._next_call = _next_number(connection, "call_id", "calls")
        self._next_version = max(
            _next_number(connection, "assessment_id", "assessments"),
            _next_number(connection, "annotation_id", "annotations"),
        )

    def committed_segment(self) -> int:
        """Number of the last segment of the write-ahead log whose records are in the database."""
        (number,) = only_row(self._connection, "SELECT committed FROM write_ahead")
        return int(number)

    def commit(self, records: Sequence[Record], segment: int) -> Numbered:
        """Puts a group into the database, all of it or nothing, and notes the log segment it came from."""
        calls = [record for record in records if isinstance(record, CallRecord)]
        writes = [record for record in records if isinstance(record, AssessmentWrite)]
        connection = self._connection
        numbered = Numbered([], [], [])
        connection.begin()
        try:
            if calls:
                self._append_calls(calls, numbered)
            if writes:
                self._items.save([w.item for w in writes if w.item is not None])
                self._judgments.save([w.judgment for w in writes if w.judgment is not None])
                self._append_assessments(writes, numbered)
            connection.execute("UPDATE write_ahead SET committed = $1", [segment])
            connection.commit()
        except BaseException:
            _roll_back(connection)
            raise
        return numbered

    def _append_calls(self, calls: list[CallRecord], numbered: Numbered) -> None:
        first = self._next_call
        rows = [call_row(number, call) for number, call in enumerate(calls, first)]
        _append(self._calls, rows)
        self._next_call = first + len(calls)
        numbered.replies.extend((row[1], row[0]) for row, call in zip(rows, calls, strict=True) if has_reply(call))

    def _append_assessments(self, writes: list[AssessmentWrite], numbered: Numbered) -> None:
        known = self._keys_there([write.key for write in writes if write.again])
        newest = self._newest.find(subject_of(write.assessment) for write in writes if write.key in known)
        numbers, now = itertools.count(self._next_version), time.time()
        new = new_rows(writes, known, newest, numbers)
        numbered.repeats.extend(key_hash(write.key) for write in new.repeats)
        rows = [assessment_row(n, write, now) for n, write in new.assessments]
        _append(self._assessments, rows)
        numbered.assessments.extend((row[1], row[0]) for row in rows)
        self._newest.note((subject_of(write.assessment), n) for n, write in new.assessments)
        _append(self._agent_scores, [row for n, write in new.assessments for row in agent_rows(n, write.assessment)])
        _append(self._annotations, [annotation_row(n, of, write, now) for n, of, write in new.annotations])
        self._next_version = next(numbers)

    def _keys_there(self, keys: Sequence[str]) -> set[str]:
        if not keys:
            return set()
        rows = self._connection.execute(
            "SELECT DISTINCT key FROM assessments WHERE key_hash IN (SELECT unnest($1::UBIGINT[]))",
            [[key_hash(key) for key in keys]],
        ).fetchall()
        return {key for (key,) in rows}


def _next_number(connection: duckdb.DuckDBPyConnection, column: str, table: str) -> int:
    (number,) = only_row(connection, f"SELECT coalesce(max({column}), 0) + 1 FROM {table}")  # noqa: S608 - our own names
    return int(number)


def _append(appender: Any, rows: list[Row]) -> None:
    if rows:
        appender.append_rows(rows)
        appender.flush()


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    try:
        connection.rollback()
    except duckdb.Error:  # the failure that led here is the one to report
        return
