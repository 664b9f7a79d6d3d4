from typing import Any

import pytest

from metajudge.types import parse_right
from tests.evidence.verdicts import TRIPLE, Said, beside, judged, said


class TestPeers:
    def test_mean_voice_over_both_orders_without_the_judge_itself(self) -> None:
        recorded = [
            said("owl", "AB", "A>>B"),
            said("owl", "BA", "A>>B"),
            said("emu", "AB", "A>>B"),
            said("emu", "BA", "A>B"),
            said("jay", "AB", "B>A"),
            said("jay", "BA", None),
        ]
        found = beside(judged("A>B"), recorded).peers
        assert found.value == pytest.approx((0.75 - 0.5) / 2)
        assert (found.supporting, found.opposing, found.undecided, found.peers) == (1, 1, 0, 2)
        assert (found.lowest, found.highest, found.state) == (-0.5, 0.75, "for")

    def test_relative_to_the_judgments_own_verdict(self) -> None:
        recorded = [said("emu", "AB", "A>B"), said("jay", "BA", "A>>B")]
        assert beside(judged("A>B"), recorded).peers.state == "unanimous_for"
        against = beside(judged("B>A"), recorded).peers
        assert (against.value, against.state) == (-0.75, "unanimous_against")

    def test_a_peer_that_follows_the_position_cancels_itself_out(self) -> None:
        found = beside(judged("A>B"), [said("emu", "AB", "A>>B"), said("emu", "BA", "B>>A")]).peers
        assert (found.value, found.state, found.undecided) == (0, "balanced", 1)

    def test_a_peer_asked_ten_times_has_one_voice(self) -> None:
        recorded = [said("emu", "AB", "A>>B")] * 10 + [said("jay", "AB", "B>>A")]
        assert beside(judged("A>B"), recorded).peers.value == 0

    def test_one_peer_is_not_unanimous(self) -> None:
        assert beside(judged("A>B"), [said("emu", "AB", "A>B")]).peers.state == "for"

    @pytest.mark.parametrize(("verdict", "state"), [("A=B", "own_tied"), (None, "no_verdict"), ("A>B", "no_peers")])
    def test_absence_is_never_zero(self, verdict: Any, state: str) -> None:
        recorded = [said("owl", "BA", "A>B"), said("emu", "AB", None)]
        signal = beside(judged(verdict), recorded).peers.signal()
        assert (signal.value, signal.state) == (None, state)

    def test_relabelling_changes_nothing(self) -> None:
        recorded = [said("emu", "AB", "A>>B"), said("jay", "AB", "A=B"), said("kea", "BA", "B>A")]
        swap = {"A": "B", "B": "A"}
        mirrored = [
            Said(r.judge, tuple(swap[x] for x in r.order), r.verdict.relabelled(swap))
            for r in recorded
            if r.verdict is not None
        ]
        assert beside(judged("A>B"), recorded).peers == beside(judged("B>A"), mirrored).peers

    def test_the_order_of_the_lines_changes_nothing(self) -> None:
        recorded = [said(f"j{i}", "AB", v) for i, v in enumerate(("A>>B", "B>A", "A>B", "A=B", "B>>A", "A>B", "A>B"))]
        assert beside(judged("A>B"), recorded).peers == beside(judged("A>B"), recorded[::-1]).peers


class TestOtherKinds:
    """Rankings, grades and categories: agreement by the rule, one vote a judge, one undecided vote counted in."""

    FIRST = (("A",), ("B",), ("C",))

    def ranked(self, *groups: tuple[str, ...], judge: str = "owl") -> Any:
        return judged([list(group) for group in groups], item=TRIPLE, judge=judge)

    def test_a_unanimous_ranking_has_almost_full_support(self) -> None:
        recorded = [said(f"j{n}", "ABC", [["A"], ["B"], ["C"]]) for n in range(8)]
        found = beside(self.ranked(*self.FIRST), recorded).peers
        assert found.value == pytest.approx(8 / 9)
        assert (found.state, found.most) == ("unanimous_for", pytest.approx(8 / 9))

    def test_a_ranking_is_supported_by_the_same_first_place(self) -> None:
        recorded = [
            said("emu", "ABC", [["A"], ["C"], ["B"]]),
            said("jay", "CBA", [["B"], ["A"], ["C"]]),
            said("kea", "ABC", [["A", "B"], ["C"]]),
        ]
        found = beside(self.ranked(*self.FIRST), recorded).peers
        assert (found.supporting, found.opposing, found.undecided, found.value) == (1, 1, 1, 0)
        strict = beside(self.ranked(*self.FIRST), recorded, rule=parse_right("kendall>=1")).peers
        assert (strict.supporting, strict.opposing) == (0, 3)

    def test_grades_are_compared_by_the_rule_and_on_the_same_response(self) -> None:
        recorded = [said("emu", "A", 4), said("jay", "A", 4.5), said("kea", "B", 4)]
        own = judged(4, order=("A",))
        equal = beside(own, recorded, rule=parse_right("equal")).peers
        assert (equal.supporting, equal.opposing, equal.value) == (1, 1, 0)
        near = beside(own, recorded, rule=parse_right("within:0.5")).peers
        assert (near.state, near.value) == ("unanimous_for", pytest.approx(2 / 3))

    def test_categories_that_mean_the_same_agree(self) -> None:
        own = judged("pass", order=("A",))
        found = beside(own, [said("emu", "A", True), said("jay", "A", "fail")]).peers
        assert (found.supporting, found.opposing) == (1, 1)

    def test_nobody_else_graded_it(self) -> None:
        found = beside(judged(4, order=("A",)), [said("owl", "A", 4), said("emu", "B", 4)]).peers
        assert (found.value, found.state, found.detail) == (None, "no_peers", "no other judge graded this response")

    def test_other_prompts_of_the_model_are_no_peers_except_on_pairs(self) -> None:
        recorded = [said("owl/2", "A", 4), said("emu", "A", 4)]
        assert beside(judged(4, order=("A",)), recorded, variants={"owl/2"}).peers.peers == 1
        pairs = [said("owl/2", "AB", "A>B"), said("emu", "AB", "A>B")]
        assert beside(judged("A>B"), pairs, variants={"owl/2"}).peers.peers == 2

    def test_a_rule_for_other_kinds_changes_no_pair(self) -> None:
        recorded = [said("emu", "AB", "A>>B"), said("jay", "BA", "A=B")]
        assert beside(judged("A>B"), recorded, rule=parse_right("equal")).peers == beside(judged("A>B"), recorded).peers
