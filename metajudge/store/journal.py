"""Writes groups of records, each group in one transaction."""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.block_columns import Added, insert_annotations, insert_assessments, insert_lines, insert_texts
from metajudge.store.block_writes import CheckedBlock
from metajudge.store.bulk import Numbers
from metajudge.store.gaps import COLUMNS, no_own, rows_of
from metajudge.store.known_digests import Halves, KnownDigests
from metajudge.store.lookups import key_hash
from metajudge.store.repeats import Newest, new_rows
from metajudge.store.rows import (
    AssessmentWrite,
    Row,
    Subject,
    agent_rows,
    annotation_row,
    assessment_row,
    call_row,
    has_reply,
)
from metajudge.store.sql import only_row
from metajudge.store.stored_map import Pairs, StoredMap
from metajudge.types import CallRecord

Record = CallRecord | AssessmentWrite

_MANY: Final = 512
"""So many rows go into a table faster by columns than one after the other."""
_APART: Final = 4_096
"""Stored rows with fewer others between them are read together."""
_STRETCHES: Final = 16
"""Where stored rows lie in more stretches than these, as after an input was shuffled, they are compared one by one."""

_COMPARED: Final = ("key", "judgment_digest", "panel_digest", "payload")

_QUERY: Final = f"""
    SELECT a.assessment_id, l.number, {", ".join(f"a.{name}" for name in (*_COMPARED, *COLUMNS))}
    FROM assessment_rows a JOIN lines l ON l.assessment_id = a.assessment_id
    WHERE a.assessment_id BETWEEN $1 AND $2 AND l.assessment_id BETWEEN $1 AND $2
        AND a.signals_1 IS NOT NULL AND NOT a.redacted
    ORDER BY a.assessment_id
"""  # noqa: S608 - our own names
_CURRENT: Final = """
    SELECT coalesce(n.annotation_id, a.assessment_id), a.assessment_id, coalesce(n.created_at, a.created_at),
        coalesce(n.run_id, a.run_id), a.judgment_id, a.item_id, a.judge, coalesce(n.status, a.status),
        CASE WHEN n.annotation_id IS NULL THEN a.accepted ELSE n.accepted END, a.strategy, a.panel_digest, n.policy,
        n.action
    FROM assessments a LEFT JOIN annotations n ON n.assessment_id = a.assessment_id AND n.annotation_id IN (
        SELECT max(annotation_id) FROM annotations {among} GROUP BY assessment_id)
"""
_SUBJECTS: Final = "SELECT hash(judgment_digest, panel_digest) AS subject, assessment_id FROM assessments"


