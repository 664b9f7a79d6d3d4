from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from metajudge.errors import InputError
from metajudge.readers import assessed_formats, open_judgments
from metajudge.readers.assessed_formats import AssessedFormat
from metajudge.readers.assessed_runs import AssessedRun
from metajudge.readers.lines import BadLine, Line, Reject, Source
from metajudge.readers.people import ByPeople, PersonScore
from metajudge.readers.reader import FoundJudgment, LineReader, attempt, each, split, why
from metajudge.readers.reasons import as_judgment, reason_of
from metajudge.readers.scored_runs import RecordedRun, RecordedScore
from metajudge.types import Category, Grade, Judgment
from tests.doubles.judgments import judgment

SOURCE = Source(Path("x.jsonl"), "x.jsonl")
LINES = [Line(number, b"raw %d" % number, {"n": number}) for number in (1, 2, 3)]


class Record(BaseModel):
    n: int


def odd(line):
    if line.data["n"] % 2 == 0:
        raise BadLine("n is even")
    return line.data["n"]


def test_a_row_that_cannot_be_read_is_a_reject_with_its_place_and_text():
    assert list(each(SOURCE, LINES, odd)) == [(1, 1), Reject("x.jsonl", 2, "n is even", "raw 2"), (3, 3)]


def test_rejects_of_the_rows_go_through_in_their_place():
    earlier = Reject("x.jsonl", 9, "not JSON", "")
    assert list(each(SOURCE, [earlier, LINES[0]], odd)) == [earlier, (1, 1)]


def test_split_keeps_the_order_on_both_sides():
    good, rejects = split(each(SOURCE, LINES, odd))
    assert good == [1, 3]
    assert [one.line for one in rejects] == [2]


@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, "missing field 'n'"), ({"n": "many"}, "'n': input should be a valid integer")],
)
def test_a_fault_that_validation_finds_is_told_by_its_field(given, reason):
    found = attempt(SOURCE, Line(4, b"", given), lambda line: Record.model_validate(line.data))
    assert found.reason.startswith(reason)


def test_data_of_another_shape_are_a_reject_only_where_a_shape_was_taken_for_granted():
    with pytest.raises(KeyError):
        attempt(SOURCE, LINES[0], lambda line: line.data["missing"])
    found = attempt(SOURCE, LINES[0], lambda line: line.data["missing"], "a record of ours")
    assert found.reason == "not the shape of a record of ours (KeyError('missing'))"


def test_reasons_of_our_own_are_kept_word_by_word():
    assert why(InputError("the weight is 0")) == "the weight is 0"
    with pytest.raises(ValueError, match="other"):
        why(ValueError("other"))


def test_a_line_may_hold_several_judgments_and_scores_by_people():
    made = {1: [judgment("a"), judgment("b")], 2: [], 3: [PersonScore("helpful")]}
    found = list(LineReader("ours", SOURCE, lambda: LINES, lambda line: made[line.number]).read())
    assert [type(one) for one in found] == [FoundJudgment, FoundJudgment, ByPeople]
    assert [one.line for one in found] == [1, 1, 3]


def test_a_judgment_is_itself_and_plain_data_become_one():
    one = judgment()
    assert as_judgment(one) is one
    assert as_judgment(one.model_dump(mode="json")) == one


def test_what_is_none_is_named_by_its_place():
    with pytest.raises(InputError, match="judgment 3 of 10 is a list"):
        as_judgment([], place="judgment 3 of 10")
    with pytest.raises(InputError, match=r"the judgment is not valid: .*id"):
        as_judgment({key: value for key, value in judgment().model_dump(mode="json").items() if key != "id"})


Write = Callable[..., Path]


