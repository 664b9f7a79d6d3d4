"""What values mean: verdicts, kinds of verdicts, scores as tools state them, and our own notes."""

from typing import Any

import orjson
import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.inspection import VerdictKinds
from metajudge.readers.right_rules import right_of, rules_of
from metajudge.readers.stated_scores import StatedScore, is_program, reason_text, stated, stated_columns, time_text
from metajudge.readers.vocabulary import NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import AnyVerdict, Category, Grade, Item, Judgment, Label, Pairwise, Right, parse_right
from metajudge.types.judgment import Scale
from tests.readers.interop_files import INTEROP

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


def judgment(name: str, verdict: AnyVerdict | None, *people: str | None, scale: Scale | None = None) -> Judgment:
    labels = tuple(Label(value=Grade(1.0), annotator=one) for one in people)
    item = Item(id=name, question="?", responses={"A": "x"}, labels=labels, scale=scale)
    return Judgment(id=name, item=item, judge="g", verdict=verdict, no_verdict=None if verdict else "none")


def test_labels_are_counted_once_an_item_however_many_judges_it_has() -> None:
    found = VerdictKinds()
    for one in (
        judgment("q1", Grade(2.0), "anna", None),
        judgment("q1", Grade(4.0), "anna", None),
        judgment("q2", Category("pass"), "anna"),
        judgment("q3", None),
    ):
        found.add(one)
    data = found.to_json()
    assert data["kinds"] == {"grade": 2, "category": 1}
    assert (data["grades"], data["categories"], data["scales"]) == ([2.0, 4.0], {"pass": 1}, None)
    assert data["labels"] == {
        "items": 3,
        "labelled_items": 2,
        "annotators": {"anna": 2, "(no name)": 1},
        "per_item": {"1": 1, "2": 1},
    }


def judgment_of_right_rules(
    verdict: AnyVerdict | None, *labels: AnyVerdict, label: AnyVerdict | None = None
) -> Judgment:
    texts = {"A": "x", "B": "y"} if isinstance(verdict, Pairwise) else {"A": "x"}
    item = Item(id="q", question="?", responses=texts, label=label, labels=tuple(Label(value=one) for one in labels))
    return Judgment(id="j", item=item, judge="g", verdict=verdict, no_verdict=None if verdict else "none")


def test_whole_numbers_are_equal_and_others_within_a_tenth_of_their_range() -> None:
    assert rules_of([judgment_of_right_rules(Grade(1.0), Grade(5.0))]) == {"grade": Right("equal")}
    # The one number that is not whole may stand anywhere, between the ends too.
    mixed = [judgment_of_right_rules(Grade(value)) for value in (1.0, 5.0, 3.5, 2.0)]
    assert rules_of(mixed) == rules_of(mixed[::-1]) == {"grade": Right("within", 0.4)}


def test_grades_against_words_are_compared_by_side_and_kinds_apart() -> None:
    given = [
        judgment_of_right_rules(Grade(0.0)),
        judgment_of_right_rules(Grade(10.0), Category("pass")),
        judgment_of_right_rules(Pairwise("A", "B", 1)),
    ]
    rules = rules_of(given)
    assert rules == {"grade": Right("side", 5.0), "pairwise": Right("top1")}
    assert right_of(given[1], rules) is True
    assert right_of(given[0], rules) is None


def test_a_rule_given_is_taken_where_it_applies() -> None:
    given = [
        judgment_of_right_rules(Grade(4.0), Grade(5.0)),
        judgment_of_right_rules(Category("pass"), label=Category("pass")),
    ]
    rules = rules_of(given, parse_right("within:1"))
    assert rules == {"grade": Right("within", 1.0)}
    assert [right_of(one, rules) for one in given] == [True, None]
    with pytest.raises(InputError, match="the rule top1 does not apply to the verdicts here, which are grade and cat"):
        rules_of(given, parse_right("top1"))