class Lines:
    """Keeps the table up to date; belongs to the writer thread.

    The newest assessment of each judgment and panel is found by a map in memory, which is loaded at the first write.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._newest = StoredMap(self._stored)
        self._adding: int | None = None
        self._settle()

    def use(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Goes on with another connection to the same rows."""
        self._connection = connection

    def _settle(self) -> None:
        """Builds the table anew where the newest version is missing: after a migration, or a copy."""
        (newest,) = only_row(
            self._connection,
            "SELECT greatest((SELECT coalesce(max(assessment_id), 0) FROM assessments), "
            "(SELECT coalesce(max(annotation_id), 0) FROM annotations))",
        )
        (there,) = only_row(self._connection, "SELECT coalesce(max(number), 0) FROM lines")
        if newest == there:
            return
        of_subject = (
            "WHERE a.assessment_id IN "
            "(SELECT max(assessment_id) FROM assessments GROUP BY judgment_digest, panel_digest)"
        )
        self._connection.execute("BEGIN")
        try:
            self._connection.execute("DELETE FROM lines")
            self._connection.execute("DELETE FROM line_facts")
            self._connection.execute(f"INSERT INTO lines {_CURRENT.format(among='')} {of_subject} ORDER BY 1")
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def load(self) -> None:
        """Reads which assessments are there; call it before rows are added."""
        self._newest.load()

    def _stored(self) -> Pairs:
        """Hashes of subjects with the numbers of their assessments, without those that are being added."""
        condition = "" if self._adding is None else f" WHERE assessment_id < {self._adding}"
        return self._subjects(f"{_SUBJECTS}{condition} ORDER BY assessment_id")

    def _subjects(self, query: str, values: list[Any] | None = None) -> Pairs:
        found = self._connection.execute(query, values or []).fetchnumpy()
        return np.asarray(found["subject"]).astype(np.uint64), np.asarray(found["assessment_id"]).astype(np.uint64)

    def newest(self, subjects: Sequence[Subject]) -> list[int]:
        """Numbers of the newest assessments about these, in ascending order; of a few others too, very rarely."""
        query = "SELECT hash(judgment, panel) AS subject FROM (SELECT unnest($1::VARCHAR[]) AS judgment, "
        query += "unnest($2::VARCHAR[]) AS panel)"
        found = self._connection.execute(query, [list(names) for names in zip(*subjects, strict=True)]).fetchnumpy()
        numbers, there = self._newest.find(np.asarray(found["subject"]).astype(np.uint64))
        return sorted(numbers[there].tolist())

    def add(
        self,
        assessments: Sequence[int],
        annotated: Iterable[int],
        insert: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    ) -> None:
        """Adds the lines of new assessments and of those with a new annotation, in the caller's transaction.

        Args:
            insert: adds the lines of the new assessments where none of these replaces another one, nor has any other
                assessment a new annotation; None to read them from the tables.
        """
        new, said = sorted(assessments), set(annotated)
        touched = sorted({*new, *said})
        if not touched:
            return
        old = self._superseded(new) if new else set[int]()
        self._drop(sorted(old | said.difference(new)))
        if insert is not None and old.isdisjoint(new):
            insert(self._connection)
            return
        current = [number for number in touched if number not in old]
        among = "WHERE assessment_id BETWEEN $2 AND $3 AND assessment_id IN (SELECT unnest($1::BIGINT[]))"
        query = _CURRENT.format(among=among if said else "WHERE false")
        self._connection.execute(
            f"INSERT INTO lines {query} WHERE a.assessment_id BETWEEN $2 AND $3 "
            "AND a.assessment_id IN (SELECT unnest($1::BIGINT[])) ORDER BY 1",
            [current, current[0], current[-1]],
        )

    def _drop(self, gone: list[int]) -> None:
        """Deletes the lines of these assessments, which ascend."""
        if not gone:
            return
        condition = "assessment_id BETWEEN $1 AND $2"
        values: list[Any] = [gone[0], gone[-1]]
        if len(gone) <= gone[-1] - gone[0]:
            condition += " AND assessment_id IN (SELECT unnest($3::BIGINT[]))"
            values.append(gone)
        for table in ("lines", "line_facts"):
            self._connection.execute(f"DELETE FROM {table} WHERE {condition}", values)  # noqa: S608 - our own names

    def _superseded(self, new: list[int]) -> set[int]:
        """Earlier assessments of the same judgment and panel, among the new ones too; notes the new ones."""
        condition = "WHERE assessment_id BETWEEN $1 AND $2 ORDER BY assessment_id"
        subjects, numbers = self._subjects(f"{_SUBJECTS} {condition}", [new[0], new[-1]])
        self._adding = new[0]  # the rows that are being added are in the table already
        before, there = self._newest.find(subjects)
        self._adding = None
        pairs = list(zip(before[there].tolist(), numbers[there].tolist(), strict=True))
        last: dict[int, int] = {}
        if len(np.unique(subjects)) < len(subjects):
            for subject, number in zip(subjects.tolist(), numbers.tolist(), strict=True):
                if subject in last:
                    pairs.append((last[subject], number))
                last[subject] = number
        self._newest.update(subjects.tolist(), numbers.tolist())
        if not pairs:
            return set()
        same = self._connection.execute(  # by the digests themselves, of which the map has a hash
            "SELECT o.assessment_id FROM (SELECT unnest($1::BIGINT[]) AS old, unnest($2::BIGINT[]) AS new) pair "
            "JOIN assessments o ON o.assessment_id = pair.old JOIN assessments n ON n.assessment_id = pair.new "
            "WHERE o.judgment_digest = n.judgment_digest AND o.panel_digest = n.panel_digest",
            [[old for old, _ in pairs], [number for _, number in pairs]],
        ).fetchall()
        return {number for (number,) in same}


def recognised(connection: duckdb.DuckDBPyConnection, checked: CheckedBlock, stored: Numbers) -> Numbers:
    """The current version of each row that is the result its judgment has already by its panel.

    What is not recognised here, :func:`metajudge.store.repeats.new_rows` compares one by one.

    Args:
        stored: [n] numbers of the assessments that may have the rows' keys; 0 without one.

    Returns:
        [n] numbers; 0 where a row is not recognised.
    """
    block, versions = checked.block, np.zeros(len(checked), dtype=np.int64)
    asked = np.flatnonzero(stored)
    if not len(asked) or not block.parts or block.annotations is not None:
        return versions
    order = np.sort(stored[asked])
    stretches = np.split(order, np.flatnonzero(np.diff(order) > _APART) + 1)
    if len(stretches) > _STRETCHES or _comes_twice(checked):
        return versions
    read = [connection.execute(_QUERY, [int(one[0]), int(one[-1])]).fetchnumpy() for one in stretches]
    found = {name: np.concatenate([np.asarray(one[name]) for one in read]) for name in read[0]}
    asked = asked[np.isin(stored[asked], found["assessment_id"])]
    places = np.searchsorted(found["assessment_id"], stored[asked])
    same = np.ones(len(asked), dtype=bool)
    own = (block.keys, block.judgment_digests, block.panel_digests, checked.payloads, *block.parts)
    for name, column in zip((*_COMPARED, *COLUMNS), own, strict=True):
        same &= found[name][places] == _column(column)[asked]
    versions[asked[same]] = found["number"][places[same]]
    return versions


