"""Rows from grades and categories of single responses."""

import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest, responses
from tests.exports.vetted import dropped, exported, judgment, single


def pairs(rows):
    return [(row["chosen_id"], row["rejected_id"], row["margin"]) for row in rows]


def test_of_two_responses_to_one_question_the_higher_grade_is_chosen_and_equal_ones_are_counted(tmp_path):
    grades = [single(0, 3), single(1, 8), single(2, 3), single(3, 5, question="Explain rust.")]
    result, rows = exported(tmp_path / "d", grades)
    assert pairs(rows) == [("item-1", "item-0", 5.0), ("item-1", "item-2", 5.0)]
    assert [row["item_id"] for row in rows] == ["item-0", "item-0"]
    assert (rows[0]["chosen"], rows[0]["rejected"]) == (
        "Answer number 1, in so many words.",
        "Answer number 0, in so many words.",
    )
    assert rows[0]["judgments"] == ["item-0/owl/A", "item-1/owl/A"]
    assert dropped(result) == {"only_graded_response": 1, "tie": 1}
    assert result.stats["kinds"] == {"grade": {"judgments": 4, "kept": 4}}
    assert "The rows are from grades of single responses" in (tmp_path / "d" / "README.md").read_text()


def test_judges_that_order_two_responses_differently_conflict(tmp_path):
    grades = [single(0, 3), single(1, 8), single(0, 9, judge="jay"), single(1, 2, judge="jay")]
    with pytest.raises(InputError, match="1 judge conflict"):
        exported(tmp_path / "d", grades)


def test_too_many_responses_to_one_question_are_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(responses, "MOST_PAIRS", 2)
    with pytest.raises(InputError, match="3 pairs of responses to the same question, more than 2"):
        exported(tmp_path / "d", [single(number, number) for number in range(3)])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"pass_mark": 3}, "use it with kind responses and format kto"),
        ({"format": "kto", "max_length": 9}, "format kto has none"),
        ({"kind": "judgments", "from_grades": True}, "use from_grades with kind responses"),
    ],
)
def test_options_that_contradict_each_other_are_refused(asked, words):
    with pytest.raises(ConfigurationError, match=words):
        ExportRequest.model_validate(asked)


def test_pairs_that_are_equal_where_a_trainer_cuts_are_dropped_and_counted(tmp_path):
    same, long = "The same beginning of both. ", "Explain it at great length, with examples."
    said = [
        judgment(0, question="Why?", responses={"A": same + "One end.", "B": same + "Other end."}),
        judgment(1, question="Why so?", responses={"A": "Yes, for that.", "B": "No, for this."}),
        judgment(2, question=long, responses={"A": "Glad to.", "B": "Never."}),
    ]
    limit = len("Why?") + len(same)
    result, rows = exported(tmp_path / "d", said, max_length=limit)
    assert [row["item_id"] for row in rows] == ["item-1"]
    assert dropped(result) == {"equal_after_truncation": 2}
    assert f"first {limit} characters" in (tmp_path / "d" / "README.md").read_text()
    _, rows = exported(tmp_path / "e", said, max_length=limit + len(long))
    assert [row["item_id"] for row in rows] == ["item-0", "item-1", "item-2"]
