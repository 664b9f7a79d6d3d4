from collections.abc import Callable
from pathlib import Path
from typing import Any

from metajudge.readers import open_judgments
from metajudge.readers.lines import Reject
from metajudge.readers.realmistake import WITHHELD
from metajudge.types import Category


def detection(model: str = "gpt-4-0613", **changes: Any) -> dict[str, Any]:
    metadata = {
        "id": f"math_problem_generation_7_{model}",
        "task_name": "math_problem_generation",
        "task_source": "aqua",
        "llm_response_model": model,
        "difficulty": "easy",
    }
    data = {
        "response": " The response errs. ",
        "prediction": "error",
        "label": "error",
        "correct": True,
        "metadata": metadata,
        "judge": "gpt-4",
        "prompt_name": "prompt_1",
    }
    return {**data, **changes}


def test_a_record_is_one_category_with_its_label_and_its_prompt(write: Callable[..., Path]) -> None:
    path = write("judgments.jsonl.gz", detection(), packed=True)
    source = open_judgments([path])
    (judgment,) = source
    assert list(source.formats.values()) == ["ReaLMistake detections"]
    assert (judgment.id, judgment.judge) == ("math_problem_generation_7_gpt-4-0613/gpt-4/prompt_1", "gpt-4/prompt_1")
    assert judgment.verdict == judgment.item.truth == Category("error")
    assert judgment.correct is True
    assert (judgment.rationale, judgment.item.category) == ("The response errs.", "math_problem_generation")
    assert (judgment.meta["judge_model"], judgment.meta["judge_prompt"]) == ("gpt-4", "prompt_1")
    assert judgment.item.responses == {"A": WITHHELD}
    assert judgment.item.models == {"A": "gpt-4-0613"}


def test_responses_of_both_models_to_one_example_are_one_question_and_two_items(write: Callable[..., Path]) -> None:
    first, second = open_judgments([write("r.jsonl", detection(), detection("meta-llama/Llama-2-70b-chat-hf"))])
    assert first.item.question == second.item.question
    assert first.item.id != second.item.id
    assert first.item.digest != second.item.digest


def test_an_unread_prediction_is_no_verdict_and_an_unknown_one_a_bad_line(write: Callable[..., Path]) -> None:
    rows = [detection(prediction=None), detection(prediction="maybe", prompt_name="prompt_2")]
    unread, bad = open_judgments([write("r.jsonl", *rows)]).scan()
    assert not isinstance(unread, Reject)
    assert unread.verdict is None
    assert "could be read" in (unread.no_verdict or "")
    assert isinstance(bad, Reject)
    assert "prediction" in bad.reason