def _comes_twice(checked: CheckedBlock) -> bool:
    """Whether two rows are about the same judgment and panel: then their order counts."""
    block = checked.block
    return len(set(zip(block.judgment_digests, block.panel_digests, strict=True))) < len(block)


def _column(values: Any) -> npt.NDArray[Any]:
    return np.array(values, dtype=object)


class Once:
    """A table whose rows are kept once per digest, their first column; saving a redacted one restores its texts."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, digest: str) -> None:
        self._table, self._digest = table, digest
        self.use(connection)
        self._restore = f"UPDATE {table} SET payload = $2, redacted = false WHERE {digest} = $1"  # noqa: S608
        self._known = KnownDigests(self._stored, self._redacted)

    def use(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Goes on with another connection to the same rows."""
        self._connection = connection
        self._appender = connection.appender(self._table)

    def save(self, rows: Iterable[Row | None]) -> int:
        """Adds the rows that are missing; returns how many were added or restored."""
        new = {row[0]: row for row in rows if row is not None}
        if not new:
            return 0
        missing = self.missing(list(new))
        forgotten = self._known.forgotten.intersection(missing)
        for digest in forgotten:
            *_, payload, _ = new[digest]
            self._connection.execute(self._restore, [digest, payload])
        self._add([new[one] for one in missing if one not in forgotten])
        self._known.add(missing)
        return len(missing)

    def _add(self, rows: list[Row]) -> None:
        if len(rows) < _MANY:
            _append(self._appender, rows)
        else:
            insert_texts(self._connection, self._table, rows)

    def missing(self, digests: Sequence[str]) -> list[str]:
        """Those of these digests that are not stored, or whose texts were forgotten, in the order given."""
        return [one for one, kept in zip(digests, self._known.kept(digests).tolist(), strict=True) if not kept]

    def _stored(self) -> Halves:
        name, table = self._digest, self._table
        first, last = f"('0x' || left({name}, 16))::UBIGINT", f"('0x' || substr({name}, 17, 16))::UBIGINT"
        found = self._connection.execute(f"SELECT {first} AS a, {last} AS b FROM {table}").fetchnumpy()  # noqa: S608
        return np.stack([np.asarray(found[half], dtype=np.uint64) for half in ("a", "b")], axis=1)

    def _redacted(self) -> list[str]:
        query = f"SELECT {self._digest} FROM {self._table} WHERE redacted"  # noqa: S608 - our own names
        return [digest for (digest,) in self._connection.execute(query).fetchall()]


@dataclass(frozen=True, slots=True)
class Numbered:
    """The rows of a group: (hash of the key, number) of each reply and of each assessment.

    Attributes:
        repeats: hashes of the keys of writes that added no assessment.
    """

    replies: list[tuple[int, int]]
    assessments: list[tuple[int, int]]
    repeats: list[int]


