import pytest

from metajudge.reviewables.labels import by_label, by_name, in_reviewers_words, labels_for, shown_order


def test_labels_belong_to_the_item_and_orders_to_the_reviewer():
    drawn = {tuple(labels_for("AB", f"item {n}").items()) for n in range(20)}
    assert drawn == {(("R1", "A"), ("R2", "B")), (("R1", "B"), ("R2", "A"))}
    assert labels_for("BA", "item") == labels_for("AB", "item")
    first = [shown_order({"R1": "A", "R2": "B"}, "r", f"p{n}")[0] for n in range(400)]
    assert 150 < first.count("R1") < 250
    assert shown_order({"R1": "A", "R2": "B"}, "r", None) == ["R1", "R2"]


def test_a_response_called_like_a_label_takes_no_label_away():
    assert set(labels_for(["R1", "R2"], "x")) == {"S1", "S2"}


LABELS = {"R1": "b", "R2": "a", "R3": "c"}


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("R2", "a>b=c"),
        ("R1=R2=R3", "b=a=c"),
        ("R3 > R1 = R2", "c>b=a"),
        ("R1>>R2", "b>>a"),
        ("a>b=c", "a>b=c"),
        ("R9>R1", "R9>R1"),
    ],
)
def test_a_winner_a_tie_or_a_whole_ranking_by_labels(written, named):
    assert by_name(written, LABELS) == named


def test_names_become_labels_again():
    assert by_label("c>b=a", LABELS) == "R3>R1=R2"


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("Assistant A is right.", "Assistant A [R2] is right."),
        ("Responses A and B differ.", "Responses A and B [R2, R1] differ."),
        ("**Response B**'s proof", "**Response B [R1]**'s proof"),
        ("[[A>>B]]", "[[A>>B]] [R2>>R1]"),
        ("assistant a b", "assistant a b"),
        ("A model answers. A is a letter.", "A model answers. A is a letter."),
        ("Réponse B", "Réponse B [R1]"),
    ],
)
def test_the_judges_labels_are_translated(text, translated):
    assert in_reviewers_words(text, {"A": "R2", "B": "R1"}) == translated


def test_labels_of_several_characters_are_translated_everywhere():
    assert in_reviewers_words("A0 beats A1, not A10", {"A0": "R2", "A1": "R1"}) == "A0 [R2] beats A1 [R1], not A10"
