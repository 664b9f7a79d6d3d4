"""The other order, again, or by another prompt: pairs, grades of one question, repeats."""

from typing import Any

import pytest

from metajudge.evidence.answer_consensus import other_order_columns, repeat_columns, version_columns
from metajudge.types import parse_right
from tests.evidence.answers import answers, seen
from tests.evidence.verdicts import TRIPLE, beside, judged, said


class TestOrder:
    @pytest.mark.parametrize(
        ("other", "value", "state"),
        [
            (("owl", "BA", "A>B"), 1.0, "agree"),
            (("owl", "BA", "A>>B"), 1.0, "agree"),
            (("owl", "BA", "B>A"), -1.0, "disagree"),
            (("owl", "BA", "A=B"), 0.0, "other_tied"),
            (("owl", "BA", None), None, "other_no_verdict"),
            (("owl", "AB", "A>B"), None, "missing"),
            (("emu", "BA", "A>B"), None, "missing"),
        ],
    )
    def test_states_are_kept_apart(self, other: tuple[str, str, Any], value: float | None, state: str) -> None:
        signal = beside(judged("A>B"), [said("owl", "AB", "A>B"), said(*other)]).order
        assert (signal.value, signal.state) == (value, state)

    def test_no_or_several_verdicts_in_other_orders_are_absent_or_combined_by_majority(self) -> None:
        for verdict, state in (("A=B", "own_tied"), (None, "no_verdict")):
            signal = beside(judged(verdict), [said("owl", "BA", "A=B")]).order
            assert (signal.value, signal.state) == (None, state)
        signal = beside(judged(4, order=("A",)), []).order
        assert (signal.value, signal.state) == (None, "grade")
        others = [said("owl", "BA", v) for v in ("A>B", "B>>A", "A>B")]
        assert beside(judged("A>B"), others).order.state == "agree"
        assert beside(judged("A>B"), others[:2]).order.state == "other_tied"
        own = judged([["B"], ["A"], ["C"]], item=TRIPLE)
        assert beside(own, [said("owl", "CAB", [["B"], ["C"], ["A"]])]).order.state == "agree"
        assert beside(own, [said("owl", "BA", "B>A")]).order.state == "missing"


EQUAL, TOP = parse_right("equal"), parse_right("top1")


def graded(verdict: Any, shown: str = "A", judge: str = "owl") -> Any:
    return judged(verdict, judge=judge, order=(shown,))


class TestRepeats:
    def test_repeats_are_of_the_same_judge_response_and_order_and_of_a_ranking_its_first_place(self) -> None:
        once = beside(graded(4), [said("owl", "A", 4)], EQUAL).repeats
        assert (once.value, once.state) == (None, "missing")
        twice = beside(graded(4), [said("owl", "A", 4)] * 2, EQUAL).repeats
        assert (twice.value, twice.state) == (1.0, "agree")
        recorded = [said("owl", "A", grade) for grade in (4, 4, 5, 4)]
        assert beside(graded(4), recorded, EQUAL).repeats.value == pytest.approx(1 / 3)
        assert beside(graded(5), recorded, EQUAL).repeats.state == "disagree"
        assert beside(graded(5), recorded, parse_right("within:1")).repeats.state == "agree"
        others = [said("owl", "A", 4), said("emu", "A", 4), said("owl", "B", 4)]
        assert beside(graded(4), others, EQUAL).repeats.state == "missing"
        first = judged([["A"], ["B"], ["C"]], item=TRIPLE)
        assert beside(first, [said("owl", "CBA", [["A"], ["B"], ["C"]])], TOP).repeats.state == "missing"
        first = judged([["A"], ["B"], ["C"]], item=TRIPLE)
        recorded = [said("owl", "ABC", [["A"], ["B"], ["C"]]), said("owl", "ABC", [["A"], ["C"], ["B"]])]
        assert beside(first, recorded, TOP).repeats.state == "agree"


class TestVariants:
    def test_each_prompt_of_the_model_has_one_vote_and_without_others_it_is_absent(self) -> None:
        recorded = [said("owl", "A", True), *([said("owl/2", "A", False)] * 9), said("owl/3", "A", True)]
        found = beside(graded(True), recorded, EQUAL, {"owl/2", "owl/3"}).variants
        assert (found.value, found.state) == (0.0, "mixed")
        found = beside(graded(True), [said("emu", "A", True)], EQUAL, set()).variants
        assert (found.value, found.state) == (None, "missing")


# The same judge again, in another order, or by another prompt.
def values(columns, name):
    return [value if there else None for value, there in zip(columns[name].values, columns[name].present, strict=True)]


def test_repeats_are_other_verdicts_in_the_same_order_and_versions_are_other_judges():
    made, rows, _ = answers({"i": [seen("a", 3), seen("a", 3), seen("a", 4), seen("b", 3)]}, "grade", "equal")
    assert values(repeat_columns(made, rows), "repeats.support") == [0, 0, -1, None]
    first, second = [["A"], ["B", "C"]], [["B"], ["A", "C"]]
    items = {"i": [seen("a", first, "ABC"), seen("a", first, "BCA"), seen("a", second, "CAB"), seen("b", first, "ABC")]}
    made, rows, _ = answers(items, "ranking", "top1")
    assert values(repeat_columns(made, rows), "repeats.support") == [None] * 4
    found = other_order_columns(made, rows)
    assert found["order.agree"].values.tolist() == [0.5, 0.5, 0, 0]
    assert found["order.signed"].values.tolist() == [0, 0, -1, 0]
    assert found["order.missing"].values.tolist() == [0, 0, 0, 1]
    items = {"i": [seen("m/1", "pass"), seen("m/2", "pass"), seen("m/3", "fail"), seen("n/1", "pass")]}
    made, rows, _ = answers(items, "category", "equal", models={"m/1": "m", "m/2": "m", "m/3": "m", "n/1": "n"})
    assert values(version_columns(made, rows), "versions.support") == [0, 0, -1, None]
