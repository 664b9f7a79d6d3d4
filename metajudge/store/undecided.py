"""Subjects and items whose reviews a person can still decide."""

from dataclasses import dataclass

from metajudge.store.sql import Connection


@dataclass(frozen=True, slots=True)
class Undecided:
    """Ids of the subjects (judgments, cases) of open reviews that a person has not decided, and of their items.

    Attributes:
        blind: the subjects whose policy wants the decision before the machine's result is shown.
    """

    subjects: frozenset[str]
    items: frozenset[str]
    blind: frozenset[str] = frozenset()


def undecided_by(connection: Connection, reviewer: str | None) -> Undecided:
    """The subjects and items that a person can still decide.

    Args:
        reviewer: their name; None for a person without one, who has decided nothing.
    """
    rows = connection.execute(
        """SELECT r.subject_id, r.item_id, strpos(r.payload, '"blind":true') > 0 FROM reviews r
        WHERE r.reviewers > (SELECT count(*) FROM review_decisions d WHERE d.review_id = r.review_id)
            AND NOT EXISTS (SELECT 1 FROM review_decisions d WHERE d.review_id = r.review_id AND d.reviewer = $1)""",
        [reviewer or ""],
    ).fetchall()
    return Undecided(
        frozenset(subject for subject, _, _ in rows),
        frozenset(item for _, item, _ in rows),
        frozenset(subject for subject, _, blind in rows if blind),
    )
