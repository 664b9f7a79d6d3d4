"""Every place of a record of every format, with every kind of wrong value: an error or a reject, never a crash."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments, parse_map
from tests.readers.interop_files import INTEROP

WRONG: tuple[Any, ...] = (None, 7, "", "x", "\ud800", True, [], [None], {}, {"a": None}, float("nan"))
MAP = "question=q,responses.A=x,responses.B=y,verdict=w,judge=j,order=o,meta=m,labels=l,models.A=mx"
SCORED = [{"id": "s", "traceId": "t", "name": "n", "value": 1, "source": "EVAL", "comment": "c"}]
SEEN = [{"id": "o", "traceId": "t", "input": "a", "output": "b"}]
RECORDS: dict[str, Any] = {
    "mapped": {"q": "?", "x": "a", "y": "b", "w": "A", "j": "g", "o": "BA", "m": {"k": 1}, "l": ["1", "2"], "mx": "n"},
    "langsmith": {"input.q": "?", "outputs.a": "!", "reference.a": "r", "feedback.k": 1, "id": "r"},
    "langfuse": {
        "trace": {"id": "t", "input": {"question": "?"}, "output": {"answer": "!"}, "name": "n"},
        "observations": SEEN,
        "scores": SCORED,
    },
}
FILES = (
    *("alpaca_eval/alpaca-reasons.json", "argilla.json", "deepeval/results.json", "fastchat/gpt-4_pair.jsonl"),
    *("inspect/log.json", "promptfoo/results.jsonl", "published/arena-hard.jsonl", "ragas/ragas-annotations.json"),
    *("mlflow-traces.jsonl", "published/openai-evals.json", "published/rewardbench2-results.json"),
)
"""Exports of tools, of which every list is cut to its first entries."""
KEPT = {"published/arena-hard.jsonl": 2, "published/rewardbench2-results.json": 4}
SLOW = ("inspect/log.json", "promptfoo/results.jsonl")


def record(name: str) -> Any:
    if name in RECORDS:
        return RECORDS[name]
    text = (INTEROP / name).read_text()
    return cut(json.loads(text.splitlines()[0] if name.endswith(".jsonl") else text), KEPT.get(name, 1))


def cut(value: Any, most: int) -> Any:
    if isinstance(value, list):
        return [cut(one, most) for one in value[:most]]
    return {key: cut(one, most) for key, one in value.items()} if isinstance(value, dict) else value


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


NAMES = [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in (*RECORDS, *FILES)]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_value_anywhere_is_an_error_or_a_reject(tmp_path: Path, name: str) -> None:
    whole, path = record(name), tmp_path / "x.jsonl"
    mapping = parse_map([MAP]) if name == "mapped" else None
    path.write_text(json.dumps(whole))
    assert len(list(open_judgments([path], mapping=mapping))) >= 1
    for place in places(whole):
        for wrong in WRONG:
            path.write_text(json.dumps(replaced(whole, place, wrong)))
            try:
                list(open_judgments([path], mapping=mapping).scan())
            except InputError:
                continue
            except Exception as error:
                raise AssertionError(f"{name}: {place} = {wrong!r}") from error
