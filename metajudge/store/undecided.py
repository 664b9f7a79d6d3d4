"""Subjects and items whose reviews a person can still decide. SQL for both databases."""

from dataclasses import dataclass

from metajudge.store.sql import Connection


@dataclass(frozen=True, slots=True)
class Undecided:
    """Ids of the subjects (judgments, cases) of open reviews that a person has not decided, and of their items."""

    subjects: frozenset[str]
    items: frozenset[str]


def undecided_by(connection: Connection, reviewer: str | None) -> Undecided:
    """The subjects and items that a person can still decide.

    Args:
        reviewer: their name; None for a person without one, who has decided nothing.
    """
    rows = connection.execute(
        """SELECT r.subject_id, r.item_id FROM reviews r
        WHERE r.reviewers > (SELECT count(*) FROM review_decisions d WHERE d.review_id = r.review_id)
            AND NOT EXISTS (SELECT 1 FROM review_decisions d WHERE d.review_id = r.review_id AND d.reviewer = $1)""",
        [reviewer or ""],
    ).fetchall()
    return Undecided(frozenset(subject for subject, _ in rows), frozenset(item for _, item in rows))
