import random
import re
import time
from itertools import product
from typing import Any

import pytest

from metajudge.evidence import rationale as module
from metajudge.evidence import text_verdict
from metajudge.evidence.rationale import stated_agreement
from metajudge.evidence.text_verdict import NoTextVerdict, TextVerdict, read_favoured, read_text_verdict
from metajudge.judging.judges import PairwiseJudge
from metajudge.judging.records import combined_judgment, judgment_of
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Item
from tests.doubles.judging import item, verdict
from tests.doubles.judgments import judgment
from tests.evidence.verdicts import PAIR, TRIPLE, judged, rationale_agreement

AB = (("A", "A"), ("B", "B"))
SWAPPED = (("A", "B"), ("B", "A"))


def winner(text: str, shown: tuple[tuple[str, str], ...] = AB) -> str | None:
    found = read_text_verdict(text, shown)
    assert isinstance(found, TextVerdict), found
    return found.winner


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My final verdict is: [[A>>B]]", "A"),
        ("[[B>A]]", "B"),
        ("[[A<B]]", "B"),
        ("[[A=B]]", None),
        ("Final verdict: [[B]]", "B"),
        ("[[C]]", None),
        ("[[Tie]]", None),
        ("[[Assistant B]]", "B"),
        ('Reasons.\n{"reason": "shorter", "winner": "B"}', "B"),
        ('{"winner": "Response A"}', "A"),
        ('{"verdict": "A>B"}', "A"),
        ("Therefore, Output (a) is better.", "A"),
        ("Therefore, Output (b) is much better.", "B"),
        ("Assistant A is significantly better.", "A"),
        ("**Response B** is the better one.", "B"),
        ("Assistant B is the clear winner", "B"),
        ("All in all, the winner is A.", "A"),
        ("Winner: **Response B**", "B"),
        ("The better response is Response A.", "A"),
        ("I would choose Response B.", "B"),
        ("So I prefer the second response.", "B"),
        ("The first answer is better than the second answer.", "A"),
        ("Response B wins.", "B"),
        ("Overall, it is a tie.", None),
        ("I consider this a tie", None),
        ("Both outputs are equally good.", None),
        ("Final verdict: A>B", "A"),
        ("Reasons above.\nB>>A\n", "B"),
        ("B is better.", "B"),
        ("Output (a)", "A"),
        ("B", "B"),
        ("Both follow the instruction.\n\n**Output (b)**.\n", "B"),
        ("I would say that Output (a) is better.", "A"),
        ("The best response is Response B.", "B"),
    ],
)
def test_known_forms(text: str, expected: str | None) -> None:
    assert winner(text) == expected


def test_labels_map_back_and_the_last_mention_or_a_mark_wins_unless_marks_conflict() -> None:
    for text in ("[[A>>B]]", "Assistant A is better.", "The first response is better.", '{"winner": "A"}'):
        assert winner(text, SWAPPED) == "B"
    assert winner("Output (a) is better, one may say. No: Output (b) is better.") == "B"
    assert winner("Both outputs are equally correct, but in the end Output (b) is better.") == "B"
    assert winner("Output (a) is better. " + "It explains each step. " * 200) == "A"
    assert winner("[[B>A]]\nSome would say that Assistant A is better.") == "B"
    found = read_text_verdict("[[A>B]] ... on reflection [[B>A]]", AB)
    assert isinstance(found, NoTextVerdict)
    assert found.state == "conflicting"
    assert "[[A>B]]" in found.detail
    assert "[[B>A]]" in found.detail
    assert winner("[[A>B]] rather [[A>>B]]") == "A"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Both have merits.",
        "Output (a) is not better.",
        "I do not think Assistant A is better.",
        "Although Assistant A is better written",
        "Assistant A is better organized.",
        "Assistant A is hardly better.",
        "If Response A is better we shall see.",
        "The matrix [[1, 2], [3, 4]] and the sum [[12]].",
        "The winner is a close call.",
        "In the exercise x = A>B holds for all sets of the family.",
        "Assistant C is better.",
        "[[D>E]]",
        "the best answer is (B), so both are wrong",
        "The third response is better.",
        "The question has these options.\nB",
        "a",
    ],
)
def test_no_verdict_is_read_out_of_other_words(text: str) -> None:
    found = read_text_verdict(text, AB)
    assert isinstance(found, NoTextVerdict), found
    assert found.state == "no_text_verdict"


