"""Names that say who gave a value."""

import pytest

from metajudge.readers.guessed_names import is_judges_name, is_label_name

PEOPLE = (
    "label human human_score Human-Rating human_1 gold gold_label expert expert_2 annotator_1 ground_truth score_human"
)
JUDGES = "judge_score llm_score judge_label LLM-label auto_score judge_verdict gpt4_score ai_rating"
NEITHER = (
    "annotator person score verdict judge rationale gold_answer human_answer response labels judge_model expertise"
)


@pytest.mark.parametrize("name", PEOPLE.split())
def test_names_of_peoples_labels(name: str) -> None:
    assert is_label_name(name)
    assert not is_judges_name(name)


@pytest.mark.parametrize("name", JUDGES.split())
def test_names_of_a_judges_verdict(name: str) -> None:
    assert is_judges_name(name)
    assert not is_label_name(name)


@pytest.mark.parametrize("name", NEITHER.split())
def test_names_that_are_neither(name: str) -> None:
    assert not is_label_name(name)
    assert not is_judges_name(name)
