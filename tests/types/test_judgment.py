"""Judgments: what they refuse, what the judge saw, and those without an answer."""

import random

import pytest

from metajudge.types import Item, Judgment, Label, majority, parse_verdict
from metajudge.types.digests import digest
from metajudge.types.judgment import count_words
from metajudge.types.label import answers, combined, labels_in, passing, settled
from metajudge.types.no_answer import no_answer


def record(**changes):
    data = {
        "id": "j1",
        "item": {"id": "i1", "question": "2+2?", "responses": {"A": "4", "B": "5"}, "label": "A>B"},
        "judge": "owl",
        "verdict": "A>B",
        "rationale": "Assistant A adds correctly.",
        "order": ["A", "B"],
    }
    return {**data, **changes}


def item(**changes):
    return {**record()["item"], **changes}


def test_order_defaults_to_the_items():
    data = record()
    del data["order"]
    assert Judgment.model_validate(data).order == ("A", "B")


class TestShownLabels:
    def test_swapped_order_swaps_the_labels(self):
        """Assistant A in a swapped game is response B: else every rationale of it is read backwards."""
        judgment = Judgment.model_validate(record(order=["B", "A"]))
        assert dict(zip(judgment.order, judgment.shown_labels, strict=True)) == {"B": "A", "A": "B"}

    def test_labels_shown_are_letters_or_given_in_numeric_order_whatever_the_mappings(self):
        judgment = Judgment.model_validate(record(item=item(responses={"B": "5", "A": "4"}), order=["A", "B"]))
        assert judgment.shown_labels == ("A", "B")
        responses = {"gpt-4o": "4", "claude": "5"}
        data = record(item=item(responses=responses, label=None), verdict="claude>gpt-4o", order=["claude", "gpt-4o"])
        assert Judgment.model_validate(data).shown_labels == ("A", "B")
        responses = {f"A{i}": "x" for i in range(11)}
        data = record(item=item(responses=responses, label=None), verdict="A0>A10", order=list(reversed(responses)))
        assert Judgment.model_validate(data).shown_labels[-2:] == ("A9", "A10")
        named = Judgment.model_validate(record(labels=["one", "two"], order=["B", "A"]))
        assert named.shown_labels == ("one", "two")
        assert named.shown == (("one", "B"), ("two", "A"))


class TestCorrect:
    @pytest.mark.parametrize(
        ("label", "verdict", "correct"),
        [
            ("A>B", "A>>B", True),
            ("A>B", "B>A", False),
            ("A>B", "A=B", False),
            ("A=B", "A=B", None),
            ("A=B", "A>B", None),
            ("B>A", [["B"], ["A"]], True),
            (None, "A>B", None),
        ],
    )
    def test_against_the_label(self, label, verdict, correct):
        judgment = Judgment.model_validate(record(item=item(label=label), verdict=verdict))
        assert judgment.correct is correct


def test_words_are_runs_between_white_space():
    draw = random.Random(3)
    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace()]
    texts = [
        one.join(parts)
        for one in spaces
        for parts in (("", ""), ("a", "b"), ("a", "", "b", ""), ("", "a b"), ("é", "b"))
    ]
    alphabet = [chr(code) for code in range(128)]
    texts += [
        "".join(draw.choices(letters, k=draw.randint(0, 12)))
        for letters in (alphabet, [*spaces, "a", "é", "\ud800"])
        for _ in range(2_000)
    ]
    for text in texts:
        assert count_words(text) == len(text.split()), repr(text)


class TestDigests:
    @pytest.mark.parametrize(
        "change",
        [
            {},
            {"meta": {"z": 1, "a": {"y": [1.5, None, {"b": 1, "a": 2}], "x": "é"}}},
            {"item": {"label": None, "models": {"A": "m"}, "scale": ["a", "b"], "metadata": {"A": {"z": 1, "b": 2}}}},
            {"item": {"labels": [{"value": "A>B", "annotator": "p"}], "reference": "“r” \u2028", "category": "c"}},
            {
                "verdict": None,
                "no_verdict": "cut off",
                "rationale": "\ud800 \x00 \\",
                "labels": ["x", "y"],
                "instruction": "i",
            },
            {"verdict": [["A"], ["B"]], "judge": '"', "id": "é"},
        ],
    )
    def test_are_of_the_canonical_json_of_the_record(self, change):
        judgment = Judgment.model_validate(record(**{**change, "item": item(**change.get("item", {}))}))
        whole = judgment.model_dump(mode="json")
        beside = {"labels", "conversation", "metadata"}
        vetted = {name: value for name, value in whole.items() if name != "meta"}
        vetted["item"] = {
            name: value for name, value in whole["item"].items() if name not in {"label", "models", *beside}
        }
        content = {name: value for name, value in whole["item"].items() if name not in {"id", *beside}}
        assert (judgment.digest, judgment.vetting_digest, judgment.item.digest) == (
            *map(digest, (whole, vetted, content)),
        )
        assert judgment.raw_digests() == tuple(bytes.fromhex(one) for one in judgment.digests)
        assert judgment.raw_digest() == bytes.fromhex(judgment.digest)

    def test_digests_of_items_and_of_vetting_cover_content_and_not_ids_labels_or_models(self):
        base = Item.model_validate(item())
        assert Item.model_validate(item(id="other")).digest == base.digest
        assert Item.model_validate(item(question="2+3?")).digest != base.digest
        assert Item.model_validate(item(label="B>A")).digest != base.digest
        base = Judgment.model_validate(record())
        same = Judgment.model_validate(record(item=item(label=None, models={"A": "m"}), meta={"x": 1}))
        assert same.vetting_digest == base.vetting_digest
        assert same.digest != base.digest
        for change in ({"rationale": "x"}, {"verdict": "A>>B"}, {"order": ["B", "A"]}, {"instruction": "x"}):
            assert Judgment.model_validate(record(**change)).vetting_digest != base.vetting_digest


