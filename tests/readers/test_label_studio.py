"""Label Studio's tasks, in the published shape as the models of its SDK write it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metajudge.readers import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]
TASKS = INTEROP / "published" / "label-studio.json"
WORDS = {True: "correct", False: "wrong"}


def test_predictions_are_verdicts_and_annotations_labels() -> None:
    source = open_judgments([TASKS])
    found = {(one.judge, one.item.question): one for one in source}
    assert (source.formats, source.rejects, source.people.matched) == ({str(TASKS): "Label Studio tasks"}, 0, 7)
    for case in CASES:
        tone = found["gpt-4o-mini/tone", case.question]
        assert (tone.verdict, tone.rationale, tone.item.labels) == (Grade(case.tone), "", ())
        right = found.get(("gpt-4o-mini/correctness", case.question))
        if case.judge is not None:
            assert right is not None
            assert (right.verdict, right.rationale) == (Category(WORDS[case.judge]), EXPLANATIONS[case.judge])
            said = {one.annotator: one.value for one in right.item.labels}
            people = {"anna": "1", "ben": "2"}
            assert said == {people[who]: Category(WORDS[yes]) for who, yes in case.people.items()}
            assert all(one.time is not None for one in right.item.labels)
            assert right.meta["time"] == "2026-11-01T10:00:00+00:00"


def task(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    data = {"prompt": "?", "answer1": "x", "answer2": "y"}
    return {
        "id": 7,
        "data": data,
        "predictions": [{"model_version": "m", "result": list(results)}],
        "annotations": [],
    } | more


def test_a_pair_is_a_pair_and_cancelled_annotations_are_no_labels(write: Write) -> None:
    side = {"from_name": "better", "type": "pairwise", "value": {"selected": "right"}}
    text = {"from_name": "why", "type": "textarea", "value": {"text": ["Two", "lines"]}}
    by = [
        {"completed_by": {"email": "anna@example.org"}, "result": [side], "was_cancelled": gone}
        for gone in (False, True)
    ]
    (one,) = open_judgments([write("tasks.json", json.dumps([task(side, text, annotations=by, project=83)]))])
    assert one.item.id == "83/7"
    assert (str(one.verdict), one.rationale, one.item.responses) == ("B>A", "Two\nlines", {"A": "x", "B": "y"})
    assert [label.annotator for label in one.item.labels] == ["anna@example.org"]


def test_a_text_about_several_scores_is_nobodys_rationale(write: Write) -> None:
    scores = [
        {"from_name": name, "type": "rating", "value": {"rating": number}} for name, number in (("a", 1), ("b", 2))
    ]
    text = {"from_name": "why", "type": "textarea", "value": {"text": "Because."}}
    tasks = [task(*scores, text, data={"question": "?", "answer": "!"})]
    found = list(open_judgments([write("tasks.json", json.dumps(tasks))]))
    assert [(one.rationale, one.meta["texts"]) for one in found] == [("", {"why": "Because."})] * 2
