from typing import Any

import numpy as np
import pytest

from metajudge.evidence.games import games_of
from metajudge.evidence.verdicts import collected as facts_of
from metajudge.types import Item, Judgment, parse_right, parse_verdict
from tests.evidence.verdicts import TRIPLE, Said, beside, judged, said


class TestPeers:
    def test_mean_voice_over_both_orders_without_the_judge_itself(self) -> None:
        recorded = [said("owl", "AB", "A>>B"), said("owl", "BA", "A>>B")]
        recorded += [said("emu", "AB", "A>>B"), said("emu", "BA", "A>B")]
        recorded += [said("jay", "AB", "B>A"), said("jay", "BA", None)]
        found = beside(judged("A>B"), recorded).peers
        assert found.value == pytest.approx((0.75 - 0.5) / 2)
        assert (found.supporting, found.opposing, found.undecided, found.peers) == (1, 1, 0, 2)
        assert found.state == "for"

    def test_peers_are_counted_relative_to_the_verdict_one_voice_each_and_none_by_position(self) -> None:
        recorded = [said("emu", "AB", "A>B"), said("jay", "BA", "A>>B")]
        assert beside(judged("A>B"), recorded).peers.state == "unanimous_for"
        against = beside(judged("B>A"), recorded).peers
        assert (against.value, against.state) == (-0.75, "unanimous_against")
        found = beside(judged("A>B"), [said("emu", "AB", "A>>B"), said("emu", "BA", "B>>A")]).peers
        assert (found.value, found.state, found.undecided) == (0, "balanced", 1)
        recorded = [said("emu", "AB", "A>>B")] * 10 + [said("jay", "AB", "B>>A")]
        assert beside(judged("A>B"), recorded).peers.value == 0
        assert beside(judged("A>B"), [said("emu", "AB", "A>B")]).peers.state == "for"

    @pytest.mark.parametrize(("verdict", "state"), [("A=B", "own_tied"), (None, "no_verdict"), ("A>B", "no_peers")])
    def test_absence_is_never_zero(self, verdict: Any, state: str) -> None:
        recorded = [said("owl", "BA", "A>B"), said("emu", "AB", None)]
        signal = beside(judged(verdict), recorded).peers.signal()
        assert (signal.value, signal.state) == (None, state)

    def test_neither_relabelling_nor_the_order_of_the_lines_changes_anything(self) -> None:
        recorded = [said("emu", "AB", "A>>B"), said("jay", "AB", "A=B"), said("kea", "BA", "B>A")]
        swap = {"A": "B", "B": "A"}
        mirrored = [
            Said(r.judge, tuple(swap[x] for x in r.order), r.verdict.relabelled(swap))
            for r in recorded
            if r.verdict is not None
        ]
        assert beside(judged("A>B"), recorded).peers == beside(judged("B>A"), mirrored).peers
        recorded = [said(f"j{i}", "AB", v) for i, v in enumerate(("A>>B", "B>A", "A>B", "A=B", "B>>A", "A>B", "A>B"))]
        assert beside(judged("A>B"), recorded).peers == beside(judged("A>B"), recorded[::-1]).peers


class TestOtherKinds:
    """Rankings, grades and categories: agreement by the rule, one vote a judge, one undecided vote counted in."""

    FIRST = (("A",), ("B",), ("C",))

    def ranked(self, *groups: tuple[str, ...], judge: str = "owl") -> Any:
        return judged([list(group) for group in groups], item=TRIPLE, judge=judge)

    def test_a_ranking_is_supported_by_the_same_first_place_almost_fully_when_unanimous(self) -> None:
        recorded = [said(f"j{n}", "ABC", [["A"], ["B"], ["C"]]) for n in range(8)]
        found = beside(self.ranked(*self.FIRST), recorded).peers
        assert found.value == pytest.approx(8 / 9)
        assert (found.state, found.most) == ("unanimous_for", pytest.approx(8 / 9))
        recorded = [
            said("emu", "ABC", [["A"], ["C"], ["B"]]),
            said("jay", "CBA", [["B"], ["A"], ["C"]]),
            said("kea", "ABC", [["A", "B"], ["C"]]),
        ]
        found = beside(self.ranked(*self.FIRST), recorded).peers
        assert (found.supporting, found.opposing, found.undecided, found.value) == (1, 1, 1, 0)
        strict = beside(self.ranked(*self.FIRST), recorded, rule=parse_right("kendall>=1")).peers
        assert (strict.supporting, strict.opposing) == (0, 3)

    def test_grades_and_categories_are_compared_by_the_rule_on_the_same_response_if_others_are_there(self) -> None:
        recorded = [said("emu", "A", 4), said("jay", "A", 4.5), said("kea", "B", 4)]
        own = judged(4, order=("A",))
        equal = beside(own, recorded, rule=parse_right("equal")).peers
        assert (equal.supporting, equal.opposing, equal.value) == (1, 1, 0)
        near = beside(own, recorded, rule=parse_right("within:0.5")).peers
        assert (near.state, near.value) == ("unanimous_for", pytest.approx(2 / 3))
        own = judged("pass", order=("A",))
        found = beside(own, [said("emu", "A", True), said("jay", "A", "fail")]).peers
        assert (found.supporting, found.opposing) == (1, 1)
        found = beside(judged(4, order=("A",)), [said("owl", "A", 4), said("emu", "B", 4)]).peers
        assert (found.value, found.state, found.detail) == (None, "no_peers", "no other judge graded this response")

    def test_other_prompts_are_no_peers_except_on_pairs_and_rules_of_other_kinds_change_no_pair(self) -> None:
        recorded = [said("owl/2", "A", 4), said("emu", "A", 4)]
        assert beside(judged(4, order=("A",)), recorded, variants={"owl/2"}).peers.peers == 1
        pairs = [said("owl/2", "AB", "A>B"), said("emu", "AB", "A>B")]
        assert beside(judged("A>B"), pairs, variants={"owl/2"}).peers.peers == 2
        recorded = [said("emu", "AB", "A>>B"), said("jay", "BA", "A=B")]
        assert beside(judged("A>B"), recorded, rule=parse_right("equal")).peers == beside(judged("A>B"), recorded).peers


