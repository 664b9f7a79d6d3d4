from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.evidence.columns import SIGNALS, STABILITY
from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.types import Item, Judgment, parse_right


def judgment(name: str, judge: str, verdict: Any, order: str = "AB", **item: Any) -> Judgment:
    content = {"id": "q", "question": "?", "responses": {"A": "x", "B": "y"}, **item}
    reason = {"no_verdict": "cut off"} if verdict is None else {}
    return Judgment(id=name, item=Item(**content), judge=judge, verdict=verdict, order=tuple(order), **reason)


FOUR = [
    judgment("1", "owl", "A>B"),
    judgment("2", "owl", "A>>B", "BA"),
    judgment("3", "emu", "A>B"),
    judgment("4", "jay", None),
]


def test_signals_come_in_a_fixed_order() -> None:
    index = EvidenceIndex.build(iter(FOUR))
    signals = index.signals(FOUR[0])
    assert tuple(signals) == SIGNALS
    assert signals["order"].state == "agree"
    assert signals["peers"].value == 0.5
    assert len(index) == 1


def test_a_judgment_outside_the_index_has_evidence_too() -> None:
    index = EvidenceIndex.build(FOUR)
    assert index.signals(judgment("9", "new", "B>A"))["peers"].state == "unanimous_against"
    assert index.signals(judgment("9", "new", "B>A", id="unknown"))["peers"].state == "no_peers"


def test_indexing_a_record_twice_changes_no_signal() -> None:
    once, twice = EvidenceIndex.build(FOUR), EvidenceIndex.build(FOUR + FOUR)
    for one in FOUR:
        for name, signal in once.signals(one).items():
            assert twice.signals(one)[name].value == signal.value


def test_one_item_id_with_two_contents_is_an_error_naming_both() -> None:
    with pytest.raises(InputError, match=r"'q' has two different contents: in judgment '1' and in judgment '5'"):
        EvidenceIndex.build([*FOUR, judgment("5", "emu", "A>B", question="another?")])
    with pytest.raises(InputError, match="two different contents"):
        EvidenceIndex.build(FOUR).signals(judgment("5", "emu", "A>B", question="another?"))


def test_what_is_added_later_counts() -> None:
    index = EvidenceIndex.build(FOUR)
    assert index.peers(FOUR[2]).value == 0.75
    index.add(judgment("5", "kea", "B>>A"))
    assert index.peers(FOUR[2]).value == (0.75 - 1) / 2
    assert index.peers(judgment("9", "new", "A>>B")).peers == 3


class TestOtherKinds:
    def graded(self, name: str, judge: str, verdict: Any, shown: str = "A", model: str | None = None) -> Judgment:
        meta = {} if model is None else {"judge_model": model}
        return judgment(name, judge, verdict, shown).model_copy(update={"meta": meta})

    def test_pairs_have_the_signals_they_always_had(self) -> None:
        assert tuple(EvidenceIndex.build(FOUR).signals(FOUR[0])) == SIGNALS

    def test_grades_have_stability_beside_them(self) -> None:
        given = [
            self.graded("1", "gpt/one", 4, model="gpt"),
            self.graded("2", "gpt/two", 5, model="gpt"),
            self.graded("3", "gpt/one", 4, model="gpt"),
            self.graded("4", "owl", 4),
            self.graded("5", "emu", 4, shown="B"),
        ]
        signals = EvidenceIndex.build(given).signals(given[0])
        assert tuple(signals) == (*SIGNALS, *STABILITY)
        assert (signals["repeats"].value, signals["variants"].value) == (1.0, -1.0)
        assert (signals["peers"].value, signals["peers"].state) == (0.5, "for")
        assert {signals[name].state for name in ("order", "strength")} == {"grade"}
        assert signals["rationale"].state == "no_rationale"

    def test_the_rule_is_the_one_given(self) -> None:
        given = [self.graded("1", "owl", 4), self.graded("2", "emu", 5), self.graded("3", "jay", 4)]
        assert EvidenceIndex.build(given).peers(given[0]).opposing == 1
        assert EvidenceIndex.build(given, parse_right("within:1")).peers(given[0]).opposing == 0
        assert EvidenceIndex.build(given, parse_right("top1")).peers(given[0]).opposing == 1

    def test_nine_identical_rankings_can_be_kept_and_eight_against_one_cannot(self) -> None:
        item = Item(id="t", question="?", responses={"A": "a", "B": "b", "C": "c"})
        ranks: list[Any] = [[["A"], ["B"], ["C"]]] * 9 + [[["C"], ["B"], ["A"]]]
        given = [Judgment(id=str(n), item=item, judge=f"j{n}", verdict=rank) for n, rank in enumerate(ranks)]
        nine = EvidenceIndex.build(given[:9])
        assert all((signal_score(nine.signals(one)).value or 0) > 4.5 for one in given[:9])
        ten = EvidenceIndex.build(given)
        assert (signal_score(ten.signals(given[9])).value or 5) < 2
