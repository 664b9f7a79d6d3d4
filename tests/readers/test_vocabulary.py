from typing import Any

import pytest

from metajudge.readers.vocabulary import NoVerdict, UnknownValueError, Vocabulary

MODELS = {"A": "gpt-4o", "B": "llama"}


def said(value: Any, ids: tuple[str, ...] = ("A", "B"), models: dict[str, str] | None = None, **values: str) -> str:
    found = Vocabulary(values).read(value, ids, models or {})
    return f"none: {found.reason}" if isinstance(found, NoVerdict) else str(found)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A", "A>B"),
        ("b", "B>A"),
        ("model_a", "A>B"),
        ("Assistant B", "B>A"),
        ("output_2", "B>A"),
        ("response 1", "A>B"),
        ("A>>B", "A>>B"),
        ("[[B>A]]", "B>A"),
        ("A<<B", "B>>A"),
        ("B=A", "B=A"),
        ("tie", "A=B"),
        ("Tie", "A=B"),
        ("TIE", "A=B"),
        ("draw", "A=B"),
        ("tie (bothbad)", "A=B"),
        ("both_bad", "A=B"),
        ("", "none: the verdict is empty"),
        (None, "none: the verdict is empty"),
    ],
)
def test_common_words_are_understood(value: Any, expected: str) -> None:
    assert said(value) == expected


@pytest.mark.parametrize("value", ["C", "0.5", 0.5, 1, "1", 0, -1, "gpt-4o", "A>C", "A>A", "better", True, "N/A"])
def test_what_might_mean_several_things_is_not_guessed(value: Any) -> None:
    with pytest.raises(UnknownValueError, match="is no verdict here: known are A, B, A>B or tie"):
        said(value)


def test_a_models_name_stands_for_its_response_and_never_for_two() -> None:
    assert said("gpt-4o", models=MODELS) == "A>B"
    assert said("llama", models=MODELS) == "B>A"
    with pytest.raises(UnknownValueError, match="wrote several of the responses"):
        said("gpt-4o", models={"A": "gpt-4o", "B": "gpt-4o"})


def test_what_the_user_says_goes_first_whatever_the_spelling() -> None:
    values = {"C": "tie", "0.5": "A=B", "1": "A", "2": "B>>A", "error": "none", "A": "B"}
    words = Vocabulary(values)
    read = [str(words.read(value, ("A", "B"), {})) for value in ("c", 0.5, 1.0, "2", "A")]
    assert read == ["A=B", "A=B", "A>B", "B>>A", "B>A"]
    assert words.read("ERROR", ("A", "B"), {}) == NoVerdict("the judge said 'ERROR', which stands for no verdict")
    with pytest.raises(UnknownValueError):
        Vocabulary({"x": "nonsense"}).read("x", ("A", "B"), {})


def test_numbers_are_grades_of_a_single_response() -> None:
    assert [said(value, ("A",)) for value in (7, "7.5", 0, "-1e-1")] == ["7", "7.5", "0", "-0.1"]
    assert said("pass", ("A",), **{"pass": "1"}) == "1"
    with pytest.raises(UnknownValueError, match="known are a number"):
        said("correct", ("A",))


def test_rankings_of_three_and_a_winner_over_the_rest() -> None:
    ids = ("A", "B", "C")
    assert said("C", ids) == "C > A = B"
    assert said("B > A = C", ids) == "B > A = C"
    assert said('[["B"], ["A", "C"]]', ids) == "B > A = C"
    assert said([["B"], ["A", "C"]], ids) == "B > A = C"
    assert said("tie", ids) == "A = B = C"


def test_ids_that_differ_in_case_alone_are_not_mixed_up() -> None:
    assert said("m", ("m", "M")) == "m>M"
    assert said("M", ("m", "M")) == "M>m"


@pytest.mark.parametrize("value", ["Left", "left", " LEFT ", "lEFT"])
def test_values_match_whatever_their_case(value):
    for values in ({"left": "A"}, {"LEFT ": "A"}, {"Left": "A", "left": "A"}):
        assert str(Vocabulary(values).read(value, ("A", "B"), {})) == "A>B"
    assert str(Vocabulary({}).read(value, ("A", "B"), {"A": "Left", "B": "Right"})) == "A>B"


def test_values_that_differ_in_case_alone_keep_their_own_meanings():
    both = Vocabulary({"m": "A", "M": "B", "x": "tie"})
    assert [str(both.read(value, ("A", "B"), {})) for value in ("m", "M", "X")] == ["A>B", "B>A", "A=B"]
    models = {"A": "gpt", "B": "GPT"}
    assert str(Vocabulary({}).read("GPT", ("A", "B"), models)) == "B>A"
    with pytest.raises(UnknownValueError, match="several"):
        Vocabulary({}).read("Gpt", ("A", "B"), models)


@pytest.mark.parametrize("value", ["[" * 5_000, "output_" + "1" * 5_000, "a>" * 100_000])
def test_hostile_values_mean_nothing_and_end(value):
    with pytest.raises(UnknownValueError):
        Vocabulary({}).read(value, ("A", "B"), {})
