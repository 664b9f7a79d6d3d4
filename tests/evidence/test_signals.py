import math
from typing import Any

import pytest

from metajudge.evidence.comparison import RecordedVerdict, signed_support, stance
from metajudge.evidence.format import has_explanation, length_ratio, rationale_words
from metajudge.evidence.order import order_consistency
from metajudge.evidence.peers import peer_support
from metajudge.evidence.rationale import rationale_agreement
from metajudge.evidence.strength import stated_strength
from metajudge.types import Item, Judgment, parse_verdict

PAIR = Item(id="q", question="?", responses={"A": "one two three", "B": "one"})
TRIPLE = Item(id="t", question="?", responses={"A": "a", "B": "b b", "C": ""})


def judged(verdict: Any, *, item: Item = PAIR, judge: str = "owl", **more: Any) -> Judgment:
    reason = {"no_verdict": "cut off"} if verdict is None else {}
    return Judgment(id="j", item=item, judge=judge, verdict=verdict, **reason, **more)


def said(judge: str, order: str, verdict: Any) -> RecordedVerdict:
    return RecordedVerdict(judge, tuple(order), None if verdict is None else parse_verdict(verdict))


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
        signal = order_consistency(judged("A>B"), [said("owl", "AB", "A>B"), said(*other)])
        assert (signal.value, signal.state) == (value, state)

    def test_absence_is_never_zero(self) -> None:
        for verdict, state in (("A=B", "own_tied"), (None, "no_verdict")):
            signal = order_consistency(judged(verdict), [said("owl", "BA", "A=B")])
            assert (signal.value, signal.state) == (None, state)

    def test_grades_compare_nothing(self) -> None:
        signal = order_consistency(judged(4, order=("A",)), [])
        assert (signal.value, signal.state) == (None, "grade")

    def test_several_verdicts_are_combined_by_majority(self) -> None:
        others = [said("owl", "BA", v) for v in ("A>B", "B>>A", "A>B")]
        assert order_consistency(judged("A>B"), others).state == "agree"
        assert order_consistency(judged("A>B"), others[:2]).state == "other_tied"

    def test_any_other_order_of_the_same_responses_counts_for_rankings(self) -> None:
        own = judged([["B"], ["A"], ["C"]], item=TRIPLE)
        assert order_consistency(own, [said("owl", "CAB", [["B"], ["C"], ["A"]])]).state == "agree"
        assert order_consistency(own, [said("owl", "BA", "B>A")]).state == "missing"


class TestStrength:
    def test_strengths(self) -> None:
        assert [stated_strength(judged(v)).value for v in ("A>>B", "B>A", "A=B")] == [2, 1, 0]
        assert stated_strength(judged("A=B")).state == "tied"

    def test_absent_where_nothing_is_stated(self) -> None:
        assert stated_strength(judged([["A"], ["B"]])).state == "not_stated"
        assert stated_strength(judged(None)).state == "no_verdict"
        assert stated_strength(judged(2.5, order=("A",))).state == "grade"


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
        found = peer_support(judged("A>B"), recorded)
        assert found.value == pytest.approx((0.75 - 0.5) / 2)
        assert (found.supporting, found.opposing, found.undecided, found.peers) == (1, 1, 0, 2)
        assert (found.lowest, found.highest, found.state) == (-0.5, 0.75, "for")

    def test_relative_to_the_judgments_own_verdict(self) -> None:
        recorded = [said("emu", "AB", "A>B"), said("jay", "BA", "A>>B")]
        assert peer_support(judged("A>B"), recorded).state == "unanimous_for"
        against = peer_support(judged("B>A"), recorded)
        assert (against.value, against.state) == (-0.75, "unanimous_against")

    def test_a_peer_that_follows_the_position_cancels_itself_out(self) -> None:
        found = peer_support(judged("A>B"), [said("emu", "AB", "A>>B"), said("emu", "BA", "B>>A")])
        assert (found.value, found.state, found.undecided) == (0, "balanced", 1)

    def test_a_peer_asked_ten_times_has_one_voice(self) -> None:
        recorded = [said("emu", "AB", "A>>B")] * 10 + [said("jay", "AB", "B>>A")]
        assert peer_support(judged("A>B"), recorded).value == 0

    def test_one_peer_is_not_unanimous(self) -> None:
        assert peer_support(judged("A>B"), [said("emu", "AB", "A>B")]).state == "for"

    def test_families_are_left_out(self) -> None:
        recorded = [said("owl/cot", "AB", "A>>B"), said("jay", "AB", "B>A")]
        families = {"owl": "owls", "owl/cot": "owls", "jay": "jays"}
        assert peer_support(judged("A>B"), recorded).value == 0.25
        assert peer_support(judged("A>B"), recorded, families).value == -0.5
        assert peer_support(judged("A>B", judge="unnamed"), recorded, families).value == 0.25

    @pytest.mark.parametrize(("verdict", "state"), [("A=B", "own_tied"), (None, "no_verdict"), ("A>B", "no_peers")])
    def test_absence_is_never_zero(self, verdict: Any, state: str) -> None:
        recorded = [said("owl", "BA", "A>B"), said("emu", "AB", None)]
        signal = peer_support(judged(verdict), recorded).signal()
        assert (signal.value, signal.state) == (None, state)

    def test_relabelling_changes_nothing(self) -> None:
        recorded = [said("emu", "AB", "A>>B"), said("jay", "AB", "A=B"), said("kea", "BA", "B>A")]
        swap = {"A": "B", "B": "A"}
        mirrored = [
            RecordedVerdict(r.judge, tuple(swap[x] for x in r.order), r.verdict.relabelled(swap))
            for r in recorded
            if r.verdict is not None
        ]
        assert peer_support(judged("A>B"), recorded) == peer_support(judged("B>A"), mirrored)

    def test_the_order_of_the_lines_changes_nothing(self) -> None:
        recorded = [said(f"j{i}", "AB", v) for i, v in enumerate(("A>>B", "B>A", "A>B", "A=B", "B>>A", "A>B", "A>B"))]
        assert peer_support(judged("A>B"), recorded) == peer_support(judged("A>B"), recorded[::-1])


