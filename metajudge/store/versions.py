"""Versions of the assessment of a judgment by a panel. SQL for both databases.

A panel's assessment is one version, each annotation of it (a probability, a policy's decision) another. Their numbers
are one sequence. Of the versions of a judgment and panel the newest assessment with its newest annotation is current;
the others are its history. Every list shows the current version alone, and every count counts it alone.
"""

from typing import Final

_OF_PANEL: Final = (
    "a.assessment_id, a.key, a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.final_score, a.strategy, "
    "a.panel_digest, a.payload, a.redacted"
)
_BARE: Final = (
    f"SELECT a.assessment_id AS number, {_OF_PANEL}, a.run_id, a.created_at, a.status, a.accepted, "
    "NULL::VARCHAR AS calibration, NULL::FLOAT8 AS probability, NULL::VARCHAR AS policy, NULL::VARCHAR AS action, "
    "NULL::VARCHAR AS annotation"
)
_ANNOTATED: Final = (
    f"SELECT n.annotation_id AS number, {_OF_PANEL}, n.run_id, n.created_at, n.status, n.accepted, n.calibration, "
    "n.probability, n.policy, n.action, n.payload AS annotation"
)


def versions(schema: str = "") -> str:
    """All versions, as a subquery.

    Args:
        schema: where the tables are, with a dot at its end.
    """
    return (
        f"({_BARE} FROM {schema}assessments a UNION ALL {_ANNOTATED} FROM {schema}annotations n "
        f"JOIN {schema}assessments a ON a.assessment_id = n.assessment_id)"
    )


CURRENT: Final = "lines"
"""The table of the current versions, in short columns: number, assessment, time, run, ids, judge, outcome, decision."""


def current_page(condition: str, limit: int, *, backwards: bool = False) -> str:
    """A query for the numbers of the first current versions that meet a condition, by number."""
    return (
        f"SELECT number FROM {CURRENT} WHERE {condition} "
        f"ORDER BY number {'DESC' if backwards else 'ASC'} LIMIT {int(limit)}"
    )


def newest_among(condition: str, *, each_run: bool = False) -> str:
    """A condition on a ``number``: the newest version of its judgment and panel among those that meet a condition.

    Args:
        condition: on versions; it selects all versions of some judgments, or those of one run: then that run's newest,
            even if other runs have newer ones.
        each_run: the newest of its judgment, panel and run, for several runs at once.
    """
    subject = f"{'run_id, ' if each_run else ''}judgment_digest, panel_digest"
    return (
        f"number IN (SELECT number FROM (SELECT DISTINCT ON ({subject}) number FROM {versions()} among "
        f"WHERE {condition} ORDER BY {subject}, assessment_id DESC, number DESC) newest)"
    )
