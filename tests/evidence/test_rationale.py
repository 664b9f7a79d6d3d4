from itertools import product
from typing import Any

import pytest

from metajudge.evidence import rationale as module
from metajudge.evidence.rationale import stated_agreement
from metajudge.types import Item
from tests.evidence.verdicts import PAIR, TRIPLE, judged, rationale_agreement


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

    def test_no_verdict(self) -> None:
        assert rationale_agreement(judged(None, rationale="[[A>B]]")).state == "no_verdict"

    @pytest.mark.parametrize(
        ("verdict", "rationale", "state"),
        [
            (7, "Good. Score: 7", "agree"),
            (7, "Rating: **7.0**/10", "agree"),
            (7, "A score of 3 would do, but my score is 6.", "contradict"),
            (7, "[[A]] with 3 mistakes", "no_text_verdict"),
            ("fail", "It errs. Verdict: FAIL", "agree"),
            (False, "The verdict is incorrect.", "agree"),
            ("fail", "Verdict: pass", "contradict"),
            ("fail", "The verdict is hard to give.", "no_text_verdict"),
            ("fail", "", "no_rationale"),
        ],
    )
    def test_grades_and_categories_go_by_the_last_phrase_that_names_one(
        self, verdict: Any, rationale: str, state: str
    ) -> None:
        assert rationale_agreement(judged(verdict, order=("A",), rationale=rationale)).state == state

    def test_a_text_verdict_of_another_kind_is_bad(self) -> None:
        given = judged(7, order=("A",), meta={"text_verdict": "pass"})
        assert rationale_agreement(given).state == "bad_text_verdict"
        assert rationale_agreement(judged(7, order=("A",), meta={"text_verdict": 7})).value == 1.0

    def test_reading_a_long_text_takes_linear_time(self) -> None:
        long = judged(7, order=("A",), rationale="score " * 200_000 + ":" * 200_000)
        assert rationale_agreement(long).state == "no_text_verdict"

    def test_rankings_go_by_the_first_place(self) -> None:
        own = judged([["B"], ["A", "C"]], item=TRIPLE, rationale="[[B>C>A]]")
        assert rationale_agreement(own).state == "agree"


class TestRememberedMarks:
    TEXTS = (
        *("[[A>B]]", "[[ A>B ]]", "[[B>>A]]", "[[tie]]", "[[C]]", "[[A>B]] then [[A>>B]]", "[[A>B]] or [[B>A]]"),
        *(
            "[[1, 2]] and A is better",
            "[[1, 2]]",
            '{"winner": "A"}',
            '{"winner" :\n"B"}',
            '{"winner": "A", "better": "B"}',
        ),
        *(
            '"a" "b" [[A]]',
            '[[A]] {"verdict": "tie"}',
            "é [[A]]",
            "[[é]] Assistant B wins",
            "[[A",
            "]] [[",
            "[A]",
            "[[]]",
        ),
        "[[A" + " " * 300 + "]]",
    )

    def test_are_those_of_the_same_labels_order_and_verdict(self) -> None:
        named = Item(id="n", question="?", responses={"B": "x", "A": "y", "gpt": "z"})
        judgments = [
            judged(verdict, item=item, order=order, labels=labels, rationale=text)
            for text, verdict, order, item, labels in product(
                self.TEXTS,
                ("A>B", "A>>B", "A=B", "B>A", [["B"], ["A"]]),
                (("A", "B"), ("B", "A")),
                (named, PAIR),
                (None, ("B", "A")),
            )
        ]
        alone = []
        for one in judgments:
            module._made_of_marks.cache_clear()
            alone.append(stated_agreement(one))
        for _ in range(2):
            assert [stated_agreement(one) for one in judgments] == alone
        assert {state for _, state, _ in alone} == {"agree", "contradict", "conflicting", "no_text_verdict"}

    def test_long_ones_are_read_and_not_kept(self) -> None:
        module._made_of_marks.cache_clear()
        for text in ("[[A" + " " * 300 + "]]", "[[A]]" * 100):
            assert stated_agreement(judged("A>B", rationale=text))[1] == "agree"
        assert module._made_of_marks.cache_info().currsize == 0