class Journal:
    """Turns records into rows, numbers them and commits them; belongs to the writer thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._items = Once(connection, "items", "item_digest")
        self._judgments = Once(connection, "judgments", "judgment_digest")
        self._lines = Lines(connection)
        self._use(connection)
        self._next_call = _next_number(connection, "call_id", "calls")
        self._next_version = max(
            _next_number(connection, "assessment_id", "assessments"),
            _next_number(connection, "annotation_id", "annotations"),
        )

    def use(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Goes on with another connection to the same rows, which nobody else has changed."""
        self._use(connection)
        for part in (self._items, self._judgments, self._lines):
            part.use(connection)

    def _use(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._calls = connection.appender("calls")
        self._assessments = connection.appender(rows_of("assessments"))
        self._annotations = connection.appender(rows_of("annotations"))
        self._agent_scores = connection.appender("agent_scores")

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
        if writes:
            self._lines.load()
        with self._transaction():
            if calls:
                self._append_calls(calls, numbered)
            if writes:
                self._items.save(w.item for w in writes)
                self._judgments.save(w.judgment for w in writes)
                self._append_assessments(writes, numbered)
            connection.execute("UPDATE write_ahead SET committed = $1", [segment])
        return numbered

    def keep_texts(self, items: Sequence[Row], judgments: Sequence[Row]) -> int:
        """Adds the rows of items and judgments that are missing; returns how many were added or restored."""
        with self._transaction():
            return self._items.save(items) + self._judgments.save(judgments)

    def without_texts(self, items: Sequence[str], judgments: Sequence[str]) -> tuple[set[str], set[str]]:
        """Those of these digests of items and of judgments that :meth:`keep_texts` would add or restore."""
        return set(self._items.missing(items)), set(self._judgments.missing(judgments))

    def append_block(self, checked: CheckedBlock, stored: Numbers) -> Added:
        """Appends what a block adds, all of it or nothing.

        Args:
            stored: [n] numbers of the newest assessments that may have its keys; 0 without one.
        """
        block, now = checked.block, time.time()
        self._lines.load()
        with self._transaction():
            known = recognised(self._connection, checked, stored)
            rest = np.flatnonzero(known == 0)
            there = self._keys_there({block.keys[place] for place in rest.tolist() if stored[place]})
            all_new = None if there else Added.all_of(block, rest, self._next_version)
            added = (self._compared(checked, rest, there) if all_new is None else all_new).beside(known)
            insert_assessments(self._connection, checked, added, now)
            insert_annotations(self._connection, checked, added, now)
            lines = None if all_new is None else partial(insert_lines, block=block, added=added, created_at=now)
            self._lines.add(added.numbers.tolist(), added.note_of.tolist(), lines)
        self._next_version += added.count
        return added

    def _compared(self, checked: CheckedBlock, rest: Numbers, there: Collection[str]) -> Added:
        """What these rows of a block add to a store that has some of their keys."""
        writes = checked.writes(rest)
        newest = self._newest({write.subject for write in writes if write.key in there})
        return Added.of(new_rows(writes, there, newest, itertools.count(self._next_version)))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.begin()
        try:
            yield
            self._connection.commit()
        except BaseException:
            _roll_back(self._connection)
            raise

    def _append_calls(self, calls: list[CallRecord], numbered: Numbered) -> None:
        first = self._next_call
        rows = [call_row(number, call) for number, call in enumerate(calls, first)]
        _append(self._calls, rows)
        self._next_call = first + len(calls)
        numbered.replies.extend((row[1], row[0]) for row, call in zip(rows, calls, strict=True) if has_reply(call))

    def _append_assessments(self, writes: list[AssessmentWrite], numbered: Numbered) -> None:
        known = self._keys_there([write.key for write in writes if write.again])
        newest = self._newest({write.subject for write in writes if write.key in known})
        numbers, now = itertools.count(self._next_version), time.time()
        new = new_rows(writes, known, newest, numbers)
        numbered.repeats.extend(key_hash(write.key) for write in new.repeats)
        rows = [assessment_row(n, write, now) for n, write in new.assessments]
        _append(self._assessments, [(*row, *no_own("assessments")) for row in rows])
        numbered.assessments.extend((row[1], row[0]) for row in rows)
        _append(self._agent_scores, [row for n, write in new.assessments for row in agent_rows(n, write.assessment)])
        _append(
            self._annotations,
            [(*annotation_row(n, of, write, now), *no_own("annotations")) for n, of, write in new.annotations],
        )
        self._next_version = next(numbers)
        self._lines.add([n for n, _ in new.assessments], [of for _, of, _ in new.annotations])

    def _newest(self, subjects: Collection[Subject]) -> dict[Subject, Newest]:
        """The newest assessment about each of these, with its newest annotation."""
        numbers = self._lines.newest(list(subjects)) if subjects else []
        if not numbers:
            return {}
        condition = "assessment_id BETWEEN $1 AND $2"
        values: list[Any] = [numbers[0], numbers[-1]]
        if len(numbers) <= numbers[-1] - numbers[0]:
            condition += " AND assessment_id IN (SELECT unnest($3::BIGINT[]))"
            values.append(numbers)
        query = f"""
            SELECT a.judgment_digest, a.panel_digest, a.assessment_id, coalesce(n.annotation_id, a.assessment_id),
                a.payload, n.payload
            FROM (SELECT * FROM assessments WHERE {condition}) a
            LEFT JOIN (SELECT * FROM annotations WHERE {condition}) n ON n.assessment_id = a.assessment_id
            ORDER BY a.assessment_id, n.annotation_id
        """  # noqa: S608 - our own text
        rows = self._connection.execute(query, values).fetchall()
        return {Subject(judgment, panel): Newest.read(*found) for judgment, panel, *found in rows}

    def _keys_there(self, keys: Collection[str]) -> set[str]:
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
