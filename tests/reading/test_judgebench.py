from collections.abc import Callable
from typing import Any

import pytest

from metajudge.reading import open_judgments
from metajudge.reading.containers.lines import Reject, Source
from metajudge.reading.containers.tables import json_lines
from metajudge.reading.formats.judgebench import judgebench_output
from metajudge.types import Judgment
from tests.reading.conftest import Write

Found = Callable[..., list[Any]]


def pair(**changes: Any) -> dict[str, Any]:
    data = (
        {"dataset": "judgebench", "subset": "livebench-math", "category": "Math", "item_id": "p1"}
        | {"original_id": "7", "response_model": "gpt-4o", "question": "2 + 2?", "response_a": "4"}
        | {"response_b": "5", "label": "A>B"}
    )
    return {**data, **changes}


def game(order: str = "AB", **changes: Any) -> dict[str, Any]:
    data = (
        {"dataset": "judgebench", "subset": "livebench-math", "category": "Math", "item_id": "p1"}
        | {"response_model": "gpt-4o", "source_repo": "ScalerLab/JudgeBench", "judge_model": "o1"}
        | {"judge_prompt": "arena_hard", "order": order, "label": "A>B" if order == "AB" else "B>A"}
        | {"decision": "A>B", "verdict": "A>>B", "judgment_text": "Assistant A is right: [[A>>B]]"}
        | {"has_explanation": False}
    )
    return {**data, **changes}


def output(**changes: Any) -> dict[str, Any]:
    data = (
        {"pair_id": "p1", "original_id": 7, "source": "mmlu-pro-law", "question": "2 + 2?"}
        | {"response_model": "gpt-4o", "response_A": "4", "response_B": "5", "label": "A>B"}
        | {"judge_name": "arena_hard"}
        | {"judgments": [played("A>B", "So: [[A>>B]]"), played("B>A", "So: [[B>A]]")]}
    )
    return {**data, **changes}


def played(decision: str | None, response: str, **changes: Any) -> dict[str, Any]:
    answer = {"judge_model": "o1", "prompt": "<|User Prompt|>...", "response": response}
    return {"judgment": {**answer, **changes}, "decision": decision}


@pytest.fixture
def folder(write: Write) -> Found:
    def _folder(*games: dict[str, Any], pairs: tuple[Any, ...] = (pair(),)) -> list[Judgment | Reject]:
        write("jb/pairs.jsonl", *pairs)
        path = write("jb/judgments.jsonl", *games)
        return list(open_judgments([path.parent]).scan())

    return _folder


def test_pointwise_scores_and_rubrics_beside_it_are_no_games(write: Write) -> None:
    pointwise = {key: value for key, value in game().items() if key not in {"judgment_text", "verdict"}}
    write("jb/pairs.jsonl.gz", pair(), packed=True)
    write("jb/judgments.jsonl.gz", game(), packed=True)
    write("jb/judgments_pointwise.jsonl", {**pointwise, "score_a": 1, "score_b": 0, "text_a": "", "text_b": ""})
    path = write("jb/rubrics.jsonl", {"rubric_id": "r", "item_id": "p1", "rubric": "text"})
    source = open_judgments([path.parent])
    assert [judgment.id for judgment in source] == ["p1/o1/AB"]
    assert source.rejects == 0
    assert source.formats == {str(path.parent): "JudgeBench folder"}


def test_output_lines_with_faults_are_rejected_whole(write: Write) -> None:
    path = write("x", output(label="A>D"), output(judgments=[{"decision": "A>B"}]), output(question=None))
    found = list(judgebench_output(json_lines(Source(path, "x"))).read())
    assert [str(entry) for entry in found] == [
        "x:1: label names 'D', but the item's responses are A, B",
        "x:2: missing field 'judgments.0.judgment'",
        "x:3: 'question' must be a string, not null",
    ]
