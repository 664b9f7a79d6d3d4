import pytest

from metajudge.reviews.agreement import label_of, reviewer_agreement, verdict_is_right
from metajudge.reviews.review import ReviewState, ReviewStatus
from metajudge.types import parse_right, parse_verdict
from tests.reviews.decisions import ONE, REVIEW, said


@pytest.mark.parametrize(
    ("verdict", "own", "rule", "right"),
    [
        ("A>B", "A>>B", None, True),
        ("A>B", "A=B", None, False),
        ("A>B", "B>A", None, False),
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


@pytest.mark.parametrize(
    ("outcome", "right"), [("approve", True), ("reject", False), ("cannot_tell", None), ("modify", None)]
)
def test_an_outcome_says_whether_the_judge_was_right(outcome, right):
    assert verdict_is_right(said(outcome), ONE.verdict) is right


def test_the_majority_decides_and_a_draw_is_no_label():
    yes, no = said("approve"), said("reject")
    ben, cy = said("reject", "ben"), said("approve", "cy")
    assert label_of([yes, ben, cy], ONE.verdict) is True
    assert label_of([yes, ben], ONE.verdict) is None
    assert label_of([yes, no, ben, cy], ONE.verdict) is False, "of one reviewer the last decision counts"
    assert label_of([yes, cy, said("reject", "adjudicator")], ONE.verdict) is False
    assert label_of([], ONE.verdict) is None


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
