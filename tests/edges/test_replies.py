"""What comes of replies that are nearly right: each part of a usable reply missing, of another type, or off the scale.

One command asks about many items, and the model spoils its reply about each in another way, the repair included.
"""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metajudge import ScriptedModel, judge, judge_case
from tests.doubles.cases import flood
from tests.doubles.llm_server import LLMServer
from tests.edges.quick_time import quick_time
from tests.edges.recorded import check, numbers, steady
from tests.stored.commands import answer, inside, run

MISSING = object()
SPOILT: tuple[Any, ...] = (MISSING, None, True, -1, 0, 2.5, 3, 99, "", "x", [], {}, ["x"], ["x"] * 50, ["x"] * 51)
WRITTEN = ("```json\n{}\n```", "<think>No.</think>{}", "Well: {}", "{} Done.", "[{}]", "{}{}", "{{", "", "null")
MODEL = "m=vllm:m@http://models.test/v1"
TASKS: dict[str, tuple[str, ...]] = {
    "vet": ("vet", "judgments.jsonl", "--agent", MODEL, "--rubric", "short"),
    "vet_binary": ("vet", "judgments.jsonl", "--agent", MODEL, "--rubric", "binary", "--prompt-version", "1"),
    "judge": ("judge", "items.jsonl", "--judge", MODEL, "--orders", "given"),
    "grade": ("judge", "items.jsonl", "--grade", "--judge", MODEL),
    "clash": ("clash", "items.jsonl", "--responses", "given", "--judge", MODEL),
    "case": ("case", "cases.jsonl", "--judge", MODEL),
}
COUNTS = {"vet_binary": 40, "judge": 45, "grade": 45}
"""Items asked about, 90 where none is given: as many as there are ways to spoil the reply, at most."""
KEPT = ("verdict", "final_score", "score", "accepted", "status", "action", "overall_quality_score", "winner", "failure")


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places in a reply: of several criteria the first two, and all that is in them."""
    if isinstance(value, dict):
        for name in list(value)[: 2 if above or len(value) > 4 else None]:
            yield (*above, name)
            yield from paths(value[name], (*above, name))


def variants(reply: dict[str, Any]) -> Iterator[str]:
    """The reply spoilt in one way after the other."""
    yield json.dumps(reply)
    for form in WRITTEN:
        yield form.replace("{}", json.dumps(reply)) if "{}" in form else form
    yield json.dumps({**reply, "other": 1})
    for path in paths(reply):
        for value in SPOILT:
            spoilt = copy.deepcopy(reply)
            place = spoilt
            for name in path[:-1]:
                place = place[name]
            if value is MISSING:
                del place[path[-1]]
            else:
                place[path[-1]] = value
            yield json.dumps(spoilt)


def spoiling(body: dict[str, Any]) -> str:
    """The reply about the item whose text holds ``variant N``, spoilt in its N-th way."""
    given = re.search(r"variant (\d+)", json.dumps(body["messages"]))
    whole = json.loads(answer(body))
    found = list(variants(whole))
    return found[int(given[1])] if int(given[1]) < len(found) else json.dumps(whole)


def write(folder: Path, count: int) -> None:
    items = [
        {"id": f"i{n}", "question": f"Why? (variant {n})", "responses": {"A": "It is so.", "B": "It is not."}}
        for n in range(count)
    ]
    cases = [flood(f"c{n}").model_dump(mode="json") for n in range(count)]
    for n, one in enumerate(cases):
        for stage in one["stages"]:
            stage["output"] += f" (variant {n})"
    given = {"judge": "owl", "verdict": "A>B", "rationale": "A says why.", "order": ["A", "B"]}
    judgments = [{"id": f"j{n}", "item": one, **given} for n, one in enumerate(items)]
    for name, rows in {"items": items, "cases": cases, "judgments": judgments}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")


def seen(value: Any) -> Any:
    """Of a record: verdicts, scores, states, kinds of failure, and the numbers that their messages name."""
    if isinstance(value, list):
        return [one for one in map(seen, value) if one not in ({}, [], None)]
    if not isinstance(value, dict):
        return None
    found = {}
    for name, one in value.items():
        if name == "message":
            found[name] = numbers(re.sub(r"chatcmpl-\d+", "", one))
        elif (
            name == "kind"
            or (name in KEPT and not isinstance(one, dict | list) and len(str(one)) < 40)
            or name in ("notes", "groups", "ranking")
        ):
            found[name] = one
        elif name not in ("item", "usage", "case") and (inner := seen(one)):
            found[name] = inner
    return steady(found)


@pytest.mark.parametrize("task", TASKS)
def test_what_comes_of_a_spoilt_reply(task, tmp_path):
    write(tmp_path, COUNTS.get(task, 90))
    with LLMServer(answer=spoiling) as server, quick_time(lambda: server.in_flight > 0), inside(tmp_path, server.url):
        done = run(*TASKS[task], "--out", "out.jsonl", "--json")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    found: dict[str, Any] = {}
    for row in rows:
        number = re.search(r"\d+", row.get("judgment_id") or row.get("case_id") or row["id"])[0]
        found.setdefault(f"{int(number):03}", []).append(seen(row))
    alike: dict[str, list[str]] = {}
    for number, one in sorted(found.items()):
        alike.setdefault(json.dumps(one, sort_keys=True), []).append(number)
    kept = [{"variants": " ".join(same), "found": json.loads(one)} for one, same in alike.items()]
    check(f"replies/{task}", {"exit": done.code, "requests": server.count, "outcomes": kept})


@pytest.mark.parametrize(
    ("said", "reading"),
    [
        ("[[A>B]], I think.", "no usable reply"),
        ("[[A>B]], so [[A > B]].", "no usable reply"),
        ("[[A>B]] or [[B>>A]]?", "the judge gave several different verdicts (A>B, B>>A, as shown): no usable reply"),
        (
            '{"reasoning": "x", "verdict": "A>B", "verdict": "B>A"}',
            "the judge gave several different verdicts (A>B, B>A, as shown): no usable reply",
        ),
        ("Neither.", "the judge gave no verdict: no usable reply"),
    ],
)
def test_a_text_that_states_a_verdict_is_none_and_the_failure_says_what_it_states(said, reading):
    item = {"id": "i", "question": "Why?", "responses": {"A": "x", "B": "y"}}
    (game,) = judge(item, [ScriptedModel(lambda _request: said, name="m")], orders="given").games
    assert game.verdict is None
    assert game.failure.message.startswith(f"{reading}, nor after one repair: ")


OPTIONAL = """
{version: 1, name: mine, title: Mine, description: Both., subject: case, asks: [confidence],
 scale: {low: 0, high: 10, step: 1}, criteria: [
  {name: a, title: A, description: What., optional: true, levels: {0: Bad., 10: Good.}},
  {name: b, title: B, description: Which., optional: true, levels: {0: Bad., 10: Good.}}]}
