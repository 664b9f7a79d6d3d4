"""UltraFeedback (Cui et al., 2023): an instruction with ``completions``, each of a model and annotated by GPT-4.

A completion has ``response``, ``model``, ``annotations: {ASPECT: {"Rating", "Rationale"}}`` and, over all,
``overall_score`` with ``critique``. Each is an item, each aspect a criterion apart; a rating ``N/A`` is no verdict.
"""

from collections.abc import Iterator
from typing import Final

from metajudge.reading.containers.cells import object_in
from metajudge.reading.formats.records import Record, Records, Score
from metajudge.types import digest

_RATIONALES: Final = ("Rationale For Rating", "Rationale")


def _completions(record: Record) -> Iterator[Record]:
    yield from (
        {**one, "source": record.get("source"), "instruction": record["instruction"]} for one in record["completions"]
    )


def _said(record: Record) -> Iterator[Score]:
    for aspect, said in object_in(record.get("annotations")).items():
        reason = next((said[key] for key in _RATIONALES if said.get(key)), "")
        yield Score(value=f"annotations.{aspect}.Rating", judge="=gpt-4", name=aspect, reason=f"={reason}")
    if record.get("overall_score") is not None:
        yield Score(value="overall_score", judge="=gpt-4", name="overall", reason="critique")


FORMAT: Final = Records(
    name="UltraFeedback",
    marks="instruction, completions, source|models",
    also="(in)?correct_answers",
    parts=_completions,
    question="instruction",
    answers={"A": "response"},
    models={"A": "model"},
    id=lambda record: f"{digest(record['instruction'])[:16]}/{record['model']}",
    prefix="ultrafeedback",
    category="source",
    scores=_said,
)
