"""How plainly the words before a name say that it is the author's, and what the sentence around it speaks of."""

import pytest

from metajudge.judging.self_identification import (
    CLAUSE_AFTER,
    HERE_AFTER,
    ME_AFTER,
    NOUN_AFTER,
    RULES_AFTER,
    SIGNED_BEFORE,
    SPEAKER_AFTER,
    SPEAKS_AFTER,
    Cue,
    context_of,
    fold,
)


def cue(text, name="NAME"):
    return context_of(text).cue(text.index(name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am NAME", Cue.SELF),
        ("I'm currently only NAME", Cue.SELF),
        ("my name is NAME", Cue.SELF),
        ("you are NAME, a model", Cue.SELF),
        ("As an AI model called NAME, I", Cue.SELF),
        ("I am a NAME", Cue.SELF_ARTICLE),
        ("I am the NAME", Cue.SELF_ARTICLE),
        ("As NAME, I", Cue.AS),
        ("being NAME", Cue.AS),
        ("This is NAME", Cue.HERE),
        ("I, NAME, say", Cue.COMMA),
        ("trained by NAME", Cue.TRAINED),
        ("it was made by NAME", Cue.BY),
        ("a model from NAME", Cue.BY),
        ("我是NAME", Cue.SELF),
        ("you are at NAME", None),
        ("you are a model on NAME", Cue.SELF),
        ("the answer of NAME", None),
        ("I am sure that nothing here leads up to NAME", None),
        ("Siam NAME", None),
    ],
)
def test_words_before_a_name(text, expected):
    assert cue(text) is expected


def test_the_cue_nearest_to_the_name_counts():
    assert cue("I am sure. It was made by NAME") is Cue.BY
    assert context_of("NAME said that I am OTHER").cue(0) is None


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        (SPEAKS_AFTER, [", I", " my", ", a large", " trained "], [", in", " grew", "ish"]),
        (CLAUSE_AFTER, [".", ",", " )", "", "\n"], [" Monet", "s"]),
        (NOUN_AFTER, [" model", "-based", " family"], [" river", "model", " modelling"]),
        (ME_AFTER, [" trained me", "'s team built us", " has made me"], [" trained it", " made measures"]),
        (RULES_AFTER, ["'s usage policies", " content policy", "' guidelines"], [" ruler", "'s offices"]),
        (SPEAKER_AFTER, [":", " here,", " says:", "]", " speaking"], [" is", " hereby", " said so"]),
        (HERE_AFTER, [" here,", " speaking."], [" here", " hereby"]),
    ],
)
def test_words_after_a_name(pattern, fits, not_fits):
    assert all(pattern.match(text) for text in fits)
    assert not any(pattern.match(text) for text in not_fits)


def test_words_before_a_signature():
    assert all(SIGNED_BEFORE.search(text) for text in ("the end\n- ", "Best regards,\n", "\nby ", ""))
    assert not SIGNED_BEFORE.search("as said ")


# Text as a reader sees it, with the place in the original of every character.
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
