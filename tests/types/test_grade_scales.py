"""Whether grades are on one scale, at the edges of each rule."""

import pytest

from metajudge.types import Grade, Item
from metajudge.types.grade_scales import FEWEST, Grades, GradeScales, one_scale


def grades(low, high, items=FEWEST):
    return Grades(low, high, set(range(items)))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ((1, 10), (1, 5), False),
        ((0, 1), (1, 5), False),
        ((0.1, 0.9), (1, 5), False),
        ((1, 7), (1, 5), False),
        ((0, 100), (1, 5), False),
        ((1, 3), (1, 5), False),
        ((1, 4), (1, 5), True),
        ((0.0, 0.5), (0, 1), True),
        ((20, 60), (0, 100), True),
        ((0, 4), (1, 5), False),
        ((0, 5), (1, 5), True),
        ((2, 4), (1, 5), True),
        ((-1, 1), (0, 1), False),
        ((-1, 5), (1, 5), True),
        ((5, 5), (1, 10), True),
        ((0, 250), (0, 100), False),
    ],
)
def test_two_ranges(first, second, same):
    one, other = grades(*first), grades(*second)
    assert one_scale(one, other) is one_scale(other, one) is same
    assert one_scale(grades(*first, items=FEWEST - 1), other), "so few may have used a part of a scale"


def test_judges_and_people():
    found = GradeScales()
    for at in range(FEWEST):
        item = Item(id=f"i{at}", question="?", responses={"A": "x"}, label=Grade(1 + at % 5))
        found.add("ten", Grade(1 + at), item)
        found.add("five", Grade(1 + at % 5), item)
        found.add("late", None, item)
    assert found.unlike_people() == ["ten"]
    assert found.groups() == {"five": 0, "ten": 1}
    assert [one.split(":")[0] for one in found.sentences()] == [
        "Two scales are not compared",
        "Judges on two scales are not compared with each other",
    ]
    assert "ten grades from 1 to 10, people from 1 to 5" in found.sentences()[0]


def test_a_declared_scale_is_that_of_all():
    found = GradeScales()
    for at in range(FEWEST):
        item = Item(id=f"i{at}", question="?", responses={"A": "x"}, label=Grade(1 + at % 5), scale=(1, 10))
        found.add("ten", Grade(1 + at), item)
    assert (found.unlike_people(), found.sentences()) == ([], [])
