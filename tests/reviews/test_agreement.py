import pytest

from metajudge.reviews.agreement import reviewer_agreement, verdict_is_right
from metajudge.reviews.review import ReviewState, ReviewStatus
from metajudge.types import parse_right, parse_verdict
from tests.reviews.decisions import REVIEW, said


@pytest.mark.parametrize(
    ("verdict", "own", "rule", "right"),
    [
        ("A>B", "A>>B", None, True),
        ("A>B", "A=B", None, False),
        (4, 4, None, True),
        (4, 5, None, False),
        (4, 5, "within:1", True),
        (4, 5, "top1", False),  # a rule of other kinds does not apply to grades
        ("pass", True, None, True),
        ("pass", "fail", None, False),
        (4, "pass", None, None),
        (4, "pass", "side:3", True),
    ],
)
def test_a_corrected_verdict_says_by_the_rule_whether_the_judge_was_right(verdict, own, rule, right):
    decision = said("modify", verdict=own)
    found = verdict_is_right(decision, parse_verdict(verdict), None if rule is None else parse_right(rule))
    assert found is right


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
