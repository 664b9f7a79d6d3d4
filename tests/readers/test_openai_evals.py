"""OpenAI Evals' output items, in the published shape as the models of its SDK write it."""

import json
from collections.abc import Callable
from pathlib import Path

from metajudge.readers import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]
PAGE = INTEROP / "published" / "openai-evals.json"


def test_each_grader_is_a_judge_with_its_model_and_reason() -> None:
    source = open_judgments([PAGE])
    found = {(one.judge, one.item.question): one for one in source}
    assert (source.formats, source.rejects) == ({str(PAGE): "OpenAI Evals output items"}, 0)
    assert len(found) == 17
    for case in CASES:
        tone = found["gpt-4o-mini/tone", case.question]
        assert (tone.verdict, tone.rationale) == (Grade(case.tone), f"The tone is {case.tone} of 5.")
        assert (tone.item.responses, tone.item.models) == ({"A": case.answer}, {"A": "heron-large"})
        assert tone.meta["time"] == f"2026-11-01T10:00:0{CASES.index(case)}+00:00"
        program = found["same text", case.question]
        assert (program.verdict, program.meta["source"]) == (Category(False), "CODE")
        right = found.get(("gpt-4o-mini/correctness", case.question))
        assert (right is None) == (case.judge is None)
        if right is not None and case.judge is not None:
            assert (right.verdict, right.rationale) == (Category(case.judge), EXPLANATIONS[case.judge])
            assert right.meta["score"] == float(case.judge)
    assert found["same text", CASES[0].question].item.reference == "144"


def test_items_one_a_line_and_as_a_list_are_the_same(write: Write) -> None:
    items = json.loads(PAGE.read_text())["data"]
    for path in (write("items.jsonl", *items), write("items.json", json.dumps(items))):
        assert list(open_judgments([path])) == list(open_judgments([PAGE]))
