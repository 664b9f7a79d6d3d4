import numpy as np

from metajudge.audit.table import NOTHING
from metajudge.types.right import parse_right
from metajudge.types.verdict import Pairwise
from tests.audit.records import pair, single, table_of

NAN = float("nan")


def test_pairs_are_coded_by_the_preferred_response():
    table = table_of(
        [
            pair("i", "j", "A>>B", label="A>B"),
            pair("k", "j", "B>A", label="A>B"),
            pair("l", "j", "A=B", label="A>B"),
            pair("m", "j", "A>B", label="A=B"),
            pair("n", "j", "A>B"),
        ]
    )
    assert table.coding.classes == ("A", "B", "tie")
    assert table.answer.tolist() == [0, 1, 2, 0, 0]
    assert table.label.tolist() == [0, 0, 0, 2, NOTHING]
    np.testing.assert_equal(table.correct, [1, 0, 0, NAN, NAN])


def test_correct_is_what_judgments_say_of_themselves():
    judgments = [
        single(f"i{at}", "j", verdict, label=label)
        for at, (verdict, label) in enumerate([(3, 3), (4, 3), (2.5, 3), (5, None), (1, 2)])
    ]
    for rule in ("equal", "within:1", "side:3"):
        right = parse_right(rule)
        expected = [judgment.right(right) for judgment in judgments]
        table = table_of(judgments, right)
        assert [None if np.isnan(one) else bool(one) for one in table.correct] == expected
        assert str(table.right) == rule
        assert not table.right_default


def test_a_rule_that_does_not_apply_gives_the_default():
    table = table_of([pair("i", "j", "A>B", label="A>B")], parse_right("within:1"))
    assert (str(table.right), table.right_default) == ("top1", True)


def test_pass_words_are_two_sides_under_the_names_of_the_verdicts():
    table = table_of([single("i", "j", "pass", label=True), single("k", "j", "fail", label="correct")])
    assert table.coding.classes == ("fail", "pass")
    assert table.number.tolist() == [1, 0]
    assert table.correct.tolist() == [1, 0]
    assert table.binary


def test_grades_against_pass_labels_are_sides():
    table = table_of([single("i", "j", 8, label="pass"), single("k", "j", 2, label="pass")])
    assert str(table.right) == "side:5"
    assert table.coding.classes == ("fail", "pass")
    assert table.correct.tolist() == [1, 0]


def test_grades_span_their_declared_scale():
    judgments = [single("i", "j", 2, label=3, scale=(1, 10)), single("k", "j", 3, label=3, scale=(1, 10))]
    table = table_of(judgments)
    assert (table.coding.spread, table.binary) == (9, False)
    assert table_of([single("i", "j", 2), single("k", "j", 2)]).coding.spread is None


def test_ordered_categories_have_places():
    scale = ("bad", "middling", "excellent")
    table = table_of(
        [single("i", "j", "excellent", label="middling", scale=scale), single("k", "j", "bad", scale=scale)]
    )
    assert table.coding.classes == scale
    assert table.number.tolist() == [2, 0]


def test_categories_without_order_have_no_numbers():
    table = table_of([single(name, "j", name, label="blue") for name in ("red", "green", "blue")])
    assert np.isnan(table.number).all()
    assert table.coding.spread is None
    assert table.correct.tolist() == [0, 0, 1]


def test_rankings_are_coded_by_their_first_place():
    table = table_of([pair("i", "j", [["B"], ["A"]], label=[["B"], ["A"]]), pair("k", "j", [["A", "B"]], label="A>B")])
    assert table.answer.tolist() == [1, 2]
    assert table.correct.tolist() == [1, 0]


def test_a_label_about_other_responses_is_no_label():
    from metajudge.types import Item, Judgment

    item = Item(id="i", question="q", responses=dict.fromkeys("ABC", "x"), label=Pairwise("C", "A", 1))
    table = table_of([Judgment(id="1", item=item, judge="j", verdict="A>B", order=("A", "B"))])
    assert table.label.tolist() == [NOTHING]
    assert np.isnan(table.correct).all()
