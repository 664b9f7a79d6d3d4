"""Verdicts and decisions."""

import json

import pytest
from pydantic import BaseModel, ValidationError

from metajudge.decision import load_policy
from metajudge.types import (
    VERDICT_KINDS,
    Assessment,
    Category,
    Failure,
    Grade,
    GuaranteedThreshold,
    Item,
    Pairwise,
    Ranking,
    Right,
    Status,
    ToDo,
    Verdict,
    default_right,
    is_right,
    kind_of,
    parse_right,
    parse_verdict,
)
from metajudge.types.decision import Action, DecisionInputs
from metajudge.types.grade_scales import FEWEST, Grades, GradeScales, one_scale
from metajudge.vetting.policies import decided


class Holder(BaseModel):
    verdict: Verdict | None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("A>>B", Pairwise("A", "B", 2)),
        ("A>B", Pairwise("A", "B", 1)),
        ("A=B", Pairwise("A", "B", 0)),
        ("B>A", Pairwise("B", "A", 1)),
        (" B >> A ", Pairwise("B", "A", 2)),
        ("gpt-4.1_x>claude-3.5", Pairwise("gpt-4.1_x", "claude-3.5", 1)),
        (["B", "A"], Ranking((("B",), ("A",)))),
        ([["B"], ["A", "C"]], Ranking((("B",), ("A", "C")))),
        (" pass ", Category("pass")),
        (False, Category(False)),
        ({"category": "a=b"}, Category("a=b")),
    ],
)
def test_forms(given, expected):
    assert parse_verdict(given) == expected
    assert parse_verdict(expected.to_json()) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "A>", ">B", "A>>>B", "A<B", "A>B>C", "A>A", "ä>B", "[[A>B]]", None, float("nan"), float("inf"), {}),
        *({"category": ""}, {"category": "a", "b": 1}, [], [[]], [["A"], []], [1], ["A", "A"], [["A"], ["B", "A"]]),
    ],
)
def test_what_is_no_verdict_is_refused_with_what_is_accepted(value):
    with pytest.raises(ValueError, match="not a verdict"):
        parse_verdict(value)


def test_each_kind_has_its_name():
    assert [kind_of(parse_verdict(one)) for one in ("A>B", ["A", "B"], 1, "C")] == list(VERDICT_KINDS)


@pytest.mark.parametrize("value", ["A>>B", "A=B", [["A"], ["B"]], 3.5, True, False, "pass", {"category": "a=b"}, None])
def test_json_round_trip_through_a_model(value):
    text = json.dumps({"verdict": value})
    assert json.loads(Holder.model_validate_json(text).model_dump_json()) == {"verdict": value}


class TestMeaning:
    def test_winners_ties_signed_support_and_relabelling_there_and_back(self):
        assert parse_verdict("B>>A").winner == "B"
        assert parse_verdict("A=B").winner is None
        assert parse_verdict("A=B").is_tie
        assert parse_verdict([["A", "B"], ["C"]]).winner is None
        assert not parse_verdict([["A", "B"], ["C"]]).is_tie
        verdict = parse_verdict("B>>A")
        assert verdict.support("B", over="A") == 2
        assert verdict.support("A", over="B") == -2
        assert verdict.support("A", over="C") is None
        ranking = parse_verdict([["C"], ["A", "B"]])
        assert ranking.support("C", over="A") == 1
        assert ranking.support("A", over="C") == -1
        assert ranking.support("A", over="B") == 0
        swap = {"A": "B", "B": "A"}
        for value in ("A>>B", "A=B", [["A"], ["B"]], 4.0):
            verdict = parse_verdict(value)
            assert verdict.relabelled(swap).relabelled(swap) == verdict
        assert parse_verdict("A>>B").relabelled(swap) == parse_verdict("B>>A")


# The one rule of what counts as right.
@pytest.mark.parametrize("text", ["equal", "top1", "within:0.5", "within:0", "side:3", "side:-1", "kendall>=0.6"])
def test_a_rule_reads_what_it_writes(text):
    assert str(parse_right(text)) == text


@pytest.mark.parametrize(
    "text", ["", "near", "equal:1", "within", "within:", "within:-1", "side:x", "side:nan", "side:inf", "kendall>=2", "top1:"]
)  # fmt: skip
def test_other_rules_are_refused_with_what_is_accepted(text):
    with pytest.raises(ValueError, match=r"within:T .*side:PASSMARK"):
        parse_right(text)


@pytest.mark.parametrize(
    ("rule", "verdict", "label", "right"),
    [
        ("equal", "A>>B", "A>B", True),
        ("equal", "A=B", "A=B", True),
        ("equal", "A>B", "A=B", False),
        ("top1", "A>B", "A=B", None),
        ("top1", "A=B", "A>B", False),
        ("top1", ["A", "B", "C"], ["A", "C", "B"], True),
        ("top1", [["A", "B"], "C"], ["A", "C", "B"], False),
        ("equal", ["A", "B", "C"], ["A", "C", "B"], False),
        ("equal", ["A", "B"], ["A", "C"], None),
        ("kendall>=0.3", ["A", "B", "C"], ["A", "C", "B"], True),
        ("kendall>=0.4", ["A", "B", "C"], ["A", "C", "B"], False),
        ("equal", 0.1 + 0.2, 0.3, True),
        ("within:0.1", 0.4, 0.3, True),
        ("within:1", 3, 5, False),
        ("within:1", 3, "pass", None),
        ("side:3", 3, 5, True),
        ("side:3", 2, 5, False),
        ("side:3", 4, "pass", True),
        ("side:3", True, 2, False),
        ("side:3", "blue", 2, None),
        ("equal", True, "pass", True),
        ("equal", "C", "I", False),
        ("equal", "Blue", "blue", True),
        ("equal", 1, True, None),
    ],
)
def test_what_is_right(rule, verdict, label, right):
    assert is_right(parse_verdict(verdict), parse_verdict(label), parse_right(rule)) is right


