"""The table ``lines`` of a DuckDB file: the current version of each judgment by each panel, in short columns.

PostgreSQL keeps its own by triggers (``migrations/postgres/0009_lines.sql``).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import duckdb
import numpy as np

from metajudge.store.rows import Subject
from metajudge.store.sql import only_row
from metajudge.store.stored_map import Pairs, StoredMap

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
