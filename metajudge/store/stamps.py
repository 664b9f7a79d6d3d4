"""Versions that a promise may cover, or with the reason why none does: to monitor promises."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from metajudge.store.sql import Connection, only_row

SPAN: Final = 4_096
"""Numbers of versions that are looked through at once."""

_QUERY: Final = """
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
    return int(only_row(connection, "SELECT coalesce(max(annotation_id), 0) FROM annotations")[0])


def stamped_versions(connection: Connection, first: int) -> list[StampedVersion]:
    """The stamped versions with numbers from ``first`` to ``first + SPAN - 1``, ascending.

    Some others may be among them, whose calibration promises nothing.
    """
    return _read(connection, "n.annotation_id BETWEEN $1 AND $2", [first, first + SPAN - 1])


def stamped_versions_of(connection: Connection, judgments: Sequence[str]) -> list[StampedVersion]:
    """The same for the judgments with these digests, of any number."""
    return _read(connection, "a.judgment_digest IN (SELECT unnest($1::VARCHAR[]))", [list(judgments)])


def _read(connection: Connection, condition: str, values: Sequence[Any]) -> list[StampedVersion]:
    found = map(StampedVersion._make, connection.execute(_QUERY.format(condition), values).fetchall())
    reason, none = '"outside_guarantee"', '"outside_guarantee":[]'
    return [
        one for one in found if one.probability is not None or (reason in one.annotation and none not in one.annotation)
    ]