def test_a_concession_hides_no_verdict_and_a_long_text_without_one_takes_linear_time() -> None:
    assert winner("While Assistant A is better at style, Assistant B is better.") == "B"
    numbered = (("1", "x"), ("2", "y"))
    assert winner("Response 2 is better.", numbered) == "y"
    assert winner("[[1>2]]", numbered) == "x"
    outputs = (("Output (a)", "x"), ("Output (b)", "y"))
    assert winner("Output (b) is better.", outputs) == "y"
    ranked = (("A0", "m"), ("A1", "n"), ("A2", "o"))
    assert winner("[[A1>A0>A2]]", ranked) == "n"
    assert winner("A2 is the best... no: candidate A0 is the best", ranked) == "m"
    assert winner("[[C]]", (("A", "x"), ("B", "y"), ("C", "z"))) == "z"
    for unit in ("A>B ", "[[[[", "Assistant A is ", "the winner " + " " * 50, "((((", "lorem ipsum "):
        text = unit * (200_000 // len(unit))
        start = time.process_time()
        read_text_verdict(text, AB)
        assert time.process_time() - start < 2


class TestLinearPatternsReadWhatTheQuadraticOnesRead:
    """The patterns that were replaced, beside what stands in their place, on random short texts."""

    MARK = re.compile(r"\[\[\s*([^\[\]]{1,80}?)\s*\]\]")
    CHAIN = r"(?:(?i:assistant|answer)\s+)?(?:{labels})"
    COMPARISON = r"(?<![\w>=<]){chain}(?:\s*(?:>>|<<|>|<|=)\s*{chain})+(?![\w>=<])"

    @staticmethod
    def texts(parts: list[str], count: int) -> list[str]:
        draw = random.Random(7)
        return ["".join(draw.choices(parts, k=draw.randint(1, 14))) for _ in range(count)]

    def test_marks(self) -> None:
        found = 0
        for text in self.texts(
            ["[", "]", "[[", "]]", " ", "\n", "\u2003", "A", "B", ">", "=", "tie", "x" * 79, "C"], 40_000
        ):
            old = [(one[0], one[1].strip()) for one in self.MARK.finditer(text)]
            new = [(mark, text_verdict._content(mark)) for mark in text_verdict.marks_in(text)]
            assert [(mark, said) for mark, said in new if len(said) <= 80] == old, text
            found += len(old)
        assert found > 1_000

    @pytest.mark.parametrize("labels", [("A", "B"), ("A", "AB"), ("m", "M")])
    def test_chains(self, labels: tuple[str, str]) -> None:
        chain = self.CHAIN.format(labels="|".join(sorted(labels, key=len, reverse=True)))
        comparison = re.compile(self.COMPARISON.format(chain=chain))
        forms = text_verdict._forms(tuple((label, label) for label in labels))
        found = 0
        for text in self.texts([*labels, *labels, " ", "  ", ">", ">>", "=", "<", "\n", ".", "x", "Answer "], 40_000):
            old = [one.span() for one in comparison.finditer(text)]
            assert list(text_verdict._chains(text, 0, forms)) == old, text
            found += len(old)
        assert found > 1_000


class TestRationale:
    def test_texts_agree_with_or_contradict_the_verdict_in_the_labels_that_the_judge_saw(self) -> None:
        assert rationale_agreement(judged("A>B", rationale="... [[A>>B]]")).state == "agree"
        signal = rationale_agreement(judged("A>B", rationale="So Response B is better."))
        assert (signal.value, signal.state) == (-1.0, "contradict")
        assert "Response B is better" in signal.detail
        swapped = judged("B>A", order=("B", "A"), rationale="Assistant A is better. [[A>B]]")
        assert rationale_agreement(swapped).state == "agree"
        named = Item(id="n", question="?", responses={"gpt": "x", "llama": "y"})
        hidden = judged("llama>gpt", item=named, order=("llama", "gpt"), rationale="Assistant A is better.")
        assert rationale_agreement(hidden).state == "agree"
        assert rationale_agreement(judged("A>B", rationale="It is a tie.")).state == "contradict"
        assert rationale_agreement(judged("A=B", rationale="It is a tie.")).state == "agree"
        signal = rationale_agreement(judged("A>B", order=("B", "A"), rationale="[[A>B]]", meta={"text_verdict": "A>B"}))
        assert signal.state == "agree"

    @pytest.mark.parametrize(
        ("verdict", "rationale", "meta", "state"),
        [
            *(("A>B", "[[A>B]]", {"text_verdict": one}, "bad_text_verdict") for one in ("C>D", "yes", 3, {"A": 1})),
            ("A>B", "", {}, "no_rationale"),
            ("A>B", "Both fine.", {}, "no_text_verdict"),
            ("A>B", "[[A>B]] [[B>A]]", {}, "conflicting"),
            (None, "[[A>B]]", {}, "no_verdict"),
        ],
    )
    def test_absent_with_a_reason_and_not_guessed_around(self, verdict, rationale, meta, state) -> None:
        signal = rationale_agreement(judged(verdict, rationale=rationale, meta=meta))
        assert (signal.value, signal.state) == (None, state)

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

    def test_text_verdicts_of_another_kind_of_rankings_and_of_long_texts_in_linear_time(self) -> None:
        given = judged(7, order=("A",), meta={"text_verdict": "pass"})
        assert rationale_agreement(given).state == "bad_text_verdict"
        assert rationale_agreement(judged(7, order=("A",), meta={"text_verdict": 7})).value == 1.0
        long = judged(7, order=("A",), rationale="score " * 200_000 + ":" * 200_000)
        assert rationale_agreement(long).state == "no_text_verdict"
        own = judged([["B"], ["A", "C"]], item=TRIPLE, rationale="[[B>C>A]]")
        assert rationale_agreement(own).state == "agree"


class TestRememberedMarks:
    TEXTS = (
        *("[[A>B]]", "[[ A>B ]]", "[[B>>A]]", "[[tie]]", "[[C]]", "[[A>B]] then [[A>>B]]", "[[A>B]] or [[B>A]]"),
        *("[[1, 2]] and A is better", "[[1, 2]]", "é [[A]]", "[[é]] Assistant B wins", "[[A", "]] [[", "[A]", "[[]]"),
        *('{"winner": "A"}', '{"winner" :\n"B"}', '{"winner": "A", "better": "B"}', '"a" "b" [[A]]'),
        '[[A]] {"verdict": "tie"}',
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


# The last sentences of a reasoning that ends without a mark.
AB_ITEM = (("A", "first"), ("B", "second"))


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("My answer is 4. Response A is correct, while response B makes an error.", "first"),
        ("Therefore, response B's answer is more accurate and helpful.", "second"),
        ("Response B provides a more precise solution than response A.", "second"),
        ("I find response A's explanation superior.", "first"),
        ("Response B gives the right answer, and response A gives a wrong one.", "second"),
        ("Response A outperforms response B. This matters to the person.", "first"),
        ("Only the sum counts here.\nResponse B is stronger than response A.", "second"),
    ],
)
def test_the_favoured_response_is_read(text, winner):
    assert read_favoured(text, AB_ITEM).winner == winner
    swapped = text.translate(str.maketrans("AB", "BA")).replace("Bn ", "An ")
    assert read_favoured(swapped, AB_ITEM).winner == {"first": "second", "second": "first"}[winner]


