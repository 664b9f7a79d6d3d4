from metajudge.evidence.comparison import decided_verdict, signed_support, stance
from metajudge.types import parse_verdict
from tests.evidence.verdicts import judged


class TestComparison:
    def test_stance_of_pairs(self) -> None:
        own = parse_verdict("A>B")
        assert [stance(own, parse_verdict(v)) for v in ("A>>B", "B>A", "A=B")] == [1, -1, 0]
        assert stance(parse_verdict("A=B"), own) is None
        assert stance(own, parse_verdict(3)) is None

    def test_stance_of_rankings_goes_by_the_first_place(self) -> None:
        own = parse_verdict([["A"], ["B"], ["C"]])
        assert stance(own, parse_verdict([["A"], ["C"], ["B"]])) == 1
        assert stance(own, parse_verdict([["B"], ["A"], ["C"]])) == -1
        assert stance(own, parse_verdict([["A", "B"], ["C"]])) == 0
        assert stance(own, parse_verdict([["C", "B"], ["A"]])) == -1
        assert stance(own, parse_verdict([["C"], ["B"]])) is None

    def test_signed_support_of_rankings_is_the_mean_over_rivals(self) -> None:
        own = parse_verdict([["A"], ["B"], ["C"]])
        assert signed_support(own, parse_verdict([["B"], ["A"], ["C"]])) == 0
        assert signed_support(own, parse_verdict([["A"], ["B", "C"]])) == 1
        assert signed_support(own, parse_verdict("A>>B")) == 2
        assert signed_support(own, parse_verdict("B>C")) is None


def test_a_verdict_that_names_a_winner_is_itself_and_others_say_why_not() -> None:
    decided = decided_verdict(parse_verdict("A>B"))
    assert decided == parse_verdict("A>B")
    states = [decided_verdict(judged(verdict).verdict) for verdict in ("A=B", None)]
    assert [getattr(one, "state", None) for one in states] == ["own_tied", "no_verdict"]
