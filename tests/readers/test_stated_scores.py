from typing import Any

import pytest

from metajudge.readers.stated_scores import StatedScore, is_program, reason_text, stated, stated_columns, time_text


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
