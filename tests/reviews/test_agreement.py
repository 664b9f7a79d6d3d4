import pytest

from metajudge.reviews import ReviewState, ReviewStatus
from metajudge.reviews.agreement import reviewer_agreement
from tests.reviews.decisions import REVIEW, said


class TestAgreement:
    def state(self, **outcomes):
        decisions = tuple(said(outcome, name) for name, outcome in outcomes.items())
        return ReviewState(review=REVIEW, status=ReviewStatus.DECIDED, decisions=decisions)

    def test_of_reviewers_on_shared_reviews(self):
        states = [
            *[self.state(ada="approve", bob="approve")] * 4,
            *[self.state(ada="reject", bob="reject")] * 4,
            *[self.state(ada="approve", bob="reject")] * 2,
            self.state(ada="approve"),
        ]
        found = reviewer_agreement(states)
        assert (found.shared, found.unanimous) == (10, 8)
        # observed .8; chance .6 x .4 + .4 x .6 = .48
        assert found.pairs["ada", "bob"].estimate == pytest.approx((0.8 - 0.48) / (1 - 0.48))
        assert found.by_reviewer["ada"] == {"approve": 7, "reject": 4}

    def test_without_shared_reviews_there_is_none(self):
        found = reviewer_agreement([self.state(ada="approve")])
        assert (found.alpha, found.pairs, found.shared) == (None, {}, 0)
