from typing import Any

import pytest

from metajudge.evidence.class_answers import MOST_CLASSES, named_class
from metajudge.evidence.rules import Rules
from metajudge.types import parse_right, parse_verdict
from tests.evidence.verdicts import collected, said


def test_choices_are_places_in_the_order_shown() -> None:
    records = [("i", [said("x", "AB", "A>B"), said("x", "BA", "A>>B"), said("y", "BA", "A=B"), said("z", "AB", None)])]
    (found,) = collected(records)
    assert (found.group, found.judges, found.places) == (("choice", 2), ("x", "y"), 2)
    assert found.said.tolist() == [0, 1, 2]
    assert found.place.tolist() == [[0, 1], [1, 0], [1, 0]]
    assert found.hits.tolist() == [[True, False], [True, False], [False, False]]


def test_rankings_of_two_are_choices_of_two_and_others_a_group_of_their_own() -> None:
    records = [("i", [said("x", "AB", "A>B"), said("y", "AB", [["B"], ["A"]]), said("z", "ABC", [["C"], ["A", "B"]])])]
    assert [one.group for one in collected(records)] == [("choice", 2), ("choice", 3)]
    rules = Rules(parse_right("kendall>=0.5"))
    assert [one.group for one in collected(records[:1], rules)] == [("choice", 2)]


def test_pairs_of_one_item_are_subjects_of_their_own() -> None:
    records = [("i", [said("x", "AB", "A>B"), said("x", "AC", "A>C")])]
    (found,) = collected(records)
    assert found.subjects == (("i", ("A", "B")), ("i", ("A", "C")))


def test_subjects_come_in_the_order_of_the_records() -> None:
    records = [("i", [said("x", "A", 1), said("x", "B", 2)]), ("h", [said("y", "B", 1), said("y", "A", 2)])]
    (found,) = collected(records)
    assert found.subjects == (("i", ("A",)), ("i", ("B",)), ("h", ("B",)), ("h", ("A",)))
    assert (found.item.tolist(), found.row.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_categories_that_say_pass_or_fail_are_one_class_whatever_their_word() -> None:
    records = [
        ("i", [said("x", "A", "pass"), said("y", "A", True), said("z", "A", "incorrect"), said("x", "B", "PASS")])
    ]
    (found,) = collected(records)
    assert found.subjects == (("i", ("A",)), ("i", ("B",)))
    assert found.said.tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("verdict", "rule", "named"),
    [
        (3, "equal", 3.0),
        (3, "side:3", True),
        (2.9, "side:3", False),
        (3, "within:1", None),
        ("Good", "equal", True),
        ("maybe", "equal", "maybe"),
        ("maybe", "side:3", None),
        ("A>B", "top1", "A"),
        ("A=B", "top1", None),
        ([["C"], ["A"]], "top1", "C"),
    ],
)
def test_the_class_a_verdict_names(verdict: Any, rule: str, named: Any) -> None:
    assert named_class(parse_verdict(verdict), parse_right(rule)) == named


def test_too_many_or_too_few_classes_are_left_out() -> None:
    many = [("i", [said(f"x{n}", "A", n) for n in range(MOST_CLASSES + 1)])]
    assert collected(many) == []
    assert collected([("i", [said("x", "A", True)])]) == []
