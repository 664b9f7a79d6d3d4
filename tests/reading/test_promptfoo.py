from datetime import datetime

import pytest

from metajudge.reading import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.reading.interop_files import INTEROP

RUN = INTEROP / "promptfoo"


@pytest.mark.parametrize(
    "names", [["results.json"], ["results.jsonl"], ["results.csv", "results.json", "results.jsonl"]]
)
def test_what_promptfoo_wrote_is_read_without_flags_and_counts_once(names: list[str]) -> None:
    source = open_judgments([RUN / name for name in names])
    found = list(source)
    assert (len(found), source.rejects, source.duplicates) == (9, 0, 9 * (len(names) - 1))
    told = {case.question: case for case in CASES}
    for one in found:
        case = told[one.item.question]
        assert (one.item.responses, one.item.models) == ({"A": case.answer}, {"A": "openai:chat:answerer"})
        assert one.meta["judge_model"] == "openai:chat:gpt-4o-mini"
        if one.meta["metric"] == "tone":
            assert (one.verdict, one.judge) == (Grade(0.8), "openai:chat:gpt-4o-mini/g-eval")
        elif case.judge is None:
            assert one.no_verdict == "the grader failed: Could not extract JSON from llm-rubric response"
        else:
            assert (one.verdict, one.rationale) == (Grade(float(case.judge)), EXPLANATIONS[case.judge])
            assert one.instruction == f"The answer to this is right: {case.question}"
            assert datetime.fromisoformat(one.meta["time"]).year == 2026
    repeated = [one for one in found if one.item.question == CASES[0].question]
    assert (len(repeated), len({one.item.id for one in repeated})) == (4, 2)
    labelled = [one.item.labels[0].value for one in found if one.item.labels]
    assert labelled == ([] if names == ["results.jsonl"] else [Category(False)])


def test_a_choice_that_promptfoo_wrote() -> None:
    (one,) = open_judgments([RUN / "best.json"])
    assert (str(one.verdict), one.item.responses) == ("B>A", {"A": "144", "B": "144"})