@pytest.mark.parametrize(
    "text",
    [
        "Response A is more detailed, but response B is concise.",
        "Response A is not more accurate.",
        "I do not find response A more helpful.",
        "Both response A and response B are more accurate than expected.",
        "Response A is correct. Response B is correct.",
        "Response A is more accurate, response B is more helpful.",
        "Response A is correct.",
        "Response A makes the more relevant mistake.",
        "Response A says that response B's sum is incorrect, and it is correct.",
        "Response A is more accurate and complete because it",  # breaks off
        "Response A is more accurate. Response B adds a table.",
        "Response B is better organised.",
        "The more accurate one is hard to name.",
        "Compared with response A, much is missing.",
    ],
)
def test_what_names_no_single_winner_is_left_open(text):
    assert read_favoured(text, AB_ITEM) is None


def test_an_implicit_verdict_is_none_to_be_recorded_and_a_fixed_form_goes_first():
    assert isinstance(read_text_verdict("Response A is more accurate than response B.", AB_ITEM), NoTextVerdict)
    text = "The winner is response A. Response B is more accurate."
    assert rationale_agreement(judgment(rationale=text)).state == "agree"


@pytest.mark.parametrize(("mark", "state"), [("A>B", "agree"), ("B>>A", "contradict"), ("A=B", "contradict")])
async def test_the_signal_speaks_for_our_own_judges_output(mark, state):
    said = verdict(mark, "2 + 2 is 4. Response A says so; it is correct, while response B is wrong.")
    game = await PairwiseJudge("owl", ScriptedModel([said])).compare(item(), ("A", "B"))
    assert rationale_agreement(judgment_of(game)).state == state


async def test_the_texts_of_two_games_have_no_one_label_for_a_response():
    said = [verdict(mark, f"Response {mark[0]} is more accurate.") for mark in ("A>B", "B>A")]
    judge = PairwiseJudge("owl", ScriptedModel(said))
    games = [await judge.compare(item(), order) for order in (("A", "B"), ("B", "A"))]
    assert rationale_agreement(combined_judgment(games, "agree")).state == "no_text_verdict"
