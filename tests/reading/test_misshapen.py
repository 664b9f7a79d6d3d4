"""Records whose fields have other types, and the reasons that are given."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.reading import open_judgments, parse_map
from metajudge.reading.reasons import as_judgment, reason_of
from metajudge.types import Judgment
from tests.doubles.judgments import judgment
from tests.reading.conftest import Record
from tests.reading.interop_files import INTEROP

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


def test_what_is_none_is_named_by_its_place():
    with pytest.raises(InputError, match="judgment 3 of 10 is a list"):
        as_judgment([], place="judgment 3 of 10")
    with pytest.raises(InputError, match=r"the judgment is not valid: .*id"):
        as_judgment({key: value for key, value in judgment().model_dump(mode="json").items() if key != "id"})


def reason(data: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        Judgment.model_validate(data)
    return reason_of(caught.value)


def item(**changes: Any) -> dict[str, Any]:
    return {"id": "q1", "question": "2 + 2?", "responses": {"A": "4", "B": "5"}, **changes}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"verdict": "C>A"}, "verdict names 'C', but the item's responses are A, B"),
        ({"verdict": "A>"}, "'verdict' is not a verdict: 'A>'"),
        ({"verdict": True}, "'true' is not a verdict on 2 responses"),
        ({"verdict": 4.5}, "a grade judges one response, but 2 were shown"),
        ({"verdict": [["A"]]}, "a ranking needs at least two responses"),
        ({"verdict": None}, "verdict is null without a reason: say why in no_verdict"),
        ({"no_verdict": "?"}, "no_verdict is given although there is a verdict"),
        ({"version": 2}, "unknown version 2: this metajudge reads version 1"),
        ({"judge": ""}, "'judge' is empty"),
        ({"judge": " "}, "'judge' is empty"),
        ({"judge": 7}, "'judge' must be a string, not 7"),
        ({"judge": None}, "'judge' must be a string, not null"),
        ({"order": ["A", "A"]}, "order names a response twice: A, A"),
        ({"order": ["A", "C"]}, "order names 'C', but the item's responses are A, B"),
        ({"order": "AB"}, "'order' must be a list, not 'AB'"),
        ({"order": ["A b"]}, "'A b' is no response id: use letters, digits, '_', '.', '-'"),
        ({"order": ["A"]}, "verdict names B, which order says the judge was not shown"),
        ({"labels": ["x"]}, "labels must give one distinct label for each response in order"),
        ({"score": 1}, "unknown field 'score' (data of your own belongs in 'meta')"),
        ({"meta": []}, "'meta' must be an object, not a list"),
        ({"item": "q1"}, "'item' must be an object, not 'q1'"),
        ({"item": item(responses={})}, "the item has no responses"),
        ({"item": item(responses={"A": 1, "B": ""})}, "'item.responses.A' must be a string, not 1"),
        ({"item": item(responses={"A b": "", "B": ""})}, "'A b' is no response id"),
        ({"item": item(label="A>C")}, "label names 'C', but the item's responses are A, B"),
        ({"item": item(id="")}, "'item.id' is empty"),
        ({"item": item(extra=1)}, "unknown field 'item.extra'"),
    ],
)
def test_a_reason_speaks_of_the_users_fields(record: Record, changes: dict[str, Any], expected: str) -> None:
    found = reason(record(**changes))
    assert expected in found
    assert "\n" not in found
    assert "pydantic" not in found
    assert "Value error" not in found


@pytest.mark.parametrize("field", ["id", "item", "judge", "verdict"])
def test_a_missing_field_is_named(record: Record, field: str) -> None:
    data = record()
    del data[field]
    assert reason(data).startswith(f"missing field '{field}'")


def test_many_faults_are_cut_to_three() -> None:
    found = reason({"a": 1, "b": 2, "c": 3})
    assert found.count(";") == 3
    assert found.endswith("; and 4 more")
