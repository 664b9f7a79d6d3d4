"""Writes files in shapes that are published, without the system that writes them: ``make_published DIR``.

``pip install openai label-studio-sdk``, then ``python -m benchmarks.interop.make_published DIR``. Output items of
OpenAI Evals are validated as ``openai.types.evals.runs.OutputItemListResponse``; the predictions and annotations of
Label Studio's tasks as ``label_studio_sdk.types.Prediction`` and ``Annotation``. Results of RewardBench 2 and of
Arena-Hard have the fields that their scripts write (``run_v2.py``, ``gen_judgment.py``). No one of them was run.
"""

import json
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .cases import CASES, EXPLANATIONS, Case
from .pair_cases import ANSWERS, MODELS

_CREATED = 1793527200
_TIME = "2026-11-01T10:00:00Z"
_WORDS = {True: "correct", False: "wrong"}


def main(folder: Path) -> None:
    """Writes the four files."""
    _write(folder / "openai-evals.json", _output_items())
    _write(folder / "label-studio.json", _tasks())
    _write(folder / "rewardbench2-results.json", _results())
    lines = "".join(json.dumps(one) + "\n" for one in _games())
    (folder / "arena-hard.jsonl").write_text(lines)
    print(f"openai {version('openai')}: {len(CASES)} output items; label-studio-sdk {version('label-studio-sdk')}")


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")


def _output_items() -> dict[str, Any]:
    types: Any = import_module("openai.types.evals.runs")
    items = []
    for number, case in enumerate(CASES):
        results = [
            {
                "name": "tone",
                "type": "score_model",
                "passed": case.tone >= 3,
                "score": float(case.tone),
                "sample": _sample("Grade the tone.", f"The tone is {case.tone} of 5.", "gpt-4o-mini"),
            },
            {"name": "same text", "type": "string_check", "passed": False, "score": 0.0, "sample": None},
        ]
        if case.judge is not None:
            said = _sample("Is it right?", EXPLANATIONS[case.judge], "gpt-4o-mini")
            graded = {"name": "correctness", "type": "label_model", "passed": case.judge, "score": float(case.judge)}
            results.append({**graded, "sample": said})
        item = {
            "object": "eval.run.output_item",
            "id": f"outputitem_{number}",
            "created_at": _CREATED + number,
            "run_id": "evalrun_1",
            "eval_id": "eval_1",
            "status": "pass" if case.judge else "fail",
            "datasource_item_id": number,
            "datasource_item": {"item": {"question": case.question, "reference": "144" if number == 0 else None}},
            "results": results,
            "sample": _sample(case.question, case.answer, MODELS[0]),
        }
        items.append(types.OutputItemListResponse.model_validate(item).model_dump(mode="json"))
    return {"object": "list", "data": items, "first_id": items[0]["id"], "last_id": items[-1]["id"], "has_more": False}


def _sample(asked: str, answered: str, model: str) -> dict[str, Any]:
    return {
        "input": [{"role": "user", "content": asked}],
        "output": [{"role": "assistant", "content": answered}],
        "finish_reason": "stop",
        "model": model,
        "usage": {"total_tokens": 20, "completion_tokens": 10, "prompt_tokens": 10, "cached_tokens": 0},
        "error": {"code": "", "message": ""},
        "temperature": 1.0,
        "max_completion_tokens": 256,
        "top_p": 1.0,
        "seed": 42,
    }


def _tasks() -> list[dict[str, Any]]:
    types: Any = import_module("label_studio_sdk.types")
    tasks = []
    for number, case in enumerate(CASES, start=1):
        said = [] if case.judge is None else [_choice(case.judge), _text(EXPLANATIONS[case.judge])]
        rating = {"from_name": "tone", "to_name": "answer", "type": "rating", "value": {"rating": case.tone}}
        prediction = {"id": number, "task": number, "model_version": "gpt-4o-mini", "result": [*said, rating]}
        tasks.append(
            {
                "id": number,
                "data": {"question": case.question, "answer": case.answer},
                "created_at": _TIME,
                "updated_at": _TIME,
                "predictions": [_checked(types.Prediction, {**prediction, "created_at": _TIME})],
                "annotations": [_checked(types.Annotation, one) for one in _annotations(number, case)],
            }
        )
    return tasks


def _annotations(task: int, case: Case) -> list[dict[str, Any]]:
    people = {"anna": 1, "ben": 2}
    return [
        {
            "id": 10 * task + people[person],
            "task": task,
            "completed_by": people[person],
            "result": [_choice(right)],
            "was_cancelled": False,
            "created_at": _TIME,
            "updated_at": _TIME,
        }
        for person, right in case.people.items()
    ]


def _choice(right: bool) -> dict[str, Any]:
    value = {"choices": [_WORDS[right]]}
    return {"from_name": "correctness", "to_name": "answer", "type": "choices", "value": value}


def _text(reason: str) -> dict[str, Any]:
    return {"from_name": "correctness_reason", "to_name": "answer", "type": "textarea", "value": {"text": [reason]}}


def _checked(model: Any, data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = model.model_validate(data).model_dump(mode="json", exclude_none=True)
    return found


def _results() -> dict[str, Any]:
    scores = [[[2.5], [1.0], [0.5], [-1.0]], [[0.25], [0.75], [0.75], [-2.0]], [[1.5], [1.25], [0.0], [-0.5]]]
    return {
        "id": ["1", "2", "0"],
        "subset": ["Factuality", "Focus", "Ties"],
        "num_correct": [1, 1, 2],
        "scores": scores,
        "results": [1.0, 0.0, 1.0],
        "model": "ours/wren-reward",
        "model_type": "Seq. Classifier",
    }


def _games() -> list[dict[str, Any]]:
    marks = (("A>B", "B>A"), ("B>>A", "A>B"), ("A=B", "A=B"), ("A>B", None), ("B>A", "B>A"), ("A>>B", "B>>A"))
    rows = []
    for number, case in enumerate(CASES):
        answers = case.answer, ANSWERS[MODELS[1]][number]
        games = []
        for mark, (first, second) in zip(marks[number], (answers, answers[::-1]), strict=True):
            prompt = (
                f"<|User Prompt|>\n{case.question}\n\n<|The Start of Assistant A's Answer|>\n{first}\n"
                "<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's Answer|>\n"
                f"{second}\n<|The End of Assistant B's Answer|>"
            )
            said = "No mark." if mark is None else f"My final verdict is: [[{mark}]]"
            games.append(
                {
                    "score": mark,
                    "judgment": {"answer": said},
                    "prompt": [{"role": "system", "content": "Compare."}, {"role": "user", "content": prompt}],
                }
            )
        rows.append(
            {
                "uid": f"case-{number}",
                "category": "ours",
                "judge": "gpt-4o-mini",
                "model": MODELS[1],
                "baseline": MODELS[0],
                "games": games,
            }
        )
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1]))
