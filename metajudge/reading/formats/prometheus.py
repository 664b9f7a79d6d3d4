"""Prometheus (Kim et al., 2023, 2024): Feedback and Preference Collection by GPT-4, and results of BiGGen-Bench.

The collections have ``orig_instruction, orig_response, orig_reference_answer, orig_criteria, orig_score,
orig_feedback``, or two responses with ``orig_preference``. BiGGen-Bench has ``capability, task, instance_idx,
system_prompt, input, reference_answer, score_rubric, response`` with ``JUDGE_score`` and ``JUDGE_feedback`` for each
judge, of which ``human`` is people, or ``score`` and ``feedback`` of one ``judge_model``. Several draws are a list.
"""

from collections.abc import Iterator
from typing import Any, Final

from metajudge.reading.formats.records import Record, Records, Score, get

_COLLECTED: Final[dict[str, Any]] = {
    "also": "orig_.*",
    "question": "orig_instruction",
    "models": {},
    "prefix": "prometheus",
    "reference": "orig_reference_answer",
    "instruction": "orig_criteria",
}
FEEDBACK: Final = Records(
    name="Prometheus feedback",
    marks="orig_instruction, orig_response, orig_score, orig_feedback",
    answers={"A": "orig_response"},
    scores=(Score(value="orig_score", judge="=gpt-4", reason="orig_feedback"),),
    **_COLLECTED,
)
PREFERENCES: Final = Records(
    name="Prometheus preferences",
    marks="orig_instruction, orig_response_A, orig_response_B, orig_preference",
    answers={"A": "orig_response_A", "B": "orig_response_B"},
    scores=(Score(value="orig_preference", judge="=gpt-4", reason="orig_feedback"),),
    **_COLLECTED,
)


_MODEL: Final = "model_name|response_model_name"
_JUDGE: Final = "judge_model|judge_model_name|eval_model_name"


def _asked(record: Record) -> Any:
    system, user = record.get("system_prompt"), {"role": "user", "content": record["input"]}
    return [{"role": "system", "content": system}, user] if system else record["input"]


def _scored(record: Record) -> Iterator[Score]:
    for key in record:
        judge, scored, rest = key.rpartition("_score")
        if scored and judge and not rest:
            human = judge == "human"
            yield Score(value=key, judge=None if human else f"={judge}", reason=f"{judge}_feedback", by="annotator")
    if "score" in record:
        yield Score(value="score", judge=_JUDGE, reason="feedback")


BIGGEN: Final = Records(
    name="BiGGen-Bench results",
    marks="capability, task, instance_idx, input, score_rubric, response",
    also=".+_score|.+_feedback|score|judge_model(_name)?|annotator",
    question=_asked,
    answers={"A": "response"},
    models={"A": _MODEL},
    id=lambda record: "/".join(str(one) for one in (record.get("id"), get(record, _MODEL)) if one),
    category="capability",
    reference="reference_answer",
    instruction="score_rubric.criteria",
    scores=_scored,
)
