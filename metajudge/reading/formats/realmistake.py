"""ReaLMistake (Kamoi et al., "Evaluating LLMs at Detecting Errors in LLM Responses", COLM 2024): error detection.

Read are the repository's outputs of error detection as one JSONL, each record with ``judge`` and ``prompt_name`` beside
the published fields. Every record is a judgment of one response, ``error`` or ``no_error``, and carries the experts'
label. The judge is ``model/prompt``: five prompts of one model are five judges with one ``meta["judge_model"]``.

The authors keep the texts out of such files. The question is therefore the name of the task's example, which the two
response models share, so that their responses stay one question; the response is :data:`WITHHELD`.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from metajudge.reading.containers.lines import Line
from metajudge.reading.formats.pairs import NO_VERDICT, BenchmarkLine
from metajudge.types import Judgment

FORMAT = "ReaLMistake detections"
WITHHELD = "(the text is not part of the recorded verdicts)"
"""What stands for a response."""

RESPONSE = "A"
"""The id of the one response."""

Mark = Literal["error", "no_error"]


class _Example(BaseModel):
    id: str
    task_name: str
    task_source: str | None = None
    llm_response_model: str | None = None
    difficulty: str | None = None


class DetectionRow(BenchmarkLine):
    """A line: what one judge said of one response by one prompt; ``prediction`` is null where nothing was read."""

    response: str | None = None
    prediction: Mark | None
    label: Mark
    metadata: _Example
    judge: str
    prompt_name: str


def is_detection(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of this format."""
    metadata = record.get("metadata")
    known = record.keys() >= {"prediction", "label", "judge", "prompt_name"} and isinstance(metadata, dict)
    return known and record["metadata"].keys() >= {"id", "task_name"}


def judgments(line: Line) -> list[Judgment]:
    """The judgment of a row; its category is the task, its label the experts'."""
    row = DetectionRow.model_validate(line.data)
    judge, example = f"{row.judge}/{row.prompt_name}", row.metadata
    model, task = example.llm_response_model, example.task_name
    text = (row.response or "").strip()
    meta = {
        "dataset": "realmistake",
        "judge_model": row.judge,
        "judge_prompt": row.prompt_name,
        "task_source": example.task_source,
        "difficulty": example.difficulty,
    }
    item = {
        "id": example.id,
        "question": f"{task}: {example.id.removesuffix(f'_{model}')}",
        "responses": {RESPONSE: WITHHELD},
        "category": task,
        "label": row.label,
        "models": {RESPONSE: model} if model else None,
    }
    judgment = {
        "id": f"{example.id}/{judge}",
        "item": item,
        "judge": judge,
        "verdict": row.prediction,
        "no_verdict": None if row.prediction is not None else NO_VERDICT if text else "the judge's answer is empty",
        "rationale": text,
        "meta": {name: value for name, value in meta.items() if value is not None},
    }
    return [Judgment.model_validate(judgment)]
