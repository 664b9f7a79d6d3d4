"""DeepEval's test runs: a metric that a model grades is a grade of the output.

Read are a saved test run (``test_run_*.json`` of a results folder, ``.deepeval/.latest_run_full.json``) and the dumped
result of ``evaluate`` (``EvaluationResult.model_dump_json()``), as deepeval 4.3 writes them (fixtures made by it are in
``tests/readers/interop/``); also the names of earlier versions. Metrics that name no ``evaluationModel`` (``Exact
Match``) are a program's and left alone.

The input is the question, with the passages of ``retrievalContext`` or ``context``; ``actualOutput`` the only
response, ``expectedOutput`` the reference, ``score`` the grade, ``reason`` the rationale. A metric that ended with an
error has no verdict. The judge is ``MODEL/METRIC``; each metric of a case is an item of its own. Such files have
neither ids nor times: ids are digests of the case and of what was measured, the same in both formats.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from metajudge.readers.conversations import messages, text_of
from metajudge.readers.json_object import read_object
from metajudge.readers.lines import EXCERPT, BadLine, Reject, Source
from metajudge.readers.reader import UNREADABLE, FoundJudgment, why
from metajudge.readers.scales import grade_of
from metajudge.readers.stated_scores import reason_text
from metajudge.types import Item, Judgment
from metajudge.types.digests import digest

_CASES = ("testCases", "test_cases", "conversationalTestCases", "conversational_test_cases", "test_results")
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")
_SHAPE = "a DeepEval test case"
_CRITERIA = "Criteria:"


def is_test_run(data: Mapping[str, Any]) -> bool:
    """Whether an object is a test run or the result of ``evaluate``."""
    cases = _cases(data)
    return bool(cases) and all(isinstance(case, dict) and any(key in case for key in _METRICS) for case in cases[:1])


class DeepEvalRun:
    """Reads a test run."""

    format = "DeepEval test run"

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self) -> Iterator[FoundJudgment | Reject]:
        others: set[str] = set()
        graded = False
        seen: Counter[str] = Counter()
        for number, case in enumerate(_cases(read_object(self.source)), start=1):
            if not isinstance(case, dict):
                yield self.source.reject(number, "the test case is no object", b"")
                continue
            for metric in _metrics(case):
                if not _model(metric):
                    others.add(_name(metric))
                    continue
                graded = True
                yield self._found(number, case, metric, seen)
        if not graded:
            named = ", ".join(sorted(others)) or "none"
            reason = f"no metric names the model that graded it (evaluationModel): its metrics are {named}"
            yield Reject(self.source.name, 1, reason, "")

    def _found(
        self, number: int, case: dict[str, Any], metric: Mapping[str, Any], seen: Counter[str]
    ) -> FoundJudgment | Reject:
        try:
            judgment = _judgment(case, metric)
        except UNREADABLE as error:
            said = {"name": case.get("name"), "metric": _name(metric), "score": metric.get("score")}
            reason = f"{_name(metric)}: {why(error, _SHAPE)}"
            return self.source.reject(number, reason, orjson.dumps(said, default=str)[:EXCERPT])
        seen[judgment.id] += 1
        if seen[judgment.id] > 1:
            judgment = judgment.model_copy(update={"id": f"{judgment.id}/{seen[judgment.id]}"})
        return FoundJudgment(judgment, self.source.name, number)


def _cases(data: Mapping[str, Any]) -> list[Any]:
    inner = data.get("testRunData")
    whole = inner if isinstance(inner, dict) else data
    lists = [whole[key] for key in _CASES if isinstance(whole.get(key), list)]
    return [case for cases in lists for case in cases]


def _metrics(case: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = _first(case, *_METRICS)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _name(metric: Mapping[str, Any]) -> str:
    return str(_first(metric, "name", "metric") or "(no name)")


def _model(metric: Mapping[str, Any]) -> str | None:
    found = _first(metric, "evaluationModel", "evaluation_model")
    return str(found) if found else None


def _first(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _judgment(case: Mapping[str, Any], metric: Mapping[str, Any]) -> Judgment:
    error, name, item = metric.get("error"), _name(metric), _item(case, metric)
    if error is None:
        verdict, missing = grade_of(metric.get("score"), "score")
    else:
        verdict, missing = None, f"the metric ended with an error: {reason_text(error).strip().partition(chr(10))[0]}"
    measured = [_first(one, "evaluationCost", "evaluation_cost") for one in _metrics(case)]
    facts = [item.id, case.get("name"), [[_name(one), one.get("score"), one.get("reason")] for one in _metrics(case)]]
    meta = {
        "metric": name,
        "judge_model": _model(metric),
        "threshold": metric.get("threshold"),
        "success": metric.get("success"),
    }
    return Judgment(
        id=f"deepeval/{digest([*facts, measured])[:20]}/{name}",
        item=item,
        judge=f"{_model(metric)}/{name}",
        verdict=verdict,
        no_verdict=missing[:500] if missing else None,
        rationale=reason_text(metric.get("reason")),
        instruction=_instruction(metric),
        meta={key: value for key, value in meta.items() if value is not None},
    )


def _item(case: Mapping[str, Any], metric: Mapping[str, Any]) -> Item:
    turns, asked, answered = case.get("turns"), case.get("input"), _first(case, "actualOutput", "actual_output")
    if isinstance(turns, list) and turns:
        asked, answered = _spoken(turns)
    if asked is None or answered is None:
        raise BadLine(f"the test case {case.get('name')!r} has no {'input' if asked is None else 'actualOutput'}")
    passages = _first(case, "retrievalContext", "retrieval_context") or case.get("context") or ()
    listed = "".join(f"\n- {text_of(one)}" for one in passages)
    content = {
        "question": text_of(asked) + (f"\n\nContext:{listed}" if listed else ""),
        "responses": {"A": text_of(answered)},
        "reference": reason_text(_first(case, "expectedOutput", "expected_output")) or None,
    }
    spoken = [{"role": role, "content": text} for role, text in messages(asked, {})]
    name = f"deepeval/{digest([content, _name(metric)])[:20]}"
    return Item.model_validate({"id": name, **content, "conversation": spoken})


def _spoken(turns: list[Any]) -> tuple[list[dict[str, Any]], Any]:
    """What came before the last answer of a conversation, and that answer."""
    said = [{"role": one["role"], "content": one["content"]} for one in turns]
    if said[-1]["role"] != "assistant":
        raise BadLine("the conversation does not end with the assistant's turn")
    return said[:-1], said[-1]["content"]


def _instruction(metric: Mapping[str, Any]) -> str:
    """The criteria of a G-Eval, which its logs begin with; else the metric's name."""
    logs = _first(metric, "verboseLogs", "verbose_logs")
    if isinstance(logs, str) and logs.startswith(_CRITERIA):
        criteria = logs.removeprefix(_CRITERIA).partition("\n \n")[0].strip()
        if criteria and criteria != "None":
            return criteria
    return f"DeepEval's metric {_name(metric)}"
