"""What several people's decisions come to: a majority, never one voice of several, never a tie settled by order."""

import pytest

from metajudge.reviews import HumanDecision, ReviewState, ReviewStatus
from metajudge.reviews.agreement import label_of, reviewer_agreement, verdict_is_right
from metajudge.reviews.settling import Ruling, settlement_of
from metajudge.types import parse_right, parse_verdict
from tests.reviews.decisions import ONE, REVIEW, said


def decisions(*said):
    """``approve``, ``reject``, ``cannot_tell``, ``scores``, or a verdict that corrects."""
    found = []
    for number, one in enumerate(said):
        data = {"outcome": one}
        if one == "scores":
            data = {"outcome": "modify", "scores": {"accuracy": 2.0}}
        elif one not in ("approve", "reject", "cannot_tell"):
            data = {"outcome": "modify", "verdict": one}
        found.append(HumanDecision(review_id="r", reviewer=f"p{number}", decided_at=float(number), **data))
    return found


def settled(verdict, *said, reviewers=1):
    given = settlement_of(decisions(*said), None if verdict is None else parse_verdict(verdict), reviewers)
    return None if given is None else (given.ruling, None if given.verdict is None else given.verdict.to_json())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["approve"], (Ruling.RIGHT, None)),
        (["reject"], (Ruling.WRONG, None)),
        (["cannot_tell"], (Ruling.CANNOT_TELL, None)),
        (["scores"], (Ruling.CANNOT_TELL, None)),
        (["B>A"], (Ruling.CORRECTED, "B>A")),
        (["A=B"], (Ruling.CORRECTED, "A=B")),
        (["A>B"], (Ruling.RIGHT, "A>B")),
        (["A>>B"], (Ruling.RIGHT, None)),
        (["approve", "reject"], (Ruling.DIVIDED, None)),
        (["reject", "approve"], (Ruling.DIVIDED, None)),
        (["approve", "cannot_tell"], (Ruling.RIGHT, None)),
        (["approve", "approve", "reject"], (Ruling.RIGHT, None)),
        (["approve", "approve", "A>B"], (Ruling.RIGHT, None)),
        (["B>A", "B>>A", "approve"], (Ruling.CORRECTED, "B>A")),
        (["B>>A", "B>A", "approve"], (Ruling.CORRECTED, "B>A")),
        (["B>A", "reject", "approve"], (Ruling.WRONG, None)),
        (["B>A", "A=B"], (Ruling.WRONG, None)),
    ],
)
def test_the_majority_decides_and_a_tie_of_voices_decides_nothing(said, expected):
    assert settled("A>>B", *said, reviewers=len(said)) == expected


def test_one_voice_of_two_that_were_asked_settles_nothing():
    assert settled("A>B", "reject", reviewers=2) is None
    assert settled("A>B", reviewers=1) is None


def test_a_persons_verdict_stands_where_the_judge_gave_none():
    assert settled(None, "A>B") == (Ruling.CORRECTED, "A>B")
    assert settled(None, "cannot_tell") == (Ruling.CANNOT_TELL, None)


def test_a_corrected_ranking_is_kept_whole():
    assert settled([["A"], ["B"], ["C"]], [["B"], ["A"], ["C"]]) == (Ruling.CORRECTED, [["B"], ["A"], ["C"]])


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


class TestLabels:
    @pytest.mark.parametrize(
        ("decision", "right"),
        [
            (said("approve"), True),
            (said("reject"), False),
            (said("cannot_tell"), None),
            (said("modify", verdict="B>A"), False),
            (said("modify", verdict="A>>B"), True),
            (said("modify"), None),
        ],
    )
    def test_of_one_decision(self, decision, right):
        assert verdict_is_right(decision, ONE.verdict) is right

    def test_the_majority_decides_and_a_draw_is_no_label(self):
        yes, no = said("approve"), said("reject")
        ben, cy = said("reject", "ben"), said("approve", "cy")
        assert label_of([yes, ben, cy], ONE.verdict) is True
        assert label_of([yes, ben], ONE.verdict) is None
        assert label_of([yes, no, ben, cy], ONE.verdict) is False, "of one reviewer the last decision counts"
        assert label_of([yes, cy, said("reject", "adjudicator")], ONE.verdict) is False
        assert label_of([said("cannot_tell")], ONE.verdict) is None
        assert label_of([], ONE.verdict) is None