def test_a_new_tool_is_two_functions_and_an_entry(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_of(row: object) -> AssessedRun:
        assert isinstance(row, dict)
        scores = [
            RecordedScore(id=None, run=None, judge=judge, value=value, comment=why, meta={}, name="ok")
            for judge, value, why in row["said"]
        ]
        return AssessedRun(
            RecordedRun(row["ticket"], row["asked"], row["told"]), scores, [PersonScore("ok", "anna", None, True)]
        )

    ours = AssessedFormat("Tickets", lambda record: {"ticket", "said"} <= record.keys(), run_of)
    monkeypatch.setattr(assessed_formats, "assessed_formats", lambda: (ours,))
    row = {
        "ticket": "t1",
        "asked": "?",
        "told": "!",
        "said": [["heron", 4, "Good."], ["heron", 5, ""], ["wren", True, ""]],
    }
    source = open_judgments([write("week.1.jsonl", row)])
    found = list(source)
    assert source.formats == {str(source.formats and next(iter(source.formats))): "Tickets"}
    assert [(one.id, one.verdict) for one in found] == [
        ("week:1/heron", Grade(4)),
        ("week:1/heron/2", Grade(5)),
        ("week:1/wren", Category(True)),
    ]
    assert {one.item.id for one in found} == {"t1"}
    assert [label.annotator for label in found[0].item.labels] == ["anna"]


def reason(data: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        Judgment.model_validate(data)
    return reason_of(caught.value)


def item(**changes: Any) -> dict[str, Any]:
    return {"id": "q1", "question": "2 + 2?", "responses": {"A": "4", "B": "5"}, **changes}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"verdict": "C>A"}, "verdict names 'C', but the item's responses are A, B"),
        ({"verdict": "A>"}, "'verdict' is not a verdict: 'A>'"),
        ({"verdict": True}, "'true' is not a verdict on 2 responses"),
        ({"verdict": 4.5}, "a grade judges one response, but 2 were shown"),
        ({"verdict": [["A"]]}, "a ranking needs at least two responses"),
        ({"verdict": None}, "verdict is null without a reason: say why in no_verdict"),
        ({"no_verdict": "?"}, "no_verdict is given although there is a verdict"),
        ({"version": 2}, "unknown version 2: this metajudge reads version 1"),
        ({"judge": ""}, "'judge' is empty"),
        ({"judge": " "}, "'judge' is empty"),
        ({"judge": 7}, "'judge' must be a string, not 7"),
        ({"judge": None}, "'judge' must be a string, not null"),
        ({"order": ["A", "A"]}, "order names a response twice: A, A"),
        ({"order": ["A", "C"]}, "order names 'C', but the item's responses are A, B"),
        ({"order": "AB"}, "'order' must be a list, not 'AB'"),
        ({"order": ["A b"]}, "'A b' is no response id: use letters, digits, '_', '.', '-'"),
        ({"order": ["A"]}, "verdict names B, which order says the judge was not shown"),
        ({"labels": ["x"]}, "labels must give one distinct label for each response in order"),
        ({"score": 1}, "unknown field 'score' (data of your own belongs in 'meta')"),
        ({"meta": []}, "'meta' must be an object, not a list"),
        ({"item": "q1"}, "'item' must be an object, not 'q1'"),
        ({"item": item(responses={})}, "the item has no responses"),
        ({"item": item(responses={"A": 1, "B": ""})}, "'item.responses.A' must be a string, not 1"),
        ({"item": item(responses={"A b": "", "B": ""})}, "'A b' is no response id"),
        ({"item": item(label="A>C")}, "label names 'C', but the item's responses are A, B"),
        ({"item": item(id="")}, "'item.id' is empty"),
        ({"item": item(extra=1)}, "unknown field 'item.extra'"),
    ],
)
def test_a_reason_speaks_of_the_users_fields(
    record: Callable[..., dict[str, Any]], changes: dict[str, Any], expected: str
) -> None:
    found = reason(record(**changes))
    assert expected in found
    assert "\n" not in found
    assert "pydantic" not in found
    assert "Value error" not in found


@pytest.mark.parametrize("field", ["id", "item", "judge", "verdict"])
def test_a_missing_field_is_named(record: Callable[..., dict[str, Any]], field: str) -> None:
    data = record()
    del data[field]
    assert reason(data).startswith(f"missing field '{field}'")


def test_many_faults_are_cut_to_three() -> None:
    found = reason({"a": 1, "b": 2, "c": 3})
    assert found.count(";") == 3
    assert found.endswith("; and 4 more")
