import pytest

from metajudge.readers.lines import BadLine
from metajudge.readers.recorded_games import (
    GameOrder,
    check_label,
    game_verdict,
    shown_order,
    stated_marks,
    turned_back,
)
from metajudge.types import Item, Pairwise


@pytest.mark.parametrize(
    ("mark", "order", "expected"),
    [
        ("A>B", "AB", "A>B"),
        ("A>B", "BA", "B>A"),
        ("B>>A", "AB", "B>>A"),
        ("B>>A", "BA", "A>>B"),
        (" A >> B ", "BA", "B>>A"),
        ("A=B", "AB", "A=B"),
        ("B=A", "BA", "A=B"),
    ],
)
def test_swapped_order_is_turned_back_to_response_ids(mark: str, order: GameOrder, expected: str) -> None:
    assert str(turned_back(mark, order)) == expected


@pytest.mark.parametrize("mark", ["A>A", "A>>A", "B=B", "A<B", "A>C", "", "A>B>A", "a>b"])
def test_what_is_no_mark_is_none_and_never_guessed(mark: str) -> None:
    assert turned_back(mark, "AB") is None


def test_shown_order() -> None:
    assert shown_order("AB") == ("A", "B")
    assert shown_order("BA") == ("B", "A")


def test_stated_marks_are_the_different_ones_in_brackets() -> None:
    assert stated_marks("A>B? [[A>>B]] then [[ B > A ]] and [[A>>B]]") == ("A>>B", "B>A")
    assert stated_marks("A>B, [A>B]") == ()


def test_the_strength_comes_from_the_mark() -> None:
    assert game_verdict("A>B", "A>>B", "", "BA").verdict == Pairwise("B", "A", 2)
    assert game_verdict("A>B", None, "", "BA").verdict == Pairwise("B", "A", 1)


def test_a_contradicting_mark_does_not_overrule_the_decision() -> None:
    assert game_verdict("A>B", "B>>A", "", "AB").verdict == Pairwise("A", "B", 1)
    assert game_verdict("A=B", "B>>A", "", "AB").verdict == Pairwise("A", "B", 0)
    assert game_verdict("A>B", "A=B", "", "AB").verdict == Pairwise("A", "B", 1)


@pytest.mark.parametrize(
    ("decision", "mark", "text", "expected"),
    [
        (None, None, " \n", "the judge's answer is empty"),
        (None, None, "Both are fine.", "the judge's answer holds no verdict"),
        (None, None, "[[A>B]] or [[B>A]]", "several different verdicts (A>B, B>A, as shown)"),
        (None, "A>>A", "[[A>>A]]", "compared a response with itself (A>>A, as shown)"),
        (None, None, "[[A>>A]]", "compared a response with itself"),
        (None, None, "[[A>B]]", "no verdict was recorded"),
        ("A>A", None, "", "compared a response with itself (A>A, as shown)"),
        ("A<B", None, "", "the recorded verdict 'A<B' is none of"),
    ],
)
def test_no_verdict_says_why(decision: str | None, mark: str | None, text: str, expected: str) -> None:
    outcome = game_verdict(decision, mark, text, "AB")
    assert outcome.verdict is None
    assert expected in (outcome.no_verdict or "")


def test_a_label_recorded_in_the_wrong_order_is_noticed() -> None:
    item = Item.model_validate({"id": "q", "question": "", "responses": {"A": "", "B": ""}, "label": "A>B"})
    check_label("A>B", "AB", item)
    check_label("B>A", "BA", item)
    check_label(None, "BA", item)
    with pytest.raises(BadLine, match=r"label 'A>B' in the order shown \(BA\) contradicts the item's label 'A>B'"):
        check_label("A>B", "BA", item)