# Labels by people, and what several of them say together.
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
    def test_truth_openings_and_digests_of_items_with_new_fields(self):
        people = [{"value": value, "annotator": f"p{at}"} for at, value in enumerate((4, 5, 5))]
        assert graded(labels=people).truth == parse_verdict(5)
        assert graded(labels=people, label=1).truth == parse_verdict(1)
        assert graded().truth is None
        assert graded().model_dump(mode="json") == {
            "id": "q", "question": "2+2?", "responses": {"A": "4"},
            "category": None, "label": None, "reference": None, "models": None,
        }  # fmt: skip
        base = graded()
        assert graded(labels=[{"value": 4}], conversation=[{"role": "user", "content": "2+2?"}],
                      metadata={"A": {"tokens": 1}}).digest == base.digest  # fmt: skip
        assert graded(scale=[1, 5]).digest != base.digest
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


SIDES = ("pass", "fail")
GRADES = ("1", "2", "3.5", "5")


NO_ANSWERS = (
    "parse_error|Parse Error|timeout|timed out|#N/A|#DIV/0!|n.a.|N/A|-|--|?|...|[ERROR] 429|[ERROR]|$ERROR$|<failed>|"
    "__invalid__|RateLimitError: slow down|error 503|Error: no JSON found|unsure|Not sure|skip|can't tell|can\u2019t tell|"
    "don't know|no answer"
)


@pytest.mark.parametrize("key", NO_ANSWERS.split("|"))
def test_no_verdict_anywhere(key):
    assert no_answer(key) is no_answer(key, SIDES) is no_answer(key, ("A", "B"), several=True) is True


@pytest.mark.parametrize(
    "key",
    ["pass", "C", "tie", "both", "0", "-1", "99", "A>B", "=", "\U0001f44d", "skipping steps", "no", "error", "unknown"],
)
def test_an_answer_where_nothing_else_is_known(key):
    assert no_answer(key) is False


@pytest.mark.parametrize(
    ("key", "beside", "expected"),
    [
        ("ERROR", SIDES, True),
        ("ERROR", GRADES, True),
        ("error", ("error", "no_error"), False),
        ("error", ("pass", "error"), None),
        ("error", ("error", "error"), None),
        ("error", ("toxic", "clean", "error"), None),
        ("failed", ("passed", "failed"), False),
        ("failed", ("passed", "failed", "fail"), False),
        ("failed", ("pass", "failed"), False),
        ("failed", ("pass", "fail", "failed"), True),
        ("failure", ("success", "failure"), False),
        ("invalid", ("valid", "invalid"), False),
        ("invalid", SIDES, True),
        ("unknown", SIDES, True),
        ("unknown", ("red", "blue", "unknown"), False),
        ("unknown", GRADES, True),
        ("-", ("+", "-"), False),
    ],
)
def test_a_word_beside_others(key, beside, expected):
    assert no_answer(key, beside) is expected


def test_a_failure_is_no_verdict_on_several_responses():
    assert no_answer("failed", ("A", "B", "failed"), several=True) is True
    assert no_answer("unknown", ("A", "B", "unknown"), several=True) is False, "it may be a tie: it is asked about"


@pytest.mark.parametrize(
    ("key", "beside", "expected"),
    [
        ("-1", GRADES, True),
        ("-1.0", GRADES, True),
        ("99", GRADES, True),
        ("999", GRADES, True),
        ("-99", ("0", "1"), True),
        ("99", ("0", "1"), True),
        ("-1", ("0", "1"), None),
        ("-1", ("0", "1", "2"), None),
        ("-1", ("-1", "1"), None),
        ("-1", ("5",), None),
        ("-1", ("-1",), None),
        ("99", ("5",), None),
        ("99", ("99",), False),
        ("-1", ("-2", "3"), False),
        ("99", ("55", "80", "100"), False),
        ("99", ("1", "11"), False),
        ("99", ("1", "10"), True),
        ("999", ("55", "100"), True),
        ("7", GRADES, False),
        ("-2", GRADES, False),
    ],
)
def test_a_number_beside_others(key, beside, expected):
    assert no_answer(key, beside) is expected


@pytest.mark.parametrize(
    ("key", "scale", "expected"),
    [("-1", (1, 5), True), ("-1", (-1, 1), False), ("-1", (0, 1), True), ("99", (0, 100), False), ("7", (1, 5), False)],
)
def test_a_number_and_the_scale_declared(key, scale, expected):
    assert no_answer(key, ("0", "1"), scale) is expected


def answered(verdict, **item):
    return Judgment.model_validate(
        {
            "id": "j",
            "judge": "g",
            "verdict": verdict,
            "item": {"id": "i", "question": "?", "responses": {"A": "x"}} | item,
        }
    )


def test_a_record_with_a_word_for_no_answer_has_no_verdict_and_no_label():
    found = answered(" Timeout ", label="unsure", labels=[{"value": "skip"}, {"value": "pass"}])
    assert (found.verdict, found.no_verdict) == (None, "the verdict is 'Timeout', which stands for no answer")
    assert found.item.label is None
    assert [str(one.value) for one in found.item.labels] == ["pass"]
    assert Judgment.model_validate(found.model_dump()) == found
    assert str(answered({"category": "timeout"}).verdict) == "timeout"
    assert str(answered("skip", scale=["skip", "read"]).verdict) == "skip"
    assert answered("A>B", responses={"A": "x", "B": "y"}).verdict is not None
