from typing import Any

import pytest

from metajudge.types import parse_right
from tests.evidence.verdicts import TRIPLE, beside, judged, said

EQUAL, TOP = parse_right("equal"), parse_right("top1")


def graded(verdict: Any, shown: str = "A", judge: str = "owl") -> Any:
    return judged(verdict, judge=judge, order=(shown,))


class TestRepeats:
    def test_the_judgment_itself_is_no_repeat(self) -> None:
        once = beside(graded(4), [said("owl", "A", 4)], EQUAL).repeats
        assert (once.value, once.state) == (None, "missing")
        twice = beside(graded(4), [said("owl", "A", 4)] * 2, EQUAL).repeats
        assert (twice.value, twice.state) == (1.0, "agree")

    def test_the_share_that_agrees_minus_the_share_that_does_not(self) -> None:
        recorded = [said("owl", "A", grade) for grade in (4, 4, 5, 4)]
        assert beside(graded(4), recorded, EQUAL).repeats.value == pytest.approx(1 / 3)
        assert beside(graded(5), recorded, EQUAL).repeats.state == "disagree"
        assert beside(graded(5), recorded, parse_right("within:1")).repeats.state == "agree"

    def test_other_judges_other_responses_and_other_orders_are_no_repeats(self) -> None:
        others = [said("owl", "A", 4), said("emu", "A", 4), said("owl", "B", 4)]
        assert beside(graded(4), others, EQUAL).repeats.state == "missing"
        first = judged([["A"], ["B"], ["C"]], item=TRIPLE)
        assert beside(first, [said("owl", "CBA", [["A"], ["B"], ["C"]])], TOP).repeats.state == "missing"

    def test_a_ranking_repeats_its_first_place(self) -> None:
        first = judged([["A"], ["B"], ["C"]], item=TRIPLE)
        recorded = [said("owl", "ABC", [["A"], ["B"], ["C"]]), said("owl", "ABC", [["A"], ["C"], ["B"]])]
        assert beside(first, recorded, TOP).repeats.state == "agree"


class TestVariants:
    def test_each_prompt_of_the_model_has_one_vote(self) -> None:
        recorded = [said("owl", "A", True), *([said("owl/2", "A", False)] * 9), said("owl/3", "A", True)]
        found = beside(graded(True), recorded, EQUAL, {"owl/2", "owl/3"}).variants
        assert (found.value, found.state) == (0.0, "mixed")

    def test_without_other_prompts_it_is_absent(self) -> None:
        found = beside(graded(True), [said("emu", "A", True)], EQUAL, set()).variants
        assert (found.value, found.state) == (None, "missing")
