"""Grades of several responses to one question."""

from metajudge.evidence.scale_use import question_columns
from tests.evidence.answers import answers, seen

ITEMS = {
    "i": [seen("a", 5), seen("b", 4), seen("c", 1)],
    "j": [seen("a", 3), seen("b", 2), seen("c", 2)],
    "k": [seen("a", 3)],
}


def test_a_grade_is_set_against_the_others_of_its_question():
    made, rows, who = answers(ITEMS, "grade", "equal", questions={"i": "q", "j": "q", "k": "other"})
    found = question_columns(made, rows)
    at = {(item, judge): row for row, (item, judge, _) in enumerate(who)}
    contrast, order = found["question.contrast"], found["question.order"]
    assert contrast.values[at["i", "a"]] == 2
    assert contrast.values[at["j", "a"]] == -2
    assert found["question.peers"].values[at["i", "a"]] == (2 - 1) / 2
    assert order.values[at["i", "a"]] == 1
    assert order.values[at["i", "c"]] == -1
    assert not contrast.present[at["k", "a"]]


def test_single_responses_have_no_order():
    made, rows, _ = answers(ITEMS, "grade", "equal")
    assert not any(column.present.any() for column in question_columns(made, rows).values())
