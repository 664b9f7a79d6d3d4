from typing import Any

import pytest

from metajudge.evidence.repeats import repeat_agreement, variant_agreement
from metajudge.types import parse_right
from tests.evidence.verdicts import TRIPLE, judged, said

EQUAL, TOP = parse_right("equal"), parse_right("top1")


def graded(verdict: Any, shown: str = "A", judge: str = "owl") -> Any:
    return judged(verdict, judge=judge, order=(shown,))


class TestRepeats:
    def test_the_judgment_itself_is_no_repeat(self) -> None:
        once = repeat_agreement(graded(4), [said("owl", "A", 4)], EQUAL)
        assert (once.value, once.state) == (None, "missing")
        twice = repeat_agreement(graded(4), [said("owl", "A", 4)] * 2, EQUAL)
        assert (twice.value, twice.state) == (1.0, "agree")

    def test_the_share_that_agrees_minus_the_share_that_does_not(self) -> None:
        recorded = [said("owl", "A", grade) for grade in (4, 4, 5, 4)]
        assert repeat_agreement(graded(4), recorded, EQUAL).value == pytest.approx(1 / 3)
        assert repeat_agreement(graded(5), recorded, EQUAL).state == "disagree"
        assert repeat_agreement(graded(5), recorded, parse_right("within:1")).state == "agree"

    def test_other_judges_other_responses_and_other_orders_are_no_repeats(self) -> None:
        others = [said("owl", "A", 4), said("emu", "A", 4), said("owl", "B", 4)]
        assert repeat_agreement(graded(4), others, EQUAL).state == "missing"
        first = judged([["A"], ["B"], ["C"]], item=TRIPLE)
        assert repeat_agreement(first, [said("owl", "CBA", [["A"], ["B"], ["C"]])], TOP).state == "missing"

    def test_a_ranking_repeats_its_first_place(self) -> None:
        first = judged([["A"], ["B"], ["C"]], item=TRIPLE)
        recorded = [said("owl", "ABC", [["A"], ["B"], ["C"]]), said("owl", "ABC", [["A"], ["C"], ["B"]])]
        assert repeat_agreement(first, recorded, TOP).state == "agree"


class TestVariants:
    def test_each_prompt_of_the_model_has_one_vote(self) -> None:
        recorded = [said("owl", "A", True), *([said("owl/2", "A", False)] * 9), said("owl/3", "A", True)]
        found = variant_agreement(graded(True), recorded, EQUAL, {"owl/2", "owl/3"})
        assert (found.value, found.state) == (0.0, "mixed")

    def test_without_other_prompts_it_is_absent(self) -> None:
        found = variant_agreement(graded(True), [said("emu", "A", True)], EQUAL, set())
        assert (found.value, found.state) == (None, "missing")
