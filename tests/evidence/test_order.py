from typing import Any

import pytest

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

    def test_absence_is_never_zero(self) -> None:
        for verdict, state in (("A=B", "own_tied"), (None, "no_verdict")):
            signal = beside(judged(verdict), [said("owl", "BA", "A=B")]).order
            assert (signal.value, signal.state) == (None, state)

    def test_grades_compare_nothing(self) -> None:
        signal = beside(judged(4, order=("A",)), []).order
        assert (signal.value, signal.state) == (None, "grade")

    def test_several_verdicts_are_combined_by_majority(self) -> None:
        others = [said("owl", "BA", v) for v in ("A>B", "B>>A", "A>B")]
        assert beside(judged("A>B"), others).order.state == "agree"
        assert beside(judged("A>B"), others[:2]).order.state == "other_tied"

    def test_any_other_order_of_the_same_responses_counts_for_rankings(self) -> None:
        own = judged([["B"], ["A"], ["C"]], item=TRIPLE)
        assert beside(own, [said("owl", "CAB", [["B"], ["C"], ["A"]])]).order.state == "agree"
        assert beside(own, [said("owl", "BA", "B>A")]).order.state == "missing"
