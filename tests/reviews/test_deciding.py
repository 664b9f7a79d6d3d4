"""From what a reviewer says to a decision, and from decisions to labels and agreement."""

import pytest

from metajudge.errors import InputError
from metajudge.reviews import Outcome
from metajudge.reviews.deciding import decision_from
from tests.reviews.decisions import ONE, REVIEW


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