@pytest.mark.parametrize(
    ("kind", "verdicts", "labels", "rule"),
    [
        ("pairwise", ["A>B"], ["A>B"], "top1"),
        ("ranking", [["A", "B"]], [], "top1"),
        ("grade", [1, 2], [5], "equal"),
        ("grade", [1, 2.5], [5], "within:0.4"),
        ("grade", [1, 2], ["pass"], "side:1.5"),
        ("grade", [2], [True], "side:2"),
        ("category", ["pass"], [1, 5], "side:3"),
        ("category", ["pass"], [True], "equal"),
    ],
)
def test_the_default_fits_the_data(kind, verdicts, labels, rule):
    found = default_right(kind, map(parse_verdict, verdicts), map(parse_verdict, labels))
    assert str(found) == rule
    assert found.applies(kind)


def test_a_pass_mark_is_no_rule_for_pairs():
    assert not Right("side", 3).applies("pairwise")


# Whether grades are on one scale, at the edges of each rule.
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
    assert not one_scale(grades(1, 5, items=2), grades(20, 100, items=2)), "but for per cents and points up to ten"


def test_judges_and_people_of_unlike_scales_and_a_declared_scale_that_is_that_of_all():
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
    found = GradeScales()
    for at in range(FEWEST):
        item = Item(id=f"i{at}", question="?", responses={"A": "x"}, label=Grade(1 + at % 5), scale=(1, 10))
        found.add("ten", Grade(1 + at), item)
    assert (found.unlike_people(), found.sentences()) == ([], [])


def inputs(**changes):
    return DecisionInputs(**{"basis": "score", "value": 1.0, "confidence": 0.5, "confidence_rule": "x", **changes})


def test_reviews_need_a_person_and_ends_do_not():
    assert [action for action in Action if action.needs_person] == [Action.REVIEW, Action.REVIEW_PRIORITY]


@pytest.mark.parametrize("name", ["value", "confidence"])
def test_a_number_without_a_reason_or_beside_one_is_refused(name):
    for changes in ({name: None}, {"absent": {name: "none"}}):
        with pytest.raises(ValidationError, match=f"{name}: give either a number"):
            inputs(**changes)


@pytest.mark.parametrize("changes", [{"confidence": 1.01}, {"confidence": -0.1}, {"value": float("nan")}])
def test_numbers_off_their_range_are_refused(changes):
    with pytest.raises(ValidationError):
        inputs(**changes)


def test_the_value_before_corrections_is_written_only_where_there_are_some():
    assert "unadjusted" not in inputs().model_dump()
    assert inputs(unadjusted=2.0).model_dump()["unadjusted"] == 2.0


# What to do with a judgment: one field, the same wherever an assessment is read.
def assessment(**changes):
    given = {
        "judgment_id": "j1",
        "item_id": "i1",
        "judge": "judge",
        "status": Status.ASSESSED,
        "final_score": 4.6,
        "accepted": True,
        "strategy": "weighted_average",
        "threshold": 4.5,
        "panel_digest": "p",
        "judgment_digest": "d",
        "metajudge_version": "0",
    }
    return Assessment(**{**given, **changes})


GUARANTEE = GuaranteedThreshold(threshold=0.9, target=0.9, delta=0.05)
FAILED = {"status": Status.FAILED, "accepted": None, "final_score": None}


@pytest.mark.parametrize(
    ("found", "action", "source", "reason"),
    [
        (assessment(), "keep", "threshold", "the score 4.6 is above the threshold 4.5"),
        (assessment(accepted=False, final_score=4.5), "discard", "threshold", "is not above the threshold 4.5"),
        (
            assessment(final_score=None, score_bounds=(4.6, 5)),
            "keep",
            "threshold",
            "every score that the answers leave",
        ),
        (
            assessment(guarantee=GUARANTEE, probability=0.95),
            "keep",
            "guarantee",
            "reaches the guaranteed threshold 0.9",
        ),
        (assessment(**FAILED, failure=Failure(kind="timeout", message="no answer")), "ask", "nothing", "no answer"),
    ],
)
def test_without_a_policy_it_follows_what_was_accepted(found, action, source, reason):
    assert (found.do.action, found.do.source) == (action, source)
    assert reason in found.do.reason


def test_a_policy_without_probabilities_asks_and_a_reader_takes_it_from_the_other_fields():
    found = decided(load_policy("verdict"), assessment())
    assert (found.kept, found.do.action) == (None, "ask")
    assert "without a calibration" in found.do.reason
    found = assessment()
    data = json.loads(found.model_dump_json())
    assert data["do"] == found.do.model_dump()
    assert "given_to_do" not in data
    wrong = Assessment.model_validate({**data, "do": ToDo(action="ask", source="nothing", reason="x").model_dump()})
    assert wrong == found
    assert Assessment.model_validate_json(json.dumps({**data, "do": "nonsense"})) == found
