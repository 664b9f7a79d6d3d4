"""Verdicts: what is accepted, what it means, and that labels can be exchanged without changing it."""

import json

import pytest
from pydantic import BaseModel

from metajudge.types import VERDICT_KINDS, Category, Pairwise, Ranking, Verdict, kind_of, parse_verdict


class Holder(BaseModel):
    verdict: Verdict | None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A>>B", Pairwise("A", "B", 2)),
        ("A>B", Pairwise("A", "B", 1)),
        ("A=B", Pairwise("A", "B", 0)),
        ("B>A", Pairwise("B", "A", 1)),
        (" B >> A ", Pairwise("B", "A", 2)),
        ("gpt-4.1_x>claude-3.5", Pairwise("gpt-4.1_x", "claude-3.5", 1)),
    ],
)
def test_pairwise_forms(text, expected):
    assert parse_verdict(text) == expected
    assert parse_verdict(expected.to_json()) == expected


@pytest.mark.parametrize("text", ["", " ", "A>", ">B", "A>>>B", "A<B", "A>B>C", "A>A", "ä>B", "[[A>B]]"])
def test_a_string_that_is_no_verdict_is_refused_with_what_is_accepted(text):
    with pytest.raises(ValueError, match="not a verdict"):
        parse_verdict(text)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"category": ""},
        {"category": "a", "b": 1},
        float("nan"),
        float("inf"),
        {},
        [],
        [[]],
        [["A"], []],
        [1],
        ["A", "A"],
        [["A"], ["B", "A"]],
    ],
)
def test_values_that_are_no_verdict(value):
    with pytest.raises(ValueError, match="not a verdict"):
        parse_verdict(value)


def test_ranking_of_ids_and_of_groups():
    assert parse_verdict(["B", "A"]) == Ranking((("B",), ("A",)))
    assert parse_verdict([["B"], ["A", "C"]]) == Ranking((("B",), ("A", "C")))
    assert parse_verdict([["B"], ["A", "C"]]).to_json() == [["B"], ["A", "C"]]


@pytest.mark.parametrize("value", ["A>>B", "A=B", [["A"], ["B"]], 3.5, True, False, "pass", {"category": "a=b"}, None])
def test_json_round_trip_through_a_model(value):
    text = json.dumps({"verdict": value})
    assert json.loads(Holder.model_validate_json(text).model_dump_json()) == {"verdict": value}


def test_a_word_or_a_boolean_is_a_category():
    assert parse_verdict(" pass ") == Category("pass")
    assert parse_verdict(False) == Category(False)
    assert parse_verdict({"category": "a=b"}) == Category("a=b")
    assert [kind_of(parse_verdict(one)) for one in ("A>B", ["A", "B"], 1, "C")] == list(VERDICT_KINDS)


class TestMeaning:
    def test_winner_and_tie(self):
        assert parse_verdict("B>>A").winner == "B"
        assert parse_verdict("A=B").winner is None
        assert parse_verdict("A=B").is_tie
        assert parse_verdict([["A", "B"], ["C"]]).winner is None
        assert not parse_verdict([["A", "B"], ["C"]]).is_tie

    def test_support_is_signed_and_antisymmetric(self):
        verdict = parse_verdict("B>>A")
        assert verdict.support("B", over="A") == 2
        assert verdict.support("A", over="B") == -2
        assert verdict.support("A", over="C") is None
        ranking = parse_verdict([["C"], ["A", "B"]])
        assert ranking.support("C", over="A") == 1
        assert ranking.support("A", over="C") == -1
        assert ranking.support("A", over="B") == 0

    def test_relabelling_there_and_back_changes_nothing(self):
        swap = {"A": "B", "B": "A"}
        for value in ("A>>B", "A=B", [["A"], ["B"]], 4.0):
            verdict = parse_verdict(value)
            assert verdict.relabelled(swap).relabelled(swap) == verdict
        assert parse_verdict("A>>B").relabelled(swap) == parse_verdict("B>>A")
