"""What the terminal tells a reviewer to write, without giving the judge's answer away."""

import pytest

from metajudge.cli.review_report import print_review
from metajudge.reviews import Review, ReviewState, ReviewStatus
from metajudge.types import Judgment


@pytest.mark.parametrize(
    ("verdict", "scale", "told"),
    [
        (4, None, "--verdict GRADE"),
        (4, (1, 5), "--verdict GRADE (1 to 5)"),
        (True, None, "--verdict true|false"),
        ("fair", ("poor", "fair"), "--verdict poor|fair"),
        ("fair", None, "--verdict CATEGORY"),
    ],
)
def test_a_blind_reviewer_is_told_what_an_answer_looks_like(capsys, verdict, scale, told):
    item = {"id": "i", "question": "?", "responses": {"A": "one"}, "scale": scale}
    judgment = Judgment.model_validate({"id": "j", "item": item, "judge": "owl", "verdict": verdict})
    review = Review(
        review_id="r", subject_id="j", subject_digest=judgment.digest, item_id="i", action="REVIEW", opened_at=1.0
    )
    print_review(ReviewState(review=review, status=ReviewStatus.OPEN), judgment, blind=True)
    said = capsys.readouterr().out.replace("\n", " ").strip()
    assert said.endswith(f"--reviewer NAME {told}")
    assert "owl" not in said
