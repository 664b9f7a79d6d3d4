import pytest

from metajudge.feedback.cases import Direction
from tests.doubles.decided_cases import case, said


@pytest.mark.parametrize(
    ("action", "right", "direction"),
    [
        ("APPROVE", False, Direction.TOO_LENIENT),
        ("REJECT", True, Direction.TOO_STRICT),
        ("REVIEW", True, Direction.NEEDLESS_REVIEW),
        ("APPROVE", True, None),
        ("REJECT", False, None),
        ("REVIEW", False, None),
        ("APPROVE", None, None),
    ],
)
def test_disagreements_go_both_ways(action, right, direction):
    assert case(action=action, right=right).disagreement is direction


def test_a_modified_case_needed_its_review():
    one = case("v", "REVIEW", right=None, decisions=(said("v", "modify", scores={"accuracy": 2.0}),))
    assert one.review_was_needed is True
