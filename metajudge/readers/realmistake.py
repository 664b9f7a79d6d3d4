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

from metajudge.readers.lines import Line
from metajudge.readers.pairs import BenchmarkLine
from metajudge.types import Item, Judgment

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

    @property
    def name(self) -> str:
        """The id without the model that answered."""
        return self.id.removesuffix(f"_{self.llm_response_model}")


class DetectionRow(BenchmarkLine):
    """A line: what one judge said of one response by one prompt; ``prediction`` is null where nothing was read."""

    response: str | None = None
    prediction: Mark | None
    label: Mark
    metadata: _Example
    judge: str
    prompt_name: str

    def item(self) -> Item:
        """The response, its experts' label and its task as category."""
        model = self.metadata.llm_response_model
        return Item.model_validate(
            {
                "id": self.metadata.id,
                "question": f"{self.metadata.task_name}: {self.metadata.name}",
                "responses": {RESPONSE: WITHHELD},
                "category": self.metadata.task_name,
                "label": self.label,
                "models": {RESPONSE: model} if model else None,
            }
        )


def is_detection(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of this format."""
    metadata = record.get("metadata")
    return (
        record.keys() >= {"prediction", "label", "judge", "prompt_name"}
        and isinstance(metadata, dict)
        and metadata.keys() >= {"id", "task_name"}
    )


def judgments(line: Line) -> list[Judgment]:
    """The judgment of a row."""
    row = DetectionRow.model_validate(line.data)
    judge, example = f"{row.judge}/{row.prompt_name}", row.metadata
    meta = {
        "dataset": "realmistake",
        "judge_model": row.judge,
        "judge_prompt": row.prompt_name,
        "task_source": example.task_source,
        "difficulty": example.difficulty,
    }
    text = (row.response or "").strip()
    why = "no verdict could be read from the judge's answer" if text else "the judge's answer is empty"
    judgment = Judgment.model_validate(
        {
            "id": f"{example.id}/{judge}",
            "item": row.item(),
            "judge": judge,
            "verdict": row.prediction,
            "no_verdict": None if row.prediction is not None else why,
            "rationale": text,
            "meta": {name: value for name, value in meta.items() if value is not None},
        }
    )
    return [judgment]
