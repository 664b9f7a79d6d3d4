"""Every place of every format's record, with every kind of wrong value: an error or a reject, never a crash."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, parse_map

WRONG: tuple[Any, ...] = (None, 7, "", "x", "\ud800", True, [], [None], {}, {"a": None}, float("nan"))

PROMPT = (
    "<|User Prompt|>\n?\n\n<|The Start of Assistant A's Answer|>\nx\n<|The End of Assistant A's Answer|>\n\n"
    "<|The Start of Assistant B's Answer|>\ny\n<|The End of Assistant B's Answer|>"
)
GRADED = {
    "value": "C",
    "answer": "4",
    "explanation": "e",
    "metadata": {"grading": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!", "model": "g"}]},
}
ASSERTED = [
    {"pass": True, "score": 1, "reason": "r", "assertion": {"type": kind, "value": "v", "provider": {"id": "g"}}}
    for kind in ("llm-rubric", "select-best")
]
ASSERTED.append({"pass": True, "assertion": {"type": "human"}})
ASSERTED[0]["metadata"] = {"http": {"headers": {"date": "Mon, 23 Nov 2026 07:50:46 GMT"}}, "graderError": False}
PERSON = {"author": "a", "timestamp": "2026-11-02"}
PANEL = {
    "value": {"right": "C"},
    "explanation": "e",
    "metadata": {
        "grading": GRADED["metadata"]["grading"],
        "panel": {"votes": ["C", None], "size": 2, "failures": [{"index": 1, "reason": "r"}]},
    },
    "history": [{"value": {"right": "C"}}, {"value": {"right": "I"}, "provenance": PERSON}],
}
RESULT = {
    "promptIdx": 0,
    "testIdx": 0,
    "provider": {"id": "m"},
    "prompt": {"raw": "?"},
    "response": {"output": "!"},
    "testCase": {"options": {"provider": "g"}, "metadata": {"category": "c"}},
    "gradingResult": {"pass": True, "score": 1, "reason": "", "componentResults": ASSERTED},
}
RECORDS: dict[str, Any] = {
    "arena-hard": {
        "uid": "u",
        "category": "c",
        "judge": "j",
        "model": "m",
        "baseline": "b",
        "games": [
            {"score": "A>B", "judgment": {"answer": "a"}, "prompt": [{"role": "user", "content": PROMPT}]},
            {"score": "A=B", "judgment": "a", "user_prompt": None},
        ],
    },
    "alpaca-eval": {
        "instruction": "?",
        "output_1": "x",
        "output_2": "y",
        "annotator": "j",
        "preference": 1,
        "raw_completion": {"concise_explanation": "e", "ordered_models": [{"model": "m", "rank": 1}]},
    },
    "promptfoo": {
        "evalId": "e",
        "results": {"version": 3, "results": [RESULT], "stats": {}},
        "config": {"defaultTest": {}},
    },
    "inspect": {
        "status": "success",
        "eval": {
            "task": "t",
            "run_id": "r",
            "model": "m",
            "scorers": [{"name": "model_graded_fact", "options": {"model": ["g", "h"]}}],
            "model_roles": {"grader": {"model": "g"}},
        },
        "samples": [
            {"id": 1, "epoch": 1, "input": "?", "target": ["4"], "output": {"completion": "4"}, "metadata": {}}
            | {"scores": {"model_graded_qa": GRADED, "model_graded_fact": PANEL, "match": {"value": "C"}}}
            | {"completed_at": "2026-11-01T10:00:00Z", "error": None}
        ],
    },
    "deepeval": {
        "testCases": [
            {
                "name": "c",
                "input": "?",
                "actualOutput": "!",
                "expectedOutput": "!",
                "context": ["p"],
                "metricsData": [
                    {"name": "m", "score": 1, "reason": "r", "evaluationModel": "g", "verboseLogs": "Criteria:\nc"}
                ],
            },
            {"turns": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}
            | {"metricsData": [{"metric": "m", "score": None, "error": "e", "evaluation_model": "g"}]},
        ]
    },
    "langfuse": {
        "trace": {"id": "t", "input": {"question": "?"}, "output": {"answer": "!"}, "name": "n"},
        "observations": [{"id": "o", "traceId": "t", "input": "a", "output": "b"}],
        "scores": [{"id": "s", "traceId": "t", "name": "n", "value": 1, "source": "EVAL", "comment": "c"}],
    },
    "mapped": {"q": "?", "x": "a", "y": "b", "w": "A", "j": "g", "o": "BA", "m": {"k": 1}, "l": ["1", "2"], "mx": "n"},
    "langsmith": {"input.q": "?", "outputs.a": "!", "reference.a": "r", "feedback.k": 1, "id": "r"},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from places(inner, (*path, key))


def replaced(record: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    data = copy.deepcopy(record)
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = wrong
    return data


NAMES = [pytest.param(one, marks=[pytest.mark.slow] * (one in ("inspect", "promptfoo"))) for one in RECORDS]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_value_anywhere_is_an_error_or_a_reject(tmp_path: Path, name: str) -> None:
    record = RECORDS[name]
    path = tmp_path / "x.jsonl"
    mapping = None
    if name == "mapped":
        mapping = parse_map(
            ["question=q,responses.A=x,responses.B=y,verdict=w,judge=j,order=o,meta=m,labels=l,models.A=mx"]
        )
    path.write_text(json.dumps(record))
    assert len(list(open_judgments([path], mapping=mapping))) >= 1
    for place in places(record):
        for wrong in WRONG:
            path.write_text(json.dumps(replaced(record, place, wrong)))
            try:
                list(open_judgments([path], mapping=mapping).scan())
            except InputError:
                continue
            except Exception as error:
                raise AssertionError(f"{name}: {place} = {wrong!r}") from error
