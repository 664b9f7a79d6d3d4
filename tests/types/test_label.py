"""Labels by people, and what several of them say together."""

import pytest

from metajudge.types import Item, Judgment, Label, majority, parse_verdict
from metajudge.types.label import answers, combined, labels_in, passing, settled


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        (["A>B", "A>>B", "B>A"], "A>B"),
        (["A>B", "B>A"], "A=B"),
        (["A>B", "A=B", "A=B"], "A=B"),
        (["A>B", "C>A"], None),
        (["A>B", 3], None),
        ([1, 2, 5], 2.0),
        ([1, 2], 1.5),
        (["pass", "fail", "pass"], "pass"),
        (["pass", "fail"], None),
        ([["A", "B"], ["A", "B"], ["B", "A"]], [["A"], ["B"]]),
    ],
)
def test_the_majority(values, expected):
    found = majority([parse_verdict(value) for value in values])
    assert (None if found is None else found.to_json()) == expected
    assert majority([parse_verdict(value) for value in reversed(values)]) == found


def said(*given):
    """Labels written ``person value [day of January, perhaps with a zone]``; ``_`` is nobody by name."""
    found = []
    for one in given:
        name, value, *time = one.split()
        when = {"time": f"2026-01-{time[0]}"} if time else {}
        found.append({"value": value, "annotator": None if name == "_" else name, **when})
    return labels_in(found)


@pytest.mark.parametrize(
    ("given", "expected", "right"),
    [
        (["ann pass", "ann fail"], ["ann fail"], "fail"),
        (["ann pass", "ann fail", "ann pass"], ["ann pass"], "pass"),
        (["ann pass 09T00:00", "ann fail 02T00:00", "bob fail"], ["ann pass", "bob fail"], None),
        (["ann pass 01T00:00", "ann fail"], ["ann pass"], "pass"),
        (["ann pass 02T00:30:00+02:00", "ann fail 01T23:00:00Z"], ["ann fail"], "fail"),
        (["ann pass 01T00:00", "ann fail 01T00:00Z"], ["ann fail"], "fail"),
        (["_ pass", "_ pass", "_ fail"], ["_ pass", "_ pass", "_ fail"], "pass"),
        (["ann pass", "bob pass", "adjudicated fail"], ["ann pass", "bob pass"], "fail"),
        (["ann pass", "cleo/adjudicated fail", "Adjudicator pass"], ["ann pass"], "pass"),
        (["adjudicated fail 05T00:00", "adjudicated pass 01T00:00"], [], "fail"),
        ([], [], None),
    ],
)
def test_one_answer_a_person_and_a_ruling_before_all(given, expected, right):
    labels = said(*given)
    assert [f"{one.annotator or '_'} {one.value}" for one in answers(labels)] == expected
    found = settled(labels)
    assert (None if found is None else found.to_json()) == right


def test_the_labels_of_two_records_of_an_item():
    one, other = said("ann pass", "_ fail"), said("ann pass", "ann fail", "_ fail", "_ fail")
    assert combined(one, other) == other
    assert combined(other, one) == (*said("ann fail", "_ fail"), *one)
    assert combined((), one) == combined(one, ()) == combined(one, one) == one


@pytest.mark.parametrize(
    ("word", "side"), [(True, True), ("FAIL", False), ("Not relevant", False), ("blue", None), (1, None)]
)
def test_words_that_say_pass_or_fail(word, side):
    assert passing(parse_verdict(word)) is side


def graded(**changes):
    record = {"id": "q", "question": "2+2?", "responses": {"A": "4"}}
    return Item.model_validate(record | changes)


class TestItem:
    def test_the_truth_is_the_label_else_what_people_say(self):
        people = [{"value": value, "annotator": f"p{at}"} for at, value in enumerate((4, 5, 5))]
        assert graded(labels=people).truth == parse_verdict(5)
        assert graded(labels=people, label=1).truth == parse_verdict(1)
        assert graded().truth is None

    def test_what_did_not_exist_before_leaves_no_trace_in_old_records(self):
        assert graded().model_dump(mode="json") == {
            "id": "q", "question": "2+2?", "responses": {"A": "4"},
            "category": None, "label": None, "reference": None, "models": None,
        }  # fmt: skip

    def test_labels_conversation_and_metadata_are_no_part_of_the_digest(self):
        base = graded()
        assert graded(labels=[{"value": 4}], conversation=[{"role": "user", "content": "2+2?"}],
                      metadata={"A": {"tokens": 1}}).digest == base.digest  # fmt: skip
        assert graded(scale=[1, 5]).digest != base.digest

    def test_the_turns_of_a_conversation_share_their_opening(self):
        turns = [
            {"role": role, "content": text} for role, text in (("user", "2+2?"), ("assistant", "4"), ("user", "why?"))
        ]
        assert graded(question="2+2?\n4\nwhy?", conversation=turns).opening == graded().opening == "2+2?"
        assert graded(question="system: add\n2+2?", conversation=turns[:1]).opening == "system: add\n2+2?"

    @pytest.mark.parametrize("scale", [[5, 1], [1, 1], ["a"], ["a", "a"]])
    def test_a_scale_needs_two_ends(self, scale):
        with pytest.raises(ValueError, match="scale"):
            graded(scale=scale)

    def test_labels_name_the_items_responses(self):
        with pytest.raises(ValueError, match="labels names 'B'"):
            graded(labels=[{"value": "A>B"}])

    @pytest.mark.parametrize("given", [{"label": "banana"}, {"labels": [{"value": True}]}])
    def test_a_word_is_no_label_of_several_responses(self, given):
        item = graded(responses={"A": "4", "B": "5"}, **given)
        with pytest.raises(ValueError, match=r"label: .* is not a verdict on 2 responses"):
            Judgment(id="j", item=item, judge="m", verdict="A>B")
        assert Judgment(id="j", item=item, judge="m", verdict=True, order=("B",)).verdict is not None


class TestJudgment:
    def test_a_category_judges_one_response(self):
        two = {"id": "q", "question": "?", "responses": {"A": "x", "B": "y"}}
        with pytest.raises(ValueError, match="'A' is not a verdict on 2 responses: write A>B"):
            Judgment.model_validate({"id": "j", "item": two, "judge": "m", "verdict": "A"})

    @pytest.mark.parametrize(("scale", "verdict"), [([1, 5], 6), (["bad", "good"], "fine")])
    def test_a_verdict_outside_the_declared_scale_is_refused(self, scale, verdict):
        with pytest.raises(ValueError, match="scale"):
            Judgment(id="j", item=graded(scale=scale), judge="m", verdict=verdict)

    def test_people_decide_what_is_right(self):
        item = graded(labels=[Label(value="pass"), Label(value="C"), Label(value=False)])
        assert Judgment(id="j", item=item, judge="m", verdict=True).correct is None
        item = graded(labels=[Label(value=True), Label(value=True), Label(value=False)])
        assert Judgment(id="j", item=item, judge="m", verdict="pass").correct is True
