"""Versions that a promise may cover, or with the reason why none does: to monitor promises. SQL for both databases."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from metajudge.store.gaps import COLUMNS, rows_of
from metajudge.store.sql import Connection, in_file, only_row

SPAN: Final = 1 << 17
"""Numbers of versions that are looked through at once."""

_STAMPED: Final = (
    "calibration IS NOT NULL AND (probability IS NOT NULL "
    "OR strpos(payload, '\"outside_guarantee\"') > 0 AND strpos(payload, '\"outside_guarantee\":[]') = 0)"
)
"""Of an annotation; it is true of others too, whose calibration promises nothing."""


class StampedVersion(NamedTuple):
    """A version that a calibration annotated, without its judgment's texts.

    Attributes:
        annotation: its payload, and ``payload`` that of its assessment: both may have gaps
            (:mod:`metajudge.store.gaps`).
        parts: of the signals, where ``payload`` has gaps; each NULL where it is whole.
    """

    number: int
    run_id: str
    created_at: float
    accepted: bool | None
    calibration: str
    probability: float | None
    annotation: str
    judgment_digest: str
    judgment_id: str
    item_id: str
    judge: str
    final_score: float | None
    payload: str
    parts: tuple[str | None, ...]


def newest_annotation(connection: Connection) -> int:
    """The largest number of an annotation; 0 in a store without annotations."""
    return int(only_row(connection, "SELECT coalesce(max(annotation_id), 0) FROM annotations")[0])


def stamped_numbers(connection: Connection, first: int) -> list[tuple[int, int]]:
    """Numbers of the stamped annotations from ``first`` to ``first + SPAN - 1`` and of their assessments, ascending."""
    table = _rows_of(connection, "annotations")
    return connection.execute(
        f"SELECT annotation_id, assessment_id FROM {table} WHERE annotation_id BETWEEN $1 AND $2 "  # noqa: S608
        f"AND {_STAMPED} ORDER BY annotation_id",
        [first, first + SPAN - 1],
    ).fetchall()


def stamped_numbers_of(connection: Connection, judgments: Sequence[str]) -> list[tuple[int, int]]:
    """The same for the judgments with these digests, of any number."""
    table = _rows_of(connection, "annotations")
    return connection.execute(
        f"SELECT annotation_id, assessment_id FROM {table} WHERE assessment_id IN (SELECT assessment_id "  # noqa: S608
        "FROM assessments WHERE judgment_digest IN (SELECT unnest($1::VARCHAR[]))) "
        f"AND {_STAMPED} ORDER BY annotation_id",
        [list(judgments)],
    ).fetchall()


def stamped_versions(
    connection: Connection, numbers: Sequence[tuple[int, int]], *, all_between: bool = False
) -> list[StampedVersion]:
    """The versions with these numbers of annotations and assessments, by the first.

    Args:
        all_between: whether every stamped annotation between the first and the last is among them, which is quicker.
    """
    if not numbers:
        return []
    assessments = [one for _, one in numbers]
    table = _rows_of(connection, "assessments")
    parts = ", ".join(f"a.{one}" for one in COLUMNS) if table != "assessments" else "NULL"
    which = _STAMPED.replace("payload", "n.payload").replace("calibration", "n.calibration")
    values: list[object] = [numbers[0][0], numbers[-1][0], min(assessments), max(assessments)]
    if not all_between:
        which = "n.annotation_id IN (SELECT unnest($5::BIGINT[])) AND a.assessment_id IN (SELECT unnest($6::BIGINT[]))"
        values += [[one for one, _ in numbers], assessments]
    rows = connection.execute(
        "SELECT n.annotation_id, n.run_id, n.created_at, n.accepted, n.calibration, n.probability, n.payload, "  # noqa: S608
        f"a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.final_score, a.payload, {parts} "
        f"FROM {_rows_of(connection, 'annotations')} n JOIN {table} a ON a.assessment_id = n.assessment_id "
        f"WHERE n.annotation_id BETWEEN $1 AND $2 AND a.assessment_id BETWEEN $3 AND $4 AND {which} "
        "ORDER BY n.annotation_id",
        values,
    ).fetchall()
    return [StampedVersion._make((*row[:13], row[13:])) for row in rows]


def _rows_of(connection: Connection, table: str) -> str:
    """The table whose payloads may have gaps; where none has, the table itself."""
    return rows_of(table) if in_file(connection) else table
