"""Words of many texts at once: as many as one text at a time has."""

import math
import random

import pytest

from metajudge.evidence import format as module
from metajudge.evidence.format import explanation_signal, word_counts, words_signal
from metajudge.evidence.verdicts import collected
from metajudge.types.judgment import count_words
from tests.doubles.judgments import judgment
from tests.evidence.verdicts import TRIPLE, judged, length_ratio

SPACES = [char for char in map(chr, range(0x3100)) if char.isspace()]


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["", "", "a", "", ""],
        [" leading", "trailing ", " \n ", "two  words"],
        ["é è", "naïve …quotes”", "日本語 テキスト"],
        ["lone \ud800 surrogate", "a b"],
        ["a\x1cb", "a\x00b", "\x85"],
    ],
)
def test_as_many_as_one_text_at_a_time_has(texts):
    assert word_counts(texts) == [count_words(text) for text in texts]


@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_all_white_space_divides_words(space):
    assert word_counts([f"a{space}b", "é…”"]) == [2, 1]


def test_made_texts():
    rng = random.Random(0)
    for _ in range(300):
        texts = ["".join(rng.choices("ab \n\té\u3000…", k=rng.randrange(8))) for _ in range(rng.randrange(6))]
        assert word_counts(texts) == [len(text.split()) for text in texts]


def test_only_white_space_outside_of_ascii_is_counted_one_text_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "count_words", lambda _text: pytest.fail("counted alone"))
    assert word_counts(["“naïve” — …", "日本語 テキスト", "Â â"]) == [3, 2, 2]


def test_facts_have_the_words_of_their_own_rationales():
    judgments = [judgment(id=f"j{n}", rationale="word " * n) for n in range(150)]
    assert collected(judgments).words.tolist() == list(range(150))


class TestFormat:
    def test_words_explanation_and_the_antisymmetric_length_ratio(self) -> None:
        assert words_signal(judged("A>B", rationale="two words").words).value == 2
        assert explanation_signal(19).state == "brief"
        assert explanation_signal(20).state == "explained"
        assert explanation_signal(0).value is None
        assert words_signal(judged("A>B", rationale=" \n").words).state == "no_rationale"
        longer, shorter = length_ratio(judged("A>B")), length_ratio(judged("B>A"))
        assert longer.value == pytest.approx(math.log(4 / 2))
        assert shorter.value == pytest.approx(-math.log(4 / 2))
        assert (longer.state, shorter.state) == ("longer", "shorter")
        empty = length_ratio(judged([["C"], ["A", "B"]], item=TRIPLE))
        assert empty.value == pytest.approx(math.log(1 / 2.5))
        assert length_ratio(judged("A=B")).value is None
