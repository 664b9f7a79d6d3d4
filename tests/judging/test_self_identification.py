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