class TestRationale:
    def test_agreement_and_contradiction(self) -> None:
        assert rationale_agreement(judged("A>B", rationale="... [[A>>B]]")).state == "agree"
        signal = rationale_agreement(judged("A>B", rationale="So Response B is better."))
        assert (signal.value, signal.state) == (-1.0, "contradict")
        assert "Response B is better" in signal.detail

    def test_swapped_labels_are_what_the_judge_saw(self) -> None:
        swapped = judged("B>A", order=("B", "A"), rationale="Assistant A is better. [[A>B]]")
        assert rationale_agreement(swapped).state == "agree"
        named = Item(id="n", question="?", responses={"gpt": "x", "llama": "y"})
        hidden = judged("llama>gpt", item=named, order=("llama", "gpt"), rationale="Assistant A is better.")
        assert rationale_agreement(hidden).state == "agree"

    def test_a_tie_in_the_text_contradicts_a_recorded_winner(self) -> None:
        assert rationale_agreement(judged("A>B", rationale="It is a tie.")).state == "contradict"
        assert rationale_agreement(judged("A=B", rationale="It is a tie.")).state == "agree"

    def test_given_text_verdict_is_used_in_terms_of_response_ids(self) -> None:
        signal = rationale_agreement(judged("A>B", order=("B", "A"), rationale="[[A>B]]", meta={"text_verdict": "A>B"}))
        assert signal.state == "agree"

    @pytest.mark.parametrize("given", ["C>D", "yes", 3, {"A": 1}])
    def test_a_given_text_verdict_that_is_none_is_said_not_guessed_around(self, given: Any) -> None:
        signal = rationale_agreement(judged("A>B", rationale="[[A>B]]", meta={"text_verdict": given}))
        assert (signal.value, signal.state) == (None, "bad_text_verdict")

    @pytest.mark.parametrize(
        ("rationale", "state"),
        [("", "no_rationale"), ("Both fine.", "no_text_verdict"), ("[[A>B]] [[B>A]]", "conflicting")],
    )
    def test_absent_with_a_reason(self, rationale: str, state: str) -> None:
        signal = rationale_agreement(judged("A>B", rationale=rationale))
        assert (signal.value, signal.state) == (None, state)

    def test_no_verdict_and_grades(self) -> None:
        assert rationale_agreement(judged(None, rationale="[[A>B]]")).state == "no_verdict"
        assert rationale_agreement(judged(7, order=("A",), rationale="[[A]]")).state == "grade"

    def test_rankings_go_by_the_first_place(self) -> None:
        own = judged([["B"], ["A", "C"]], item=TRIPLE, rationale="[[B>C>A]]")
        assert rationale_agreement(own).state == "agree"


class TestFormat:
    def test_words_and_explanation(self) -> None:
        assert rationale_words(judged("A>B", rationale="two words")).value == 2
        assert has_explanation(judged("A>B", rationale="w " * 19)).state == "brief"
        assert has_explanation(judged("A>B", rationale="w " * 20)).state == "explained"
        assert has_explanation(judged("A>B")).value is None
        assert rationale_words(judged("A>B", rationale=" \n")).state == "no_rationale"

    def test_length_ratio_is_antisymmetric_and_bears_empty_responses(self) -> None:
        longer, shorter = length_ratio(judged("A>B")), length_ratio(judged("B>A"))
        assert longer.value == pytest.approx(math.log(4 / 2))
        assert shorter.value == pytest.approx(-math.log(4 / 2))
        assert (longer.state, shorter.state) == ("longer", "shorter")
        empty = length_ratio(judged([["C"], ["A", "B"]], item=TRIPLE))
        assert empty.value == pytest.approx(math.log(1 / 2.5))
        assert length_ratio(judged("A=B")).value is None