def test_nothing_calls_for_no_rule() -> None:
    assert rules_of([judgment_of_right_rules(None)], parse_right("top1")) == {}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (0.5, StatedScore(0.5)),
        (None, StatedScore(None)),
        ({"score": 4, "reason": "r", "model": "m"}, StatedScore(4, "r", "m")),
        ({"passed": False, "explanation": ["a"]}, StatedScore(False, ["a"])),
        ({"error": {"message": "timed out"}}, StatedScore(None, None, None, "timed out")),
        ({"something": 1}, StatedScore({"something": 1})),
    ],
)
def test_a_score_is_read_from_a_value_or_an_object(given: Any, found: StatedScore) -> None:
    assert stated(given) == found


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, ""),
        ("as it is", "as it is"),
        (["one", "two"], "one\ntwo"),
        ({"summary": "short"}, "short"),
        ({"a": 1}, '{"a":1}'),
        ([{"a": 1}], '[{"a":1}]'),
    ],
)
def test_a_reason_of_any_type_is_text(given: Any, text: str) -> None:
    assert reason_text(given) == text


def test_a_column_beside_a_score_is_its_reason() -> None:
    row = {"tone": 1, "tone_reason": "kind", "judge_score": 2, "judge_explanation": "right", "other": {"score": 3}}
    found = dict(stated_columns(row, row))
    assert found == {"tone": StatedScore(1, "kind"), "judge_score": StatedScore(2, "right"), "other": StatedScore(3)}


def test_a_column_called_a_reason_is_that_of_the_only_score() -> None:
    row = {"verdict": "pass", "explanation": "It is."}
    assert dict(stated_columns(row, row)) == {"verdict": StatedScore("pass", "It is.")}
    assert dict(stated_columns({**row, "tone": 1}, [*row, "tone"])) == {
        "verdict": StatedScore("pass"),
        "tone": StatedScore(1),
    }


@pytest.mark.parametrize("name", ["exact_match", "acc_norm", "rougeL", "exact_match,strict-match", "bleu_score"])
def test_metrics_of_programs_are_known_by_name(name: str) -> None:
    assert is_program(name)
    assert not is_program(f"judged_{name}")


def test_times_are_iso_where_they_can_be_read() -> None:
    assert time_text(1793527200) == "2026-11-01T10:00:00+00:00"
    assert (time_text("yesterday"), time_text(None)) == ("yesterday", None)


@pytest.mark.parametrize(
    ("name", "judge", "rationale", "labels"),
    [
        ("langfuse-api", "correctness", "The answer is right.", [True, False, True]),
        ("langsmith-api", "correctness", "The answer is right.", [1, 0, 1]),
        ("argilla-api", "openai/gpt-4o-mini/correctness", "", ["yes", "no", "yes"]),
    ],
)
def test_the_verdicts_are_read_with_labels_and_our_notes_are_not(name, judge, rationale, labels):
    source = open_judgments([INTEROP / name])
    found = list(source)
    assert [(one.judge, one.item.question) for one in found] == [(judge, f"{n}+1?") for n in (1, 2, 3)]
    assert found[0].rationale == rationale
    assert [one.value.value for one in found[0].item.labels] == labels
    assert source.rejects == 0
    written = "".join(file.read_text() for file in (INTEROP / name).glob("*.jsonl"))
    assert "metajudge_key" in written or '"metajudge:' in written


def test_a_comment_that_is_an_object_is_its_json_text(tmp_path):
    for name, score in (("langfuse-api", "scores"), ("langsmith-api", "feedback")):
        folder = tmp_path / name
        folder.mkdir()
        for file in (INTEROP / name).glob("*.jsonl"):
            rows = [orjson.loads(line) for line in file.read_bytes().splitlines()]
            if file.stem == score:
                rows[0]["comment"] = {"why": "it is so"}
            (folder / file.name).write_bytes(b"\n".join(map(orjson.dumps, rows)))
        assert next(iter(open_judgments([folder]))).rationale == '{"why":"it is so"}'
