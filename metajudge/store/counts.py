"""Counts of versions by what is alike. SQL for both databases.

DuckDB counts the current versions at every look. PostgreSQL has the table ``version_counts``, which triggers keep up to
date (``migrations/postgres/0012_counts.sql``): its rows are counts, of which some are negative, and their sum is exact.
"""

from collections.abc import Sequence
from typing import Any, Final

from metajudge.store.sql import Connection, in_file, only_row
from metajudge.store.versions import CURRENT

DAY_S: Final = 86_400
_ALIKE: Final = "run_id, panel_digest, strategy, judge, status, accepted, policy, action"
DAY: Final = f"CAST(floor(created_at / {DAY_S}) AS INTEGER)"
_EACH: Final = f"SELECT {_ALIKE}, {DAY} AS day, 1 AS n FROM {CURRENT} WHERE created_at >= $1"  # noqa: S608
_END_OF_DAY: Final = f"{DAY_S} * (floor($1::FLOAT8 / {DAY_S}) + 1)"

COUNT: Final = "CAST(coalesce(sum(n), 0) AS BIGINT)"
"""How many versions some rows of :func:`counted` are; 0 for a group that is there no more."""


def counted(connection: Connection) -> str:
    """The current versions since $1, in seconds since the epoch, as a subquery of counts.

    Columns: run_id, panel_digest, strategy, judge, status, accepted, policy, action, day (from 1970-01-01, UTC) and n.
    """
    if in_file(connection):
        return f"({_EACH}) counted"
    later = f"SELECT {_ALIKE}, day, n FROM version_counts WHERE subject = 'line' AND day > floor($1::FLOAT8 / {DAY_S})"  # noqa: S608
    return f"({later} UNION ALL {_EACH} AND created_at < {_END_OF_DAY}) counted"


def versions_of_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, int]:
    """How many assessments each run made or annotated; one that it annotated twice may count twice."""
    of_runs = "run_id IN (SELECT unnest($1::VARCHAR[]))"
    query = f"SELECT run_id, {COUNT} FROM version_counts WHERE subject <> 'line' AND {of_runs} GROUP BY run_id"  # noqa: S608
    if in_file(connection):
        query = (
            "SELECT run_id, CAST(sum(n) AS BIGINT) FROM (SELECT run_id, count(*) AS n FROM assessments "  # noqa: S608
            f"WHERE {of_runs} GROUP BY run_id UNION ALL SELECT n.run_id, count(DISTINCT n.assessment_id) "
            f"FROM annotations n JOIN assessments a ON a.assessment_id = n.assessment_id WHERE n.{of_runs} "
            "AND a.run_id <> n.run_id GROUP BY n.run_id) counted GROUP BY run_id"
        )
    return dict(connection.execute(query, [list(run_ids)]).fetchall())


def current_span(connection: Connection, run_id: str) -> tuple[int, int] | None:
    """The first and the last number of a run's versions, where all that it assessed or annotated is as it left it.

    None where another run made or annotated a newer version, and where that is not known: on DuckDB always, which would
    have to count.
    """
    if in_file(connection):
        return None
    current, *numbers = only_row(
        connection,
        f"SELECT {COUNT}, (SELECT min(assessment_id) FROM assessments WHERE run_id = $1), "  # noqa: S608
        "(SELECT min(annotation_id) FROM annotations WHERE run_id = $1), "
        "(SELECT max(assessment_id) FROM assessments WHERE run_id = $1), "
        "(SELECT max(annotation_id) FROM annotations WHERE run_id = $1) "
        "FROM version_counts WHERE subject = 'line' AND run_id = $1",
        [run_id],
    )
    if not current or current != versions_of_runs(connection, [run_id]).get(run_id):
        return None
    there = [number for number in numbers if number is not None]
    return min(there), max(there)


def judges_of_runs(connection: Connection, run_ids: Sequence[str]) -> list[Any]:
    """(run, judge, assessments that the run made), by run, the most frequent judge first."""
    rows = _assessments(connection)
    return connection.execute(
        f"SELECT run_id, judge, {COUNT} AS often FROM {rows} WHERE run_id IN (SELECT unnest($1::VARCHAR[])) "  # noqa: S608
        "GROUP BY run_id, judge ORDER BY run_id, often DESC, judge",
        [list(run_ids)],
    ).fetchall()


def frequent(connection: Connection, column: str, limit: int) -> tuple[str, ...]:
    """The most frequent values of a column among all assessments: judge, strategy or panel_digest."""
    rows = connection.execute(
        f"SELECT {column}, {COUNT} AS often FROM {_assessments(connection)} GROUP BY {column} "  # noqa: S608
        f"ORDER BY often DESC, {column} LIMIT {int(limit)}"
    ).fetchall()
    return tuple(name for name, _ in rows)


def _assessments(connection: Connection) -> str:
    """All assessments as a subquery of counts."""
    if in_file(connection):
        return "(SELECT run_id, judge, strategy, panel_digest, 1 AS n FROM assessments) counted"
    return "(SELECT * FROM version_counts WHERE subject = 'assessment') counted"
