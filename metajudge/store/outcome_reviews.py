"""What people decided, as findings: one for each decision or amendment after which a review is decided."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from metajudge.outcomes.model import Finding
from metajudge.outcomes.ruling import kind_of_review, outcome_of_people, people_data
from metajudge.reviews.review import HumanDecision, Review
from metajudge.store.sql import Connection


class _Said(NamedTuple):
    """A decision or an amendment as a row of its table."""

    number: int
    review_id: str
    decision: HumanDecision


_DECISIONS: Final = "SELECT decision_id, review_id, payload FROM review_decisions WHERE true"
_AMENDMENTS: Final = "SELECT event_id, review_id, payload FROM review_events WHERE kind = 'amend'"


def findings_of_people(connection: Connection, amendments: bool, numbers: Sequence[int]) -> list[Finding]:
    """Findings by number; a review that waits for further people gives none.

    Args:
        amendments: whether the numbers are those of review events, else of first decisions.
    """
    key, rows = ("event_id", _AMENDMENTS) if amendments else ("decision_id", _DECISIONS)
    new = _read(connection, f"{rows} AND {key} = ANY($1::BIGINT[]) ORDER BY 1", numbers)
    names = list({one.review_id for one in new})
    about = "review_id = ANY($1::VARCHAR[])"
    reviews = {
        name: Review.model_validate_json(payload)
        for name, payload in connection.execute(
            f"SELECT review_id, payload FROM reviews WHERE {about}",  # noqa: S608 - our own text
            [names],
        ).fetchall()
    }
    first, amended = (_read(connection, f"{some} AND {about} ORDER BY 1", names) for some in (_DECISIONS, _AMENDMENTS))
    found = []
    for one in new:
        review = reviews.get(one.review_id)
        said = _until(one, first, amended, amendments)
        if review is not None and len(said) >= review.reviewers:
            found.append(_of_review(review, said, one.number, amendments))
    return found


def _read(connection: Connection, query: str, values: Sequence[object]) -> list[_Said]:
    rows = connection.execute(query, [list(values)]).fetchall()
    return [_Said(number, name, HumanDecision.model_validate_json(payload)) for number, name, payload in rows]


def _until(one: _Said, first: Iterable[_Said], amended: Iterable[_Said], is_amendment: bool) -> list[HumanDecision]:
    """The newest decision of each person on a review when a row was added.

    Numbers order the rows of one table; between the two tables the times of the decisions do.
    """
    at = one.decision.decided_at
    newest: dict[str, HumanDecision] = {}
    for said in first:
        if said.review_id == one.review_id and (is_amendment or said.number <= one.number):
            newest[said.decision.reviewer] = said.decision
    for said in amended:
        known = said.number <= one.number if is_amendment else said.decision.decided_at <= at
        if said.review_id == one.review_id and known and said.decision.reviewer in newest:
            newest[said.decision.reviewer] = said.decision
    return list(newest.values())


def _of_review(review: Review, decisions: Sequence[HumanDecision], number: int, is_amendment: bool) -> Finding:
    outcome, reason = outcome_of_people(decisions)
    policy = review.policy
    return Finding(
        kind=kind_of_review(review),
        subject_id=review.subject_id,
        subject_digest=review.subject_digest,
        item_id=review.item_id,
        outcome=outcome,
        by="people",
        decided_at=max(one.decided_at for one in decisions),
        policy=None if policy is None else policy.name,
        policy_digest=None if policy is None else policy.digest,
        source="amendment" if is_amendment else "decision",
        source_number=number,
        details={
            "review_id": review.review_id,
            "action": review.action,
            "judge": review.judge,
            "category": review.category,
            "origin": review.origin.value,
            "score": review.score,
            "probability": review.probability,
            "confidence": review.confidence,
            "people": people_data(decisions),
            "unsettled": reason,
        },
    )
