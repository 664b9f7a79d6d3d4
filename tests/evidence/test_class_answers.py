from typing import Any

import numpy as np
import pytest

from metajudge.evidence.class_answers import MOST_CLASSES, Cells, cells_of, named_class
from metajudge.evidence.rules import Rules
from metajudge.types import parse_right, parse_verdict
from tests.evidence.verdicts import Said, said, table


def read(records: dict[str, list[Said]], rules: Rules | None = None) -> list[Cells]:
    return cells_of(table(records), rules or Rules())


def test_choices_are_less_what_a_judge_answers_at_a_place() -> None:
    records = [said("x", "AB", "A>B"), said("x", "BA", "A>>B"), said("y", "BA", "A=B"), said("z", "AB", None)]
    (found,) = read({"i": records})
    assert (found.group, found.judges) == (("choice", 2), ("x", "y"))
    assert found.answer.tolist() == [[[1, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]]]
    assert found.centred.tolist() == [[[0.5, -0.5, 0], [0, 0, 0]], [[0.5, -0.5, 0], [0, 0, 0]]]
    assert found.there.tolist() == [[1, 0], [1, 1]]


def test_rankings_of_two_are_choices_of_two_and_others_a_group_of_their_own() -> None:
    records = {"i": [said("x", "AB", "A>B"), said("y", "AB", [["B"], ["A"]]), said("z", "ABC", [["C"], ["A", "B"]])]}
    assert [one.group for one in read(records)] == [("choice", 2), ("choice", 3)]
    assert [one.group for one in read(records, Rules(parse_right("kendall>=0.5")))] == [("choice", 2)]


def test_pairs_of_one_item_have_cells_of_their_own() -> None:
    (found,) = read({"i": [said("x", "AB", "A>B"), said("x", "AC", "A>C")]})
    assert found.answer.tolist() == [[[1, 0, 0]], [[1, 0, 0]]]


def test_cells_come_in_the_order_of_the_records() -> None:
    (found,) = read({"i": [said("x", "A", 1), said("x", "B", 2)], "h": [said("y", "B", 1), said("y", "A", 2)]})
    assert np.argwhere(found.answer).tolist() == [[0, 0, 0], [1, 0, 1], [2, 1, 0], [3, 1, 1]]
    assert found.question.tolist() == [0, 0, 1, 1]


def test_categories_that_say_pass_or_fail_are_one_class_whatever_their_word() -> None:
    records = [said("x", "A", "pass"), said("y", "A", True), said("z", "A", "incorrect"), said("x", "B", "PASS")]
    (found,) = read({"i": records})
    assert np.argwhere(found.answer).tolist() == [[0, 0, 1], [0, 1, 1], [0, 2, 0], [1, 0, 1]]


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
    assert read({"i": [said(f"x{n}", "A", n) for n in range(MOST_CLASSES + 1)]}) == []
    assert read({"i": [said("x", "A", True)]}) == []
