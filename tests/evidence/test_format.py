import math

import pytest

from metajudge.evidence.format import explanation_signal, words_signal
from tests.evidence.verdicts import TRIPLE, judged, length_ratio


class TestFormat:
    def test_words_and_explanation(self) -> None:
        assert words_signal(judged("A>B", rationale="two words").words).value == 2
        assert explanation_signal(19).state == "brief"
        assert explanation_signal(20).state == "explained"
        assert explanation_signal(0).value is None
        assert words_signal(judged("A>B", rationale=" \n").words).state == "no_rationale"

    def test_length_ratio_is_antisymmetric_and_bears_empty_responses(self) -> None:
        longer, shorter = length_ratio(judged("A>B")), length_ratio(judged("B>A"))
        assert longer.value == pytest.approx(math.log(4 / 2))
        assert shorter.value == pytest.approx(-math.log(4 / 2))
        assert (longer.state, shorter.state) == ("longer", "shorter")
        empty = length_ratio(judged([["C"], ["A", "B"]], item=TRIPLE))
        assert empty.value == pytest.approx(math.log(1 / 2.5))
        assert length_ratio(judged("A=B")).value is None
