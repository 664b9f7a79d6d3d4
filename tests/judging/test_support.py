"""Support of verdicts for a verdict: hand-computed, bounded, mirrored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.judging.support import support
from metajudge.types import Pairwise, parse_verdict

MARKS = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
SWAP = {"A": "B", "B": "A"}


def verdicts(*marks):
    return [parse_verdict(mark) for mark in marks]


@pytest.mark.parametrize(
    ("verdict", "found", "expected"),
    [
        ("A>B", ["A>>B", "A>>B"], 1.0),
        ("A>B", ["A>B", "A>B"], 0.5),
        ("A>>B", ["A>B", "A>>B"], 0.75),
        ("A>B", ["A>>B", "B>>A"], 0.0),
        ("A>B", ["A=B", "B>A"], -0.25),
        ("B>A", ["A>>B"], -1.0),
        ("A=B", ["A=B", "A=B"], 1.0),
        ("A=B", ["A=B", "A>B"], 0.5),
        ("A=B", ["A>B", "B>A"], 0.0),
        ("A=B", ["A>>B", "B>>A"], -1.0),
        ([["A"], ["B"]], ["A>>B", "A>B"], 0.75),
        ([["A", "B"]], ["A=B"], 1.0),
    ],
)
def test_by_hand(verdict, found, expected):
    assert support(parse_verdict(verdict), verdicts(*found)) == pytest.approx(expected)


@given(st.sampled_from(MARKS), st.lists(st.sampled_from(MARKS), min_size=1, max_size=4))
def test_it_is_bounded_and_renaming_changes_nothing(mark, marks):
    verdict, found = parse_verdict(mark), verdicts(*marks)
    value = support(verdict, found)
    assert -1 <= value <= 1
    assert support(verdict.relabelled(SWAP), [one.relabelled(SWAP) for one in found]) == value
    if not verdict.is_tie:
        turned = Pairwise(verdict.second, verdict.first, verdict.strength)
        assert support(turned, found) == pytest.approx(-value)


@pytest.mark.parametrize("found", [[], ["A>C"], ["A>B", "C>B"]])
def test_verdicts_on_other_responses_or_none_support_nothing(found):
    with pytest.raises(ValueError, match="same two responses"):
        support(parse_verdict("A>B"), verdicts(*found))


def test_a_grade_cannot_be_supported():
    with pytest.raises(ValueError, match="same two responses"):
        support(parse_verdict(7), verdicts("A>B"))
