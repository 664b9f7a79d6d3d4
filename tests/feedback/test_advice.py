"""Advice on rubric and prompt: only from patterns beyond noise."""

import pytest

from metajudge.feedback.cases import Direction
from metajudge.feedback.patterns import advise, find_patterns
from tests.doubles.decided_cases import case

NAMES = ("accuracy", "clarity", "completeness", "fairness")


def corrected(count, shifts, **changes):
    """[count] cases scored 4 throughout, corrected by the shifts of some criteria."""
    return [
        case(
            f"{changes.get('category', 'c')}{i}",
            criteria=dict.fromkeys(NAMES, 4.0),
            corrected={name: 4.0 + shift for name, shift in shifts.items()},
            **changes,
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("shift", "direction", "words"),
    [(-1.5, Direction.TOO_LENIENT, "too lenient by 1.5"), (1.0, Direction.TOO_STRICT, "too strict by 1")],
)
def test_one_criterion_beyond_noise_advises_other_words_for_it(shift, direction, words):
    (advice,) = advise(find_patterns(corrected(20, {"clarity": shift})))
    assert (advice.kind, advice.where, advice.direction) == ("rubric", "clarity", direction)
    assert "wording of clarity" in advice.text
    assert words in advice.text


def test_many_criteria_that_lean_alike_are_the_prompts_matter():
    (advice,) = advise(find_patterns(corrected(20, dict.fromkeys(NAMES, -1.0))))
    assert (advice.kind, advice.where) == ("prompt", None)
    assert "4 criteria" in advice.text


def test_noise_and_few_corrections_advise_nothing():
    few = corrected(5, {"clarity": -1.0})
    assert advise(find_patterns(few)) == []
    both = [*corrected(10, {"clarity": -1.0}), *corrected(9, {"clarity": 1.0}, category="x")]
    assert advise(find_patterns(both)) == []


def test_advice_for_one_category_alone_names_it():
    cases = [
        *corrected(20, {"clarity": -1.0}, category="law"),
        *corrected(20, {"accuracy": 0.0}, category="sums"),
    ]
    assert {one.category for one in advise(find_patterns(cases))} == {None, "law"}
