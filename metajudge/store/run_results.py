"""Versions without texts, read in bulk: results, labels, and what a promise may cover."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from metajudge.store.sql import Connection
from metajudge.store.versions import CURRENT, versions

_SPAN: Final = 16_384
"""Numbers of versions that one query reads."""

_QUERY: Final = f"""
    SELECT assessment_id, number, judgment_id, item_id, judgment_digest, panel_digest, accepted, final_score, annotation
    FROM {versions()} found WHERE {{}} AND number BETWEEN $2 AND $3 ORDER BY number
"""  # noqa: S608
_OF_RUN: Final = "run_id = $1"
_NOW: Final = (
    f"number IN (SELECT number FROM {CURRENT} WHERE ($1::VARCHAR IS NULL OR panel_digest = $1) "  # noqa: S608
    "AND number BETWEEN $2 AND $3)"
)


class RunResult(NamedTuple):
    """One version of an assessment, its texts left out."""

    assessment_id: int
    number: int
    judgment_id: str
    item_id: str
    judgment_digest: str
    panel_digest: str
    accepted: bool | None
    final_score: float | None


def run_results(cursor: Connection, run_id: str) -> list[RunResult]:
    """A run's own newest version of each judgment and panel, by its number, ascending.

    The same versions as :func:`metajudge.store.queries.run_assessments` has.
    """
    newest: dict[tuple[str, str], RunResult] = {}
    for one in _read(cursor, _OF_RUN, run_id, f"{versions()} found WHERE {_OF_RUN}", [run_id]):
        subject = one.judgment_digest, one.panel_digest
        newest[subject] = max(newest.get(subject, one), one, key=lambda version: version[:2])
    return sorted(newest.values(), key=lambda one: one.number)


def current_results(cursor: Connection, panel: str | None) -> list[RunResult]:
    """The current version of each judgment by each panel, or by one, by its number, ascending."""
    return list(_read(cursor, _NOW, panel, CURRENT, []))


def _read(cursor: Connection, which: str, about: str | None, among: str, values: Sequence[Any]) -> Iterator[RunResult]:
    first, last = cursor.row(f"SELECT min(number), max(number) FROM {among}", values)  # noqa: S608
    for start in range(first, last + 1, _SPAN) if first is not None else ():
        for *columns, said in cursor.rows(_QUERY.format(which), [about, start, start + _SPAN - 1]):
            whole = said is not None and '"final_score":' in said  # an earlier version kept a whole assessment there
            yield _whole(columns[0], columns[1], orjson.loads(said)) if whole else RunResult(*columns)


def _whole(assessment_id: int, number: int, said: dict[str, Any]) -> RunResult:
    values: list[Any] = [said.get(name) for name in RunResult._fields[2:]]
    return RunResult(assessment_id, number, *values)


SPAN: Final = 4_096
"""Numbers of versions that are looked through at once."""

_STAMPED: Final = """
    SELECT n.annotation_id, n.run_id, n.created_at, n.accepted, n.calibration, n.probability, n.payload,
        a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.final_score, a.payload
    FROM annotations n JOIN assessments a ON a.assessment_id = n.assessment_id
    WHERE n.calibration IS NOT NULL AND {} ORDER BY n.annotation_id
"""


class StampedVersion(NamedTuple):
    """A version that a calibration annotated, without its judgment's texts.

    Attributes:
        annotation: its payload, and ``payload`` that of its assessment.
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


def newest_annotation(connection: Connection) -> int:
    """The largest number of an annotation; 0 in a store without annotations."""
    return int(connection.row("SELECT coalesce(max(annotation_id), 0) FROM annotations")[0])


def stamped_versions(connection: Connection, first: int) -> list[StampedVersion]:
    """The stamped versions with numbers from ``first`` to ``first + SPAN - 1``, ascending.

    Some others may be among them, whose calibration promises nothing.
    """
    return _stamped(connection, "n.annotation_id BETWEEN $1 AND $2", [first, first + SPAN - 1])


def stamped_versions_of(connection: Connection, judgments: Sequence[str]) -> list[StampedVersion]:
    """The same for the judgments with these digests, of any number."""
    return _stamped(connection, "a.judgment_digest IN (SELECT unnest($1::VARCHAR[]))", [list(judgments)])


def _stamped(connection: Connection, condition: str, values: Sequence[Any]) -> list[StampedVersion]:
    found = map(StampedVersion._make, connection.rows(_STAMPED.format(condition), values))
    reason, none = '"outside_guarantee"', '"outside_guarantee":[]'
    return [
        one for one in found if one.probability is not None or (reason in one.annotation and none not in one.annotation)
    ]
