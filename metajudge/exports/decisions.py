"""Decisions of people and policies, which come before any rule of selection.

For each judgment, in this order: what people decided in the end; the newest action of a policy; the rule that was asked
for. :func:`kept_by` and :func:`why_not` are the only place where this order is written down.
"""

from itertools import groupby
from typing import Any, Final

import orjson

from metajudge.exports.verdicts import verdict_text
from metajudge.exports.workspace import Work, fill
from metajudge.reviews.agreement import Settlement, settlement_of
from metajudge.reviews.review import HumanDecision
from metajudge.store.sql import Connection
from metajudge.types import parse_verdict

PEOPLE: Final = ("rejected_by_people", "corrected_by_people", "people_divided", "people_cannot_tell")
"""Why a judgment is dropped that people decided."""
POLICY: Final = "rejected_by_policy"
WAITING: Final = "waiting_for_review"
UNKNOWN: Final = ("people_divided", "people_cannot_tell", WAITING)
"""Reasons that do not say that a judgment is bad."""
CORRECTED: Final = "people_corrected"


def kept_by(by_rule: str, *, correct: bool) -> str:
    """SQL for who keeps a judgment: ``people``, ``people_corrected``, ``policy``, ``rule``; NULL where it is dropped.

    Args:
        by_rule: SQL, whether the rule keeps it.
        correct: whether a person's verdict may stand in place of the judge's.
    """
    taken = "WHEN human_verdict IS NOT NULL THEN 'people_corrected'" if correct else ""
    wrong = "('corrected', 'wrong', 'divided', 'cannot_tell')" if not correct else "('wrong', 'divided', 'cannot_tell')"
    return f"""CASE WHEN ruling IN {wrong} THEN NULL {taken} WHEN ruling = 'right' THEN 'people'
        WHEN action = 'APPROVE' THEN 'policy' WHEN action IS NOT NULL THEN NULL
        WHEN {by_rule} THEN 'rule' END"""


def why_not(by_rule: str) -> str:
    """SQL for why a judgment is dropped.

    Args:
        by_rule: SQL, why the rule drops it.
    """
    return f"""CASE ruling WHEN 'wrong' THEN 'rejected_by_people' WHEN 'corrected' THEN 'corrected_by_people'
        WHEN 'divided' THEN 'people_divided' WHEN 'cannot_tell' THEN 'people_cannot_tell'
        ELSE CASE WHEN action = 'REJECT' THEN '{POLICY}' WHEN action IS NOT NULL THEN '{WAITING}' ELSE {by_rule} END
        END"""


def take_people(work: Work, connection: Connection | None) -> None:
    """Fills ``people``, what people decided by the digest of a judgment's content, from a store's reviews, if any.

    A review counts once as many people decided it as were to, with each one's newest decision. Of several decided
    reviews of a judgment (each policy version opens one) the one with the newest decision counts. What was forgotten
    keeps its outcome.
    """
    newest: dict[str, tuple[int, Settlement]] = {}
    rows = [] if connection is None else connection.execute(_DECIDED).fetchall()
    for _, group in groupby(rows, key=lambda row: row[0]):
        decided = list(group)
        review: dict[str, Any] = orjson.loads(decided[0][3])
        if review.get("subject", "judgment") != "judgment":
            continue
        verdict, digest, last = review.get("verdict"), review["subject_digest"], decided[-1][1]
        settlement = settlement_of(
            [HumanDecision.model_validate_json(row[2]) for row in decided],
            None if verdict is None else parse_verdict(verdict),
            review.get("reviewers", 1),
        )
        if settlement is not None and (digest not in newest or newest[digest][0] < last):
            newest[digest] = (last, settlement)
    found = [(digest, one.ruling.value, verdict_text(one.verdict)) for digest, (_, one) in newest.items()]
    fill(work, "people", ("judgment_digest", "ruling", "human_verdict"), [found])


_DECIDED: Final = """
    SELECT d.review_id, d.decision_id, coalesce((SELECT e.payload FROM review_events e WHERE e.kind = 'amend'
        AND e.review_id = d.review_id AND e.reviewer = d.reviewer ORDER BY e.event_id DESC LIMIT 1), d.payload),
        r.payload
    FROM review_decisions d JOIN reviews r ON r.review_id = d.review_id ORDER BY d.review_id, d.decision_id"""
"""Review, number of the decision, the decision as it was amended last, and the review's payload."""
