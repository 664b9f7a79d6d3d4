"""What the terminal tells a reviewer to write, without giving the judge's answer away."""

import pytest

from metajudge.cli.review_report import print_sheet
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviews import Review, ReviewState, ReviewStatus
from metajudge.types import Judgment


@pytest.mark.parametrize(
    ("verdict", "scale", "told"),
    [
        (4, None, "a number"),
        (4, (1, 5), "a number from 1 to 5"),
        (True, None, "true or false"),
        ("fair", ("poor", "fair"), "poor or fair"),
        ("fair", None, "a category"),
    ],
)
def test_a_blind_reviewer_is_told_what_an_answer_looks_like(capsys, verdict, scale, told):
    item = {"id": "i", "question": "?", "responses": {"A": "one"}, "scale": scale}
    judgment = Judgment.model_validate({"id": "j", "item": item, "judge": "owl", "verdict": verdict})
    review = Review(
        review_id="r", subject_id="j", subject_digest=judgment.digest, item_id="i", action="REVIEW", opened_at=1.0
    )
    one = JudgmentReviewable(ReviewState(review=review, status=ReviewStatus.OPEN), judgment)
    print_sheet(one.blind_view(None))
    said = capsys.readouterr().out
    assert f"your own: {told}\n" in said
    assert "--outcome cannot_tell --blind" in said
    assert "owl" not in said
