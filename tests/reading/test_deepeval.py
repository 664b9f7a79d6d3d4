"""DeepEval's test runs, as it wrote them and in the shapes of other versions."""

from typing import Any

import pytest

from metajudge.reading import open_judgments
from metajudge.types import Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.reading.interop_files import INTEROP


def metric(score: Any = 1.0, **changes: Any) -> dict[str, Any]:
    return {"name": "Tone", "score": score, "reason": "Kind.", "evaluationModel": "gpt-4o", "success": True} | changes


@pytest.mark.parametrize("names", [["test_run.json"], ["results.json"], ["results.json", "test_run.json"]])
def test_what_deepeval_wrote_is_read_without_flags_and_counts_once(names: list[str]) -> None:
    source = open_judgments([INTEROP / "deepeval" / name for name in names])
    found = {(one.judge, one.item.question): one for one in source}
    assert (len(found), source.rejects, source.duplicates) == (12, 0, 12 * (len(names) - 1))
    for told in CASES:
        right = found["gpt-4o-mini/Correctness [GEval]", told.question]
        tone = found["gpt-4o-mini/Tone [GEval]", told.question]
        assert right.item.responses == {"A": told.answer}
        assert right.item.id != tone.item.id
        assert (right.meta["judge_model"], right.item.reference) == ("gpt-4o-mini", told.answer)
        if told.judge is None:
            assert right.no_verdict.startswith("the metric ended with an error: ")
        else:
            assert (right.verdict, right.rationale) == (Grade(float(told.judge)), EXPLANATIONS[told.judge])
            assert (tone.verdict, tone.instruction) == (Grade(told.tone / 5), "The tone is friendly.")
