"""Decisions of reviewers in short."""

from metajudge.reviews.review import HumanDecision, Review
from metajudge.types import parse_verdict
from tests.doubles.judgments import judgment

ONE = judgment("j1", verdict="A>B")


REVIEW = Review(
    review_id="r1", subject_id="j1", subject_digest=ONE.digest, item_id=ONE.item.id, action="REVIEW", opened_at=1.0
)


def said(outcome, reviewer="ada", verdict=None):
    scores = {"accuracy": 2.0} if outcome == "modify" and verdict is None else None
    found = None if verdict is None else parse_verdict(verdict)
    return HumanDecision(
        review_id="r1", reviewer=reviewer, outcome=outcome, verdict=found, scores=scores, decided_at=2.0
    )
