"""Verdicts as options of their items: what agrees with what, and what is a side."""

import numpy as np
import pytest

from metajudge.evidence.answers import MOST_SIDES, is_row, number_of, side_of
from metajudge.types import Category, Grade, Pairwise, Ranking, parse_right, parse_verdict
from tests.evidence.answers import answers, seen


def agreement(made):
    """[options, judges] share of each judge's records that agree."""
    return made.totals(np.ones(len(made.item))) / np.maximum(made.counts(), 1)


def test_categories_that_mean_the_same_are_one_answer_and_others_are_rivals():
    made, rows, _ = answers({"i": [seen("a", True), seen("b", "pass"), seen("c", "fail")]}, "category", "equal")
    assert len(rows) == 3
    share = agreement(made)
    own = {judge: share[made.option[made.judge == at][0]] for at, judge in enumerate(made.judges)}
    assert own["a"].tolist() == own["b"].tolist() == [1, 1, 0]
    assert own["c"].tolist() == [0, 0, 1]
    assert made.sides == ("fail", "pass")


def test_grades_within_a_distance_agree_and_overlap():
    made, *_ = answers({"i": [seen("a", 1), seen("b", 2), seen("c", 3)]}, "grade", "within:1")
    assert agreement(made).tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert sorted(zip(made.rival_of.tolist(), made.rival.tolist(), strict=True)) == [(0, 2), (2, 0)]


def test_a_pass_mark_makes_sides_of_grades():
    made, *_ = answers({"i": [seen("a", 4), seen("b", 3.5), seen("c", 2)]}, "grade", "side:3")
    assert made.sides == ("fail", "pass")
    assert agreement(made)[made.option[0]].tolist() == [1, 1, 0]


def test_rankings_agree_on_the_first_place_whatever_the_order_shown():
    items = {
        "i": [
            seen("a", [["B"], ["A", "C"]], "ABC"),
            seen("a", [["B"], ["C"], ["A"]], "CBA"),
            seen("b", [["A", "B"], ["C"]], "ABC"),
        ]
    }
    made, rows, _ = answers(items, "ranking", "top1")
    assert len(rows) == 2, "a shared first place is no answer"
    assert agreement(made)[made.option[made.option >= 0]][:, 0].tolist() == [1, 1]
    assert [made.sides[side] for side in made.side[made.option >= 0]] == ["place 2", "place 2"]


def test_other_kinds_are_no_options_but_compared_where_the_rule_can():
    made, rows, _ = answers({"i": [seen("a", 4), seen("b", "fail"), seen("c", None)]}, "grade", "side:3")
    assert len(rows) == 1
    assert made.counts()[0].tolist() == [1, 1, 0]
    assert agreement(made)[0].tolist() == [1, 0, 0]
    assert made.sides == ("", "fail", "pass")
    equal, *_ = answers({"i": [seen("a", 4), seen("b", "fail")]}, "grade", "equal")
    assert equal.sides == ("", "4")
    assert np.isnan(equal.number).tolist() == [False, True]


def test_the_order_of_records_and_items_changes_nothing():
    records = {"i": [seen("a", 1), seen("b", 2), seen("b", 3)], "h": [seen("b", 5)]}
    turned = {name: records[name][::-1] for name in reversed(records)}
    one, other = (answers(some, "grade", "equal")[0] for some in (records, turned))
    for name in ("item", "judge", "option", "side", "number", "agrees", "rival", "chance"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_many_different_grades_share_a_side():
    made, *_ = answers({f"i{n}": [seen("a", n)] for n in range(30)} | {"x": [seen("a", 3)]}, "grade", "equal")
    assert len(made.sides) == MOST_SIDES
    assert {"3", "other"} <= set(made.sides)


def test_what_agrees_by_chance_is_measured_on_all_verdicts():
    made, *_ = answers({f"i{n}": [seen("a", 1 if n < 8 else 5)] for n in range(10)}, "grade", "equal")
    assert dict(zip(made.sides, made.chance, strict=True)) == pytest.approx({"1": 0.8, "5": 0.2})
    ranked, *_ = answers({"i": [seen("a", [["A"], ["B", "C", "D"]], "ABCD")]}, "ranking", "top1")
    assert ranked.chance.tolist() == [0.25]


@pytest.mark.parametrize(
    ("verdict", "kind", "rule", "row"),
    [
        (Pairwise("A", "B", 0), "pairwise", "top1", False),
        (Pairwise("A", "B", 0), "pairwise", "equal", False),
        (Ranking((("A", "B"), ("C",))), "ranking", "top1", False),
        (Ranking((("A", "B"), ("C",))), "ranking", "kendall>=0.5", True),
        (Grade(1), "grade", "equal", True),
        (Grade(1), "category", "side:1", False),
        (None, "grade", "equal", False),
    ],
)
def test_what_is_decided(verdict, kind, rule, row):
    assert is_row(verdict, kind, parse_right(rule)) is row


def test_numbers_of_verdicts():
    assert number_of(Grade(2.5), None) == 2.5
    assert number_of(Category("good"), ("bad", "fair", "good")) == 1
    assert number_of(Category("fail"), None) == 0
    assert np.isnan(number_of(Category("blue"), None))
    assert np.isnan(number_of(parse_verdict("A>B"), None))
    assert side_of(None, (), parse_right("equal")) == ""
