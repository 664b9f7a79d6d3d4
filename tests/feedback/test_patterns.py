import pytest

from metajudge.feedback.cases import Direction
from metajudge.feedback.patterns import advise, find_patterns
from tests.doubles.decided_cases import case


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
        assert (found.direction, found.where, found.significant) == (Direction.TOO_LENIENT, "accuracy", True)
        assert found.shift == pytest.approx(-1.0, abs=0.02)
        assert found.describe().startswith("accuracy is scored too lenient by 1 (20 corrections")

    def test_too_few_corrections_are_no_pattern(self):
        assert find_patterns(self.cases(-1.0, n=4)) == []

    def test_categories_apart(self):
        cases = [*self.cases(-1.0), *self.cases(1.0, category="Code")]
        found = {(one.category, one.direction) for one in find_patterns(cases) if one.category}
        assert found == {("Math", Direction.TOO_LENIENT), ("Code", Direction.TOO_STRICT)}

    def test_an_action_that_is_wrong_more_often_than_the_target(self):
        cases = [case(f"a{i}", "APPROVE", right=i % 4 > 0) for i in range(40)]
        (found,) = find_patterns(cases)
        assert (found.kind, found.where, found.direction, found.shift) == (
            "action",
            "APPROVE",
            Direction.TOO_LENIENT,
            0.25,
        )
        assert find_patterns([case(f"a{i}", "APPROVE") for i in range(40)]) == []


def corrected(count, shifts, category=None):
    """[count] cases scored 4 throughout, corrected by the shifts of some criteria."""
    return [
        case(
            f"{category}{i}",
            category=category,
            criteria=dict.fromkeys(shifts, 4.0),
            corrected={name: 4.0 + shift for name, shift in shifts.items()},
        )
        for i in range(count)
    ]


class TestAdvice:
    def test_one_criterion_is_a_matter_of_its_wording_and_many_of_the_prompt(self):
        (one,) = advise(find_patterns(corrected(20, {"clarity": -1.5})))
        assert (one.kind, one.where, one.direction) == ("rubric", "clarity", Direction.TOO_LENIENT)
        (all_,) = advise(find_patterns(corrected(20, dict.fromkeys(("accuracy", "clarity", "depth", "tone"), 1.0))))
        assert (all_.kind, all_.where, all_.direction) == ("prompt", None, Direction.TOO_STRICT)

    def test_noise_and_few_corrections_advise_nothing(self):
        assert advise(find_patterns(corrected(5, {"clarity": -1.0}))) == []
        both = [*corrected(10, {"clarity": -1.0}), *corrected(9, {"clarity": 1.0}, category="x")]
        assert advise(find_patterns(both)) == []

    def test_advice_for_one_category_alone_names_it(self):
        cases = [*corrected(20, {"clarity": -1.0}, category="law"), *corrected(20, {"accuracy": 0.0}, category="sums")]
        assert {one.category for one in advise(find_patterns(cases))} == {None, "law"}