# All verdicts as one array: who preferred which response of which pair, in which order.
PAIR = {"A": "one", "B": "two"}


def games_judged(judge, order, verdict, item="q1", responses=PAIR, **more):
    made = Item(id=item, question="?", responses=responses)
    reason = {"no_verdict": "cut"} if verdict is None else {}
    found = None if verdict is None else parse_verdict(verdict)
    return Judgment(
        id=f"{item}/{judge}/{''.join(order)}", item=made, judge=judge, verdict=found, order=order, **reason, **more
    )


def collected(*judgments, rows=True):
    chosen = [at for at, one in enumerate(judgments) if rows and one.verdict is not None and one.verdict.winner]
    return games_of(facts_of(judgments, texts=False), np.array(chosen, dtype=np.intp), lambda judge: judge[0])


def test_strengths_are_signed_in_the_frame_of_the_pair_and_by_order():
    games, _ = collected(
        games_judged("owl", ("A", "B"), "A>>B"),
        games_judged("owl", ("B", "A"), "B>A"),
        games_judged("emu", ("A", "B"), "A=B"),
    )
    assert (games.judges, games.kin) == (("emu", "owl"), ("e", "o"))
    assert games.strength[0].tolist() == [[0, 0], [2, -1]]
    assert games.given[0].tolist() == [[True, False], [True, True]]
    assert games.asked[0].tolist() == [[True, False], [True, True]]


def test_a_verdict_that_was_not_given_was_asked_for_and_repeated_games_are_their_mean():
    games, _ = collected(games_judged("owl", ("A", "B"), None), games_judged("emu", ("A", "B"), "A>B"))
    assert games.asked[0].tolist() == [[True, False], [True, False]]
    assert games.given[0].tolist() == [[True, False], [False, False]]
    assert games.strength[0, 1].tolist() == [0, 0]
    games, _ = collected(games_judged("owl", ("A", "B"), "A>>B"), games_judged("owl", ("A", "B"), "B>A"))
    assert games.strength[0, 0].tolist() == [0.5, 0]


def test_rows_say_where_their_verdict_stands():
    _, rows = collected(
        games_judged("owl", ("A", "B"), "A>B"),
        games_judged("emu", ("B", "A"), "B>>A"),
        games_judged("emu", ("B", "A"), "A>B", item="q2"),
    )
    assert len(rows) == 3
    assert rows.pair.tolist() == [0, 0, 1]
    assert rows.judge.tolist() == [1, 0, 0]
    assert rows.order.tolist() == [0, 1, 1]
    assert rows.sign.tolist() == [1, -1, 1]
    assert rows.level.tolist() == [1, 2, 1]
    chosen = rows.select(rows.sign > 0)
    assert (len(chosen), chosen.pair.tolist(), chosen.level.tolist()) == (2, [0, 1], [1, 1])


def test_judges_that_met_at_a_pair_share_it_under_the_model_of_the_reader_or_the_judge():
    games, _ = collected(
        games_judged("owl", ("A", "B"), "A>B"),
        games_judged("emu", ("B", "A"), None),
        games_judged("jay", ("A", "B"), "A>B", item="q2"),
    )
    assert games.judges == ("emu", "jay", "owl")
    assert games.shared.tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    games, _ = collected(
        games_judged("owl/cot", ("A", "B"), "A>B", meta={"judge_model": "owl"}),
        games_judged("emu", ("A", "B"), "A>B", meta={"judge_model": ""}),
        games_judged("jay", ("A", "B"), "A>B", meta={"judge_model": 3}),
    )
    assert dict(zip(games.judges, games.models, strict=True)) == {"emu": "emu", "jay": "jay", "owl/cot": "owl"}


def test_rankings_count_for_the_pairs_that_others_compare():
    three = {"A": "a", "B": "b", "C": "c"}
    games, _ = collected(
        games_judged("owl", ("A", "B"), "A>B", responses=three),
        games_judged("emu", ("C", "B", "A"), [["B"], ["C"], ["A"]], responses=three),
        games_judged("jay", ("A", "C"), "A>C", responses=three),
        rows=False,
    )
    assert len(games.strength) == 2
    assert games.strength[0, games.judges.index("emu")].tolist() == [0, -1]
    assert games.strength[1, games.judges.index("emu")].tolist() == [0, -1]
    assert games.asked[0, games.judges.index("jay")].tolist() == [False, False]
