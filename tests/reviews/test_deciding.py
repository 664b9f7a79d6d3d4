"""From what a reviewer says to a decision, and from decisions to labels and agreement."""

import pytest

from metajudge.errors import InputError
from metajudge.reviews.agreement import Ruling, label_of, reviewer_agreement, settlement_of, verdict_is_right
from metajudge.reviews.deciding import check_corrections, decision_from, in_kind_of
from metajudge.reviews.review import HumanDecision, Outcome, Review, ReviewState, ReviewStatus
from metajudge.reviews.seen import KIND, Onlooker, has_seen, remember_seen
from metajudge.types import Category, Grade, Judgment, parse_right, parse_verdict
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


def decide(outcome=None, verdict=None, scores=(), **options):
    return decision_from(REVIEW, ONE, "ada", outcome, verdict, scores, decided_at=2.0, **options)


class TestDecision:
    def test_plain_and_modified_with_verdict_and_scores(self):
        found = decide("reject", reason="wrong sum")
        assert (found.outcome, found.reason, found.blind) == (Outcome.REJECT, "wrong sum", False)
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
            (("modify", "better"), "'better' is not a verdict"),
            (("modify", None, ["accuracy"]), "is not a score: write CRITERION=NUMBER"),
            (("modify", None, ["accuracy=nan"]), "is not a score"),
            (("modify", None, ["accuracy=inf"]), "is not a score"),
            (("modify", None, ["accuracy=2", "accuracy=4"]), "accuracy is given twice, as 2 and 4"),
        ],
    )
    def test_what_makes_no_sense_says_what_to_write(self, arguments, message):
        with pytest.raises(InputError, match=message):
            decide(*arguments)


class TestSingleResponses:
    def graded(self, verdict, scale=None):
        item = {"id": "i", "question": "?", "responses": {"A": "one"}, "scale": scale}
        return Judgment.model_validate({"id": "j", "item": item, "judge": "owl", "verdict": verdict})

    def decide(self, verdict, text, outcome=None, scale=None):
        judgment = self.graded(verdict, scale)
        review = REVIEW.model_copy(update={"verdict": judgment.verdict, "answer_scale": scale})
        return decision_from(review, judgment, "ada", outcome, text, decided_at=2.0)

    @pytest.mark.parametrize(
        ("verdict", "own", "outcome", "corrected"),
        [
            (4, "4.0", Outcome.APPROVE, None),
            (4, "2", Outcome.MODIFY, Grade(2.0)),
            (True, "pass", Outcome.APPROVE, None),
            (True, "no", Outcome.MODIFY, Category(False)),
            ("relevant", "Relevant", Outcome.APPROVE, None),
            ("fair", "poor", Outcome.MODIFY, Category("poor")),
            ("4", "5", Outcome.MODIFY, Category("5")),
        ],
    )
    def test_an_own_answer_is_read_and_compared_as_the_judges_kind(self, verdict, own, outcome, corrected):
        found = self.decide(verdict, own)
        assert (found.outcome, found.verdict, found.blind) == (outcome, corrected, True)

    @pytest.mark.parametrize(
        ("verdict", "own", "scale", "message"),
        [
            (4, "good", None, "'good' is not a grade: write a number"),
            (4, "nan", None, "is not a grade"),
            (4, "9", (1.0, 5.0), "the grade 9 lies off the scale from 1 to 5"),
            (True, "maybe", None, "write true or false"),
            ("fair", "bad", ("poor", "fair"), "the category bad is not one of poor"),
        ],
    )
    def test_an_answer_of_another_kind_or_off_the_scale_is_refused(self, verdict, own, scale, message):
        with pytest.raises(InputError, match=message):
            self.decide(verdict, own, "modify", scale)

    def test_what_a_table_has_as_text_is_of_the_judges_kind(self):
        review = REVIEW.model_copy(update={"verdict": parse_verdict(4), "answer_scale": (1.0, 5.0)})
        found = in_kind_of(review, said("modify", verdict="2"))
        assert found.verdict == Grade(2.0)
        check_corrections(review, found)
        with pytest.raises(InputError, match="off the scale"):
            check_corrections(review, in_kind_of(review, said("modify", verdict="7")))


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


# Who was shown what the machine said.
async def test_a_person_is_known_by_name_or_by_session_and_never_by_having_neither(store):
    log = store.audit_log
    await remember_seen(log, ["j1"], Onlooker(None, "s1"), now=1.0)
    await remember_seen(log, ["j1"], Onlooker("ada", "s2"), now=2.0)
    known = [Onlooker("ada"), Onlooker(None, "s1"), Onlooker("bob", "s1"), Onlooker("ada", "s9")]
    assert [await has_seen(log, "j1", one) for one in known] == [True] * 4
    strangers = [Onlooker(), Onlooker("bob"), Onlooker("bob", "s3"), Onlooker(None, "s3")]
    assert [await has_seen(log, "j1", one) for one in strangers] == [False] * 4
    assert not await has_seen(log, "j2", Onlooker("ada"))


async def test_it_is_kept_once_and_not_listed_among_what_was_decided(store):
    for _ in range(3):
        await remember_seen(store.audit_log, ["j1", "j2"], Onlooker("ada", "s"), now=1.0)
    assert len(await store.audit_log.entries(KIND)) == 2
    assert await store.show("j1") is None


# What several people's decisions come to: a majority, never one voice of several, never a tie settled by order.
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


def test_one_voice_of_two_settles_nothing_and_a_persons_verdict_or_ranking_stands():
    assert settled("A>B", "reject", reviewers=2) is None
    assert settled("A>B", reviewers=1) is None
    assert settled(None, "A>B") == (Ruling.CORRECTED, "A>B")
    assert settled(None, "cannot_tell") == (Ruling.CANNOT_TELL, None)
    assert settled([["A"], ["B"], ["C"]], [["B"], ["A"], ["C"]]) == (Ruling.CORRECTED, [["B"], ["A"], ["C"]])
