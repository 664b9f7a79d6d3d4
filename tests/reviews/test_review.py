import pytest

from metajudge.reviews.agreement import label_of, verdict_is_right
from tests.reviews.decisions import ONE, said


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
