import random
import re
import time

import pytest

from metajudge.evidence import text_verdict
from metajudge.evidence.text_verdict import NoTextVerdict, TextVerdict, read_text_verdict

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


def test_swapped_order_maps_the_labels_the_judge_saw_back_to_responses() -> None:
    for text in ("[[A>>B]]", "Assistant A is better.", "The first response is better.", '{"winner": "A"}'):
        assert winner(text, SWAPPED) == "B"


def test_last_mention_wins_in_prose() -> None:
    assert winner("Output (a) is better, one may say. No: Output (b) is better.") == "B"
    assert winner("Both outputs are equally correct, but in the end Output (b) is better.") == "B"


def test_a_verdict_far_before_the_end_is_still_found() -> None:
    assert winner("Output (a) is better. " + "It explains each step. " * 200) == "A"


def test_a_mark_outweighs_prose() -> None:
    assert winner("[[B>A]]\nSome would say that Assistant A is better.") == "B"


def test_marks_for_different_winners_are_conflicting_not_the_last_one() -> None:
    found = read_text_verdict("[[A>B]] ... on reflection [[B>A]]", AB)
    assert isinstance(found, NoTextVerdict)
    assert found.state == "conflicting"
    assert "[[A>B]]" in found.detail
    assert "[[B>A]]" in found.detail


def test_marks_that_differ_in_strength_alone_do_not_conflict() -> None:
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


def test_concession_before_a_comma_does_not_hide_the_verdict() -> None:
    assert winner("While Assistant A is better at style, Assistant B is better.") == "B"


def test_labels_of_other_kinds() -> None:
    numbered = (("1", "x"), ("2", "y"))
    assert winner("Response 2 is better.", numbered) == "y"
    assert winner("[[1>2]]", numbered) == "x"
    outputs = (("Output (a)", "x"), ("Output (b)", "y"))
    assert winner("Output (b) is better.", outputs) == "y"
    ranked = (("A0", "m"), ("A1", "n"), ("A2", "o"))
    assert winner("[[A1>A0>A2]]", ranked) == "n"
    assert winner("A2 is the best... no: candidate A0 is the best", ranked) == "m"


def test_c_is_a_tie_only_where_it_is_no_label() -> None:
    assert winner("[[C]]", (("A", "x"), ("B", "y"), ("C", "z"))) == "z"


def test_a_long_text_without_a_verdict_is_read_in_linear_time() -> None:
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
