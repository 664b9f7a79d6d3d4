"""Rows from grades and categories of single responses."""

import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.preferences import ExportRequest, graded
from tests.preferences.vetted import assessment, dropped, exported, judgment


def single(number, verdict, *, question="Explain tides.", judge="owl", scale=None, **changes):
    """A verdict on one response; every item has one response of its own."""
    said = judgment(
        number,
        judge=judge,
        verdict=verdict,
        order=("A",),
        question=question,
        responses={"A": f"Answer number {number}, in so many words."},
        **changes,
    )
    return said.model_copy(update={"item": said.item.model_copy(update={"scale": scale})})


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


def test_only_kept_grades_make_pairs_and_judges_are_not_compared_with_each_other(tmp_path):
    grades = [single(0, 3), single(1, 8), single(2, 9), single(0, 1, judge="jay"), single(2, 2, judge="wren")]
    result, rows = exported(tmp_path / "d", grades, [assessment(one, one is not grades[1]) for one in grades])
    assert pairs(rows) == [("item-2", "item-0", 6.0)]
    assert dropped(result) == {"discarded": 1, "only_graded_response": 2}


def test_judges_that_order_two_responses_differently_conflict(tmp_path):
    grades = [single(0, 3), single(1, 8), single(0, 9, judge="jay"), single(1, 2, judge="jay")]
    with pytest.raises(InputError, match="1 judge conflict"):
        exported(tmp_path / "d", grades)


def test_responses_of_one_item_graded_one_by_one_are_pairs_and_repeats_count_as_their_mean(tmp_path):
    said = [
        judgment(0, verdict=4, order=("A",), id="a1"),
        judgment(0, verdict=6, order=("A",), id="a2"),
        judgment(0, verdict=8, order=("B",), id="b"),
    ]
    _, rows = exported(tmp_path / "d", said, format="ultrafeedback")
    assert pairs(rows) == [("B", "A", 3.0)]
    assert (rows[0]["score_chosen"], rows[0]["score_rejected"]) == (8.0, 5.0)


def test_categories_are_ordered_by_pass_and_fail_or_by_the_declared_scale(tmp_path):
    scale = ("poor", "fair", "good")
    said = [
        *(single(0, True), single(1, "fail")),
        *(single(2, "poor", question="Q", scale=scale), single(3, "good", question="Q", scale=scale)),
        *(single(4, "[blue", question="R"), single(5, {"category": "a=b"}, question="R")),
    ]
    result, rows = exported(tmp_path / "d", said)
    assert pairs(rows) == [("item-0", "item-1", 1.0), ("item-3", "item-2", 2.0)]
    assert dropped(result) == {"no_order": 2}


def test_comparisons_are_taken_before_grades_unless_asked_otherwise(tmp_path):
    said = [judgment(0), single(1, 3), single(2, 8)]
    result, rows = exported(tmp_path / "d", said)
    assert ([row["item_id"] for row in rows], dropped(result)) == (["item-0"], {"single_response": 2})
    result, rows = exported(tmp_path / "e", said, from_grades=True)
    assert (pairs(rows), dropped(result)) == ([("item-2", "item-1", 5.0)], {"comparison": 1})


def test_too_many_responses_to_one_question_are_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(graded, "MOST_PAIRS", 2)
    with pytest.raises(InputError, match="3 pairs of responses to the same question, more than 2"):
        exported(tmp_path / "d", [single(number, number) for number in range(3)])


class TestSingleRows:
    def test_categories_and_grades_over_a_pass_mark_say_what_is_desired(self, tmp_path):
        said = [
            *(single(0, "pass"), single(1, False), single(2, 7.0), single(3, 6.9), single(4, "blue")),
            *(single(5, True), single(5, False, judge="jay")),
        ]
        result, rows = exported(tmp_path / "d", said, format="kto", pass_mark=7)
        assert [(row["item_id"], row["label"]) for row in rows] == [
            *(("item-0", True), ("item-1", False), ("item-2", True), ("item-3", False)),
        ]
        assert rows[0]["completion"] == "Answer number 0, in so many words."
        assert dropped(result) == {"neither_pass_nor_fail": 1, "judge_conflict": 1}

    def test_the_majority_of_judges_decides(self, tmp_path):
        said = [single(0, True), single(0, True, judge="jay"), single(0, False, judge="wren")]
        _, rows = exported(tmp_path / "d", said, format="kto", reconcile="majority")
        assert [(row["label"], row["votes"], row["judge"]) for row in rows] == [(True, 3, "jay, owl")]

    def test_without_a_pass_mark_grades_are_desired_or_not_as_in_their_pairs(self, tmp_path):
        _, rows = exported(tmp_path / "d", [single(0, 3), single(1, 8)], format="kto")
        assert sorted((row["chosen_id"], row["label"]) for row in rows) == [("item-0", False), ("item-1", True)]


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
