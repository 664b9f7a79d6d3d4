"""ReaLMistake (Kamoi et al., "Evaluating LLMs at Detecting Errors in LLM Responses", COLM 2024): error detection.

Read are the repository's outputs of error detection as one JSONL, each record with ``judge`` and ``prompt_name`` beside
the published fields. Every record is a judgment of one response, ``error`` or ``no_error``, and carries the experts'
label. The judge is ``model/prompt``: five prompts of one model are five judges with one ``meta["judge_model"]``.

The authors keep the texts out of such files. The question is therefore the name of the task's example, which the two
response models share, so that their responses stay one question; the response is :data:`WITHHELD`.
"""

from collections.abc import Mapping
from typing import Any, Literal

from metajudge.reading.containers.lines import Line
from metajudge.reading.formats.pairs import EMPTY, NO_VERDICT, known_only, shape
from metajudge.types import Judgment

FORMAT = "ReaLMistake detections"
WITHHELD = "(the text is not part of the recorded verdicts)"
"""What stands for a response."""

Mark = Literal["error", "no_error"]
_ROW = shape(
    "response~ prediction? label metadata judge prompt_name",
    prediction=Mark,
    label=Mark,
    metadata=shape("id task_name task_source~ llm_response_model~ difficulty~"),
)
"""What one judge said of one response by one prompt; ``prediction`` is null where nothing was read."""


def is_detection(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of this format."""
    metadata = record.get("metadata")
    known = record.keys() >= {"prediction", "label", "judge", "prompt_name"} and isinstance(metadata, dict)
    return known and record["metadata"].keys() >= {"id", "task_name"}


def judgments(line: Line) -> list[Judgment]:
    """The judgment of a row; its category is the task, its label the experts'."""
    row = _ROW.model_validate(line.data)
    judge, example, text = f"{row.judge}/{row.prompt_name}", row.metadata, (row.response or "").strip()
    model, task, missing = example.llm_response_model, example.task_name, NO_VERDICT if text else EMPTY
    meta = {"dataset": "realmistake", "judge_model": row.judge, "judge_prompt": row.prompt_name}
    item = {
        "id": example.id,
        "question": f"{task}: {example.id.removesuffix(f'_{model}')}",
        "responses": {"A": WITHHELD},
        "category": task,
        "label": row.label,
        "models": {"A": model} if model else None,
    }
    judgment = {
        "id": f"{example.id}/{judge}",
        "item": item,
        "judge": judge,
        "verdict": row.prediction,
        "no_verdict": missing if row.prediction is None else None,
        "rationale": text,
        "meta": known_only({**meta, "task_source": example.task_source, "difficulty": example.difficulty}),
    }
    return [Judgment.model_validate(judgment)]
