"""From what a reviewer says to a decision, and from decisions to labels and agreement."""

import pytest

from metajudge.errors import InputError
from metajudge.reviews import HumanDecision, Outcome, Review, ReviewState, ReviewStatus
from metajudge.reviews.agreement import label_of, reviewer_agreement, verdict_is_right
from metajudge.reviews.deciding import decision_from
from metajudge.types import parse_verdict
from tests.doubles.judgments import judgment

ONE = judgment("j1", verdict="A>B")
REVIEW = Review(
    review_id="r1", subject_id="j1", subject_digest=ONE.digest, item_id=ONE.item.id, action="REVIEW", opened_at=1.0
)


def decide(outcome=None, verdict=None, scores=(), **options):
    return decision_from(REVIEW, ONE, "ada", outcome, verdict, scores, decided_at=2.0, **options)


def said(outcome, reviewer="ada", verdict=None):
    scores = {"accuracy": 2.0} if outcome == "modify" and verdict is None else None
    found = None if verdict is None else parse_verdict(verdict)
    return HumanDecision(
        review_id="r1", reviewer=reviewer, outcome=outcome, verdict=found, scores=scores, decided_at=2.0
    )


class TestDecision:
    def test_plain(self):
        found = decide("reject", reason="wrong sum")
        assert (found.outcome, found.reason, found.blind) == (Outcome.REJECT, "wrong sum", False)

    def test_modify_with_verdict_and_scores(self):
        found = decide("modify", "B>>A", ["accuracy=2", "clarity=4.5"])
        assert (str(found.verdict), found.scores) == ("B>>A", {"accuracy": 2.0, "clarity": 4.5})

    @pytest.mark.parametrize(
        ("own", "outcome"), [("A>>B", Outcome.APPROVE), ("B>A", Outcome.MODIFY), ("A=B", Outcome.MODIFY)]
    )
    def test_a_blind_verdict_is_compared_by_its_winner(self, own, outcome):
        found = decide(None, own)
        assert (found.outcome, found.blind) == (outcome, True)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("maybe",), "no such outcome 'maybe': one of approve, modify, reject, cannot_tell"),
            ((None,), "say --outcome"),
            (("modify",), "needs the corrected verdict"),
            (("approve", "B>A"), "cannot carry a corrected verdict"),
            (("modify", "C>A"), "names C; the responses are A, B"),
            (("modify", "better"), "'better' is no verdict"),
            (("modify", None, ["accuracy"]), "is no score: write CRITERION=NUMBER"),
            (("modify", None, ["accuracy=nan"]), "is no score"),
            (("modify", None, ["accuracy=inf"]), "is no score"),
            (("modify", None, ["accuracy=2", "accuracy=4"]), "accuracy is given twice, as 2 and 4"),
        ],
    )
    def test_what_makes_no_sense_says_what_to_write(self, arguments, message):
        with pytest.raises(InputError, match=message):
            decide(*arguments)


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
        assert label_of([yes, no, yes], ONE.verdict) is True
        assert label_of([yes, no], ONE.verdict) is None
        assert label_of([said("cannot_tell")], ONE.verdict) is None
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
