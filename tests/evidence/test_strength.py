from metajudge.evidence.format import stated_strength
from tests.evidence.verdicts import judged


class TestStrength:
    def test_strengths(self) -> None:
        assert [stated_strength(judged(v).verdict).value for v in ("A>>B", "B>A", "A=B")] == [2, 1, 0]
        assert stated_strength(judged("A=B").verdict).state == "tied"

    def test_absent_where_nothing_is_stated(self) -> None:
        assert stated_strength(judged([["A"], ["B"]]).verdict).state == "not_stated"
        assert stated_strength(judged(None).verdict).state == "no_verdict"
        assert stated_strength(judged(2.5, order=("A",)).verdict).state == "grade"
