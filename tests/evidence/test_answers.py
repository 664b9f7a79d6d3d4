"""Verdicts as options of their items: what agrees with what, and what is a side."""

from typing import Any

import numpy as np
import pytest

from metajudge.evidence import answer_consensus
from metajudge.evidence.answer_consensus import answer_columns
from metajudge.evidence.answers import MOST_SIDES, is_row, side_of
from metajudge.evidence.class_answers import MOST_CLASSES, Cells, cells_of, named_class
from metajudge.evidence.rules import Rules
from metajudge.types import Grade, Pairwise, Ranking, parse_right, parse_verdict
from tests.evidence.answers import answers, seen
from tests.evidence.verdicts import Said, said, table


def test_equal_categories_grades_within_a_distance_and_sides_of_a_pass_mark_are_one_answer():
    made, rows, _ = answers({"i": [seen("a", True), seen("b", "pass"), seen("c", "fail")]}, "category", "equal")
    assert len(rows) == 3
    share = made.share
    own = {judge: share[made.option[made.table.judge == at][0]] for at, judge in enumerate(made.table.judges)}
    assert own["a"].tolist() == own["b"].tolist() == [1, 1, 0]
    assert own["c"].tolist() == [0, 0, 1]
    assert made.sides == ("fail", "pass")
    made, *_ = answers({"i": [seen("a", 1), seen("b", 2), seen("c", 3)]}, "grade", "within:1")
    assert made.share.tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert sorted(zip(made.rival_of.tolist(), made.rival.tolist(), strict=True)) == [(0, 2), (2, 0)]
    made, *_ = answers({"i": [seen("a", 4), seen("b", 3.5), seen("c", 2)]}, "grade", "side:3")
    assert made.sides == ("fail", "pass")
    assert made.share[made.option[0]].tolist() == [1, 1, 0]


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
    assert made.share[made.option[made.option >= 0]][:, 0].tolist() == [1, 1]
    assert [made.sides[side] for side in made.side[made.option >= 0]] == ["place 2", "place 2"]


def test_other_kinds_are_compared_where_the_rule_can_and_the_order_of_records_changes_nothing():
    made, rows, _ = answers({"i": [seen("a", 4), seen("b", "fail"), seen("c", None)]}, "grade", "side:3")
    assert len(rows) == 1
    assert made.counts[0].tolist() == [1, 1, 0]
    assert made.share[0].tolist() == [1, 0, 0]
    assert made.sides == ("", "fail", "pass")
    equal, *_ = answers({"i": [seen("a", 4), seen("b", "fail")]}, "grade", "equal")
    assert equal.sides == ("", "4")
    records = {"i": [seen("a", 1), seen("b", 2), seen("b", 3)], "h": [seen("b", 5)]}
    turned = {name: records[name][::-1] for name in reversed(records)}
    one, other = (answers(some, "grade", "equal")[0] for some in (records, turned))
    for name in ("option", "side", "agrees", "rival"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("item", "judge"):
        assert np.array_equal(getattr(one.table, name), getattr(other.table, name)), name


def test_many_grades_share_a_side():
    made, *_ = answers({f"i{n}": [seen("a", n)] for n in range(30)} | {"x": [seen("a", 3)]}, "grade", "equal")
    assert len(made.sides) == MOST_SIDES
    assert {"3", "other"} <= set(made.sides)
    assert side_of(None, (), parse_right("equal")) == ""


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


def read(records: dict[str, list[Said]], rules: Rules | None = None) -> list[Cells]:
    return cells_of(table(records), rules or Rules())


def test_classes_of_choices_rankings_pairs_and_words_in_the_order_of_the_records() -> None:
    records = [said("x", "AB", "A>B"), said("x", "BA", "A>>B"), said("y", "BA", "A=B"), said("z", "AB", None)]
    (found,) = read({"i": records})
    assert (found.group, found.judges) == (("choice", 2), ("x", "y"))
    assert found.answer.tolist() == [[[1, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]]]
    assert found.centred.tolist() == [[[0.5, -0.5, 0], [0, 0, 0]], [[0.5, -0.5, 0], [0, 0, 0]]]
    assert found.there.tolist() == [[1, 0], [1, 1]]
    records = {"i": [said("x", "AB", "A>B"), said("y", "AB", [["B"], ["A"]]), said("z", "ABC", [["C"], ["A", "B"]])]}
    assert [one.group for one in read(records)] == [("choice", 2), ("choice", 3)]
    assert [one.group for one in read(records, Rules(parse_right("kendall>=0.5")))] == [("choice", 2)]
    (found,) = read({"i": [said("x", "AB", "A>B"), said("x", "AC", "A>C")]})
    assert found.answer.tolist() == [[[1, 0, 0]], [[1, 0, 0]]]
    (found,) = read({"i": [said("x", "A", 1), said("x", "B", 2)], "h": [said("y", "B", 1), said("y", "A", 2)]})
    assert np.argwhere(found.answer).tolist() == [[0, 0, 0], [1, 0, 1], [2, 1, 0], [3, 1, 1]]
    assert found.question.tolist() == [0, 0, 1, 1]
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


# What the judges say of a verdict.
def test_columns_are_seen_from_the_verdict():
    items = {"i": [seen("a", 3), seen("b", 3), seen("c", 5), seen("d", None)]}
    made, rows, who = answers(items, "grade", "equal")
    found = answer_columns(made, rows)
    at = {judge: row for row, (_, judge, _) in enumerate(who)}
    one = {name: column.values[at["a"]] for name, column in found.items()}
    assert one["peers.support"] == 0  # b agrees, c does not
    assert one["peers.rival"] == 0.5
    assert one["consensus.sum"] == 2 - 1
    assert one["consensus.missing"] == 0.25
    assert (one["voices.a"], one["voices.b"], one["voices.c"]) == (1, 1, -1)
    assert found["peers.support"].values[at["c"]] == -1
    assert not found["voices.d"].present.any()


def test_a_judge_alone_has_no_peers():
    made, rows, _ = answers({"i": [seen("a", 3), seen("a", 3)]}, "grade", "equal")
    found = answer_columns(made, rows)
    assert found["peers.none"].values.tolist() == [1, 1]
    assert not found["peers.support"].present.any()


def test_many_judges_speak_as_models_and_too_many_not_at_all(monkeypatch):
    monkeypatch.setattr(answer_consensus, "MOST_VOICES", 2)
    items = {"i": [seen(name, 3 if name != "d" else 4) for name in "abcd"]}
    made, rows, _ = answers(items, "grade", "equal", models={"a": "m", "b": "m", "c": "n", "d": "n"})
    found = answer_columns(made, rows)
    assert [name for name in found if name.startswith("voices.") and "@" not in name] == ["voices.m", "voices.n"]
    assert found["voices.n"].values[0] == 0
    made, rows, _ = answers(items, "grade", "equal")
    assert not any(name.startswith("voices.") for name in answer_columns(made, rows))


def test_votes_of_a_judge_are_told_apart_by_what_they_say():
    ranked = {"B": [["B"], ["A", "C"]], "C": [["C"], ["A", "B"]]}
    items = {"i": [seen("x", ranked["B"], "BAC"), seen("x", ranked["C"], "ABC"), seen("y", ranked["B"], "ABC")]}
    made, rows, who = answers(items, "ranking", "top1")
    found = answer_columns(made, rows)
    at = [judge for _, judge, _ in who].index("y")
    assert (found["voices.x"].values[at], found["voices.x@place 1"].values[at]) == (0, 0.5)
    assert (found["voices.x@place 2"].values[at], found["voices.x@place 3"].values[at]) == (0, -0.5)
