"""Versions of the assessment of a judgment by a panel.

A panel's assessment is one version, each annotation of it (a probability, a policy's decision) another. Their numbers
are one sequence. Of the versions of a judgment and panel the newest assessment with its newest annotation is current;
the others are its history. Every list shows the current version alone, and every count counts it alone.
"""

from typing import Final

_OF_PANEL: Final = (
    "a.assessment_id, a.key, a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.final_score, a.strategy, "
    "a.panel_digest, a.payload, a.redacted"
)
_OF_ANNOTATION: Final = "n.calibration, n.probability, n.policy, n.action, n.payload AS annotation"


def versions() -> str:
    """All versions, as a subquery: some are found by the indexes of both tables, as a query around it asks for them.

    SQLite merges a union into the query around it where both parts have columns of the same types; so those that an
    assessment lacks are of annotation 0, which does not exist. PostgreSQL finds numbers of a list by
    ``number = ANY($1::BIGINT[])`` alone.
    """
    return (
        f"(SELECT a.assessment_id AS number, {_OF_PANEL}, a.run_id, a.created_at, a.status, a.accepted, "
        f"{_OF_ANNOTATION} FROM assessments a LEFT JOIN annotations n ON n.annotation_id = 0 UNION ALL "
        f"SELECT n.annotation_id, {_OF_PANEL}, n.run_id, n.created_at, n.status, n.accepted, {_OF_ANNOTATION} "
        "FROM annotations n JOIN assessments a ON a.assessment_id = n.assessment_id)"
    )


CURRENT: Final = "lines"
"""The table of the current versions, in short columns: number, assessment, time, run, ids, judge, outcome, decision."""


def newest_of_its_run(version: str) -> str:
    """A condition: the run of a version has none that is newer, of the same judgment and panel.

    Args:
        version: the name that the query around it gives to :func:`versions`.
    """
    return (
        f"(EXISTS (SELECT 1 FROM {CURRENT} l WHERE l.number = {version}.number) OR {version}.run_id NOT IN "
        f"(SELECT w.run_id FROM {versions()} w WHERE w.judgment_digest = {version}.judgment_digest "
        f"AND w.panel_digest = {version}.panel_digest "
        f"AND (w.assessment_id, w.number) > ({version}.assessment_id, {version}.number)))"
    )
