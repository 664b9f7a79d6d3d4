import pytest

from metajudge.feedback.patterns import find_patterns
from tests.doubles.decided_cases import case
from tests.feedback.decided import LENIENT, STRICT


class TestPatterns:
    def cases(self, shift, n=20, category="Math"):
        return [
            case(
                f"{category}{i}",
                category=category,
                criteria={"accuracy": 4.0},
                corrected={"accuracy": 4.0 + shift + (i % 3 - 1) / 10},
            )
            for i in range(n)
        ]

    def test_a_criterion_that_is_scored_too_high(self):
        (found,) = find_patterns(self.cases(-1.0))
        assert (found.direction, found.where, found.significant) == (LENIENT, "accuracy", True)
        assert found.shift == pytest.approx(-1.0, abs=0.02)
        assert found.describe().startswith("accuracy is scored too lenient by 1 (20 corrections")

    def test_too_few_corrections_are_no_pattern(self):
        assert find_patterns(self.cases(-1.0, n=4)) == []

    def test_categories_apart(self):
        cases = [*self.cases(-1.0), *self.cases(1.0, category="Code")]
        found = {(one.category, one.direction) for one in find_patterns(cases) if one.category}
        assert found == {("Math", LENIENT), ("Code", STRICT)}

    def test_an_action_that_is_wrong_more_often_than_the_target(self):
        cases = [case(f"a{i}", "APPROVE", right=i % 4 > 0) for i in range(40)]
        (found,) = find_patterns(cases)
        assert (found.kind, found.where, found.direction, found.shift) == ("action", "APPROVE", LENIENT, 0.25)
        assert find_patterns([case(f"a{i}", "APPROVE") for i in range(40)]) == []