"""
OF_ONE_STAGE = """
{name: own, title: Own, description: Own., basis: score, scale: {low: 0, high: 10}, bands: [
  {action: APPROVE, value: {at_least: 6}, justification: High.}, {action: REJECT, value: {below: 6}, justification: Low.}],
 cases: {rubric: ./mine.yaml, overall_score: mean_of_stages, overall_confidence: mean_of_stages, judges: mean,
  stages: [{name: only, criteria: [a, b]}], profiles: [{name: all, title: All, weights: {a: 3.0, b: 1.0}}]}}
"""


@pytest.mark.parametrize(
    ("said", "score", "confidence", "problems"),
    [
        ({"a": (8, 0.9), "b": (4, 0.5)}, 7.0, 0.7, None),  # (3 * 8 + 4) / 4
        ({"a": (None, None), "b": (4, 0.5)}, 4.0, 0.5, None),
        ({"a": (None, 0.9), "b": (8, 0.5)}, 8.0, 0.5, None),  # of what does not apply there is no confidence
        ({"a": (None, None), "b": (None, None)}, None, None, "every criterion is marked as not applicable: at least"),
        ({"a": (None, None)}, None, None, "b is missing)"),
        ({}, None, None, "a is missing; b is missing)"),
        ({"a": (8, None), "b": (11, 2)}, None, None, "a.confidence must be a number from 0 to 1, not null; b.score"),
    ],
)
def test_criteria_of_a_case_that_do_not_apply(said, score, confidence, problems, tmp_path):
    (tmp_path / "mine.yaml").write_text(OPTIONAL)
    (tmp_path / "own.yaml").write_text(OF_ONE_STAGE)
    reply = {name: {"comment": "Seen.", "score": one, "confidence": sure} for name, (one, sure) in said.items()}
    model = ScriptedModel(lambda _request: json.dumps(reply), name="m")
    case = {"id": "c", "type": "all", "stages": [{"name": "only", "output": "It rains."}]}
    found = judge_case(case, [model], policy=str(tmp_path / "own.yaml"))
    assert (found.overall_quality_score, found.overall_confidence) == (score, confidence)
    failure = found.stages[0].failure
    assert (failure is None) is (problems is None)
    assert problems is None or f"after one repair: {problems}" in failure.message
