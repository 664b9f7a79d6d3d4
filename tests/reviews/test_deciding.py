"""From what a reviewer says to a decision, and from decisions to labels and agreement."""

import pytest

from metajudge.errors import InputError
from metajudge.reviews.deciding import check_corrections, decision_from, in_kind_of
from metajudge.reviews.review import Outcome
from metajudge.types import Category, Grade, Judgment, parse_verdict
from tests.reviews.decisions import ONE, REVIEW, said


def decide(outcome=None, verdict=None, scores=(), **options):
    return decision_from(REVIEW, ONE, "ada", outcome, verdict, scores, decided_at=2.0, **options)


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
