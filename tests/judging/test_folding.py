"""Text as a reader sees it, with the place in the original of every character."""

import pytest

from metajudge.judging.folding import fold


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain ASCII", "plain ASCII"),
        ("**Open\u200bAI**\u2019s GPT\u20114", "OpenAI's GPT-4"),
        ("\u0421l\u0430ude", "Claude"),
        ("\u0391lph\u03b1", "Alpha"),
        ("\U0001d402laude", "Claude"),
        ("Cla\u0300ude \u00e9t\u00e9", "Claude ete"),
        ("<b>Clau</b>de `x` \\_y", "Claude x _y"),
        ("<B>Clau</B>de <STRONG>x", "Claude x"),
        ("<div>kept</div>", "<div>kept</div>"),
        ("a\u00a0b\u2028c\u0085d", "a b\nc\nd"),
        ("\u201cx\u201d \u2018y\u2019", "\"x\" 'y'"),
        ("soft\u00adhyphen", "softhyphen"),
        ("\ufb03", "ffi"),
        ("\u901a\u4e49", "\u901a\u4e49"),
        ("", ""),
        ("***", ""),
    ],
)
def test_what_a_reader_sees(text, seen):
    assert fold(text).text == seen


def test_a_character_that_stands_for_very_many_letters_gives_three():
    assert fold("\ufdfa").text == fold("\ufdfa").text[:3]
    assert len(fold("\ufdfa" * 100).text) == 300


@pytest.mark.parametrize(
    "text", ["I am Claude.", "I am **Claude**.", "**I** am Cl\u200baude\u2019s \ufb03 twin", "\u0421l\u0430ude"]
)
def test_every_place_is_that_of_the_original(text):
    folded = fold(text)
    assert len(folded.places) == len(folded.text)
    assert list(folded.places) == sorted(folded.places)
    for seen, place in zip(folded.text, folded.places, strict=True):
        assert seen in fold(text[place]).text
