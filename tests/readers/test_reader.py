from pathlib import Path

import pytest
from pydantic import BaseModel

from metajudge.errors import InputError
from metajudge.readers.lines import BadLine, Line, Reject, Source
from metajudge.readers.people import ByPeople, PersonScore
from metajudge.readers.reader import FoundJudgment, LineReader, attempt, each, split, why
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
