"""Names that say who gave a value."""

import pytest

from metajudge.readers.guessed_values import is_judges_name, is_label_name

PEOPLE = (
    "label human human_score Human-Rating human_1 gold gold_label expert expert_2 annotator_1 ground_truth score_human"
)
JUDGES = "judge_score llm_score judge_label LLM-label auto_score judge_verdict gpt4_score ai_rating"
NEITHER = (
    "annotator person score verdict judge rationale gold_answer human_answer response labels judge_model expertise"
)


KINDS = [(PEOPLE, (True, False)), (JUDGES, (False, True)), (NEITHER, (False, False))]


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for names, kind in KINDS for name in names.split()])
def test_whose_value_a_name_says_it_is(name: str, kind: tuple[bool, bool]) -> None:
    assert (is_label_name(name), is_judges_name(name)) == kind
