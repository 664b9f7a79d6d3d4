"""DeepEval's test runs: a metric that a model grades is a grade of the output.

Read are a saved test run (``test_run_*.json`` of a results folder, ``.deepeval/.latest_run_full.json``) and the dumped
result of ``evaluate`` (``EvaluationResult.model_dump_json()``), as deepeval 4.3 writes them (fixtures made by it are in
``tests/reading/interop/``); also the names of earlier versions. Metrics that name no ``evaluationModel`` (``Exact
Match``) are a program's and left alone.

The input is the question, with the passages of ``retrievalContext`` or ``context``. A metric that ended with an error
has no verdict. The judge is ``MODEL/METRIC``; each metric of a case is an item of its own. Such files have neither ids
nor times: ids are digests of the case and of what was measured, the same in both formats.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from metajudge.reading.containers.cells import first_of, object_in, objects_in
from metajudge.reading.containers.kinds import read_object
from metajudge.reading.containers.lines import EXCERPT, BadLine, Reject, RunRow, Source
from metajudge.reading.conversations import messages, text_of
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore
from metajudge.reading.formats.specs import Row, get
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.reading.reader import inside
from metajudge.reading.scales import grade_of
from metajudge.types.digests import digest

FORMAT = "DeepEval test run"
_CASES = ("testCases", "test_cases", "conversationalTestCases", "conversational_test_cases", "test_results")
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")
_NAME, _MODEL = "name|metric|=(no name)", "evaluationModel|evaluation_model"
_SHAPE = "a DeepEval test case"
_CRITERIA = "Criteria:"


def is_test_run(data: Row) -> bool:
    """Whether an object is a test run or the result of ``evaluate``."""
    cases = _cases(data)
    return bool(cases) and not object_in(cases[0]).keys().isdisjoint(_METRICS)


def deepeval_run(source: Source) -> AssessedRuns:
    """Reads a test run."""
    return AssessedRuns(FORMAT, source, partial(_rows, source), separate=False, shape=_SHAPE, repeats=True)


def _cases(data: Row) -> list[Any]:
    inner = data.get("testRunData")
    whole = inner if isinstance(inner, dict) else data
    return [case for key in _CASES if isinstance(whole.get(key), list) for case in whole[key]]


def _metrics(case: Row) -> list[dict[str, Any]]:
    return objects_in(get(case, "|".join(_METRICS)))


def _rows(source: Source) -> Iterator[RunRow | Reject]:
    """A row for every metric of a case that a model graded."""
    others: set[str] = set()
    graded = False
    for number, case in enumerate(_cases(read_object(source)), start=1):
        if not isinstance(case, dict):
            yield source.reject(number, "the test case is no object", b"")
            continue
        for metric in _metrics(case):
            name = str(get(metric, _NAME))
            if get(metric, _MODEL):
                graded = True
                said = {"name": case.get("name"), "metric": name, "score": metric.get("score")}
                yield RunRow(number, partial(_run, case, metric, name), said, EXCERPT)
            else:
                others.add(name)
    if not graded:
        named = ", ".join(sorted(others)) or "none"
        reason = f"no metric names the model that graded it (evaluationModel): its metrics are {named}"
        yield Reject(source.name, 1, reason, "")


def _run(case: Row, metric: Row, name: str) -> AssessedRun:
    """A metric of a case."""
    with inside(name, _SHAPE):
        error, model, run = metric.get("error"), str(get(metric, _MODEL)), _case(case, name)
        if error is None:
            verdict, missing = grade_of(metric.get("score"), "score")
        else:
            first = reason_text(error).strip().partition("\n")[0]
            verdict, missing = None, f"the metric ended with an error: {first}"[:500]
        measured = [first_of(one, "evaluationCost", "evaluation_cost") for one in _metrics(case)]
        said = [[str(get(one, _NAME)), one.get("score"), one.get("reason")] for one in _metrics(case)]
        score = RecordedScore(
            id=f"deepeval/{digest([run.id, case.get('name'), said, measured])[:20]}/{name}",
            judge=f"{model}/{name}",
            value=verdict,
            error=missing,
            comment=reason_text(metric.get("reason")),
            instruction=_criteria(metric) or f"DeepEval's metric {name}",
            meta={"metric": name, "judge_model": model, **{key: metric.get(key) for key in ("threshold", "success")}},
            about="",
            place=name,
        )
    return AssessedRun(run, [score])


def _case(case: Row, metric: str) -> RecordedRun:
    """What was asked and answered; of a conversation its messages, the last one of which is judged."""
    turns, asked, answered = case.get("turns"), case.get("input"), first_of(case, "actualOutput", "actual_output")
    if isinstance(turns, list) and turns:
        said = [{"role": one["role"], "content": one["content"]} for one in turns]
        if said[-1]["role"] != "assistant":
            raise BadLine("the conversation does not end with the assistant's turn")
        asked, answered = said[:-1], said[-1]["content"]
    if asked is None or answered is None:
        raise BadLine(f"the test case {case.get('name')!r} has no {'input' if asked is None else 'actualOutput'}")
    passages = first_of(case, "retrievalContext", "retrieval_context") or case.get("context") or ()
    listed = "".join(f"\n- {text_of(one)}" for one in passages)
    question, answer = text_of(asked) + (f"\n\nContext:{listed}" if listed else ""), text_of(answered)
    reference = reason_text(first_of(case, "expectedOutput", "expected_output")) or None
    content = {"question": question, "responses": {"A": answer}, "reference": reference}
    name = f"deepeval/{digest([content, metric])[:20]}"
    return RecordedRun(name, question, answer, reference=reference, conversation=messages(asked))


def _criteria(metric: Row) -> str | None:
    """The criteria of a G-Eval, which its logs begin with; None for another metric."""
    logs = get(metric, "verboseLogs|verbose_logs")
    if not isinstance(logs, str) or not logs.startswith(_CRITERIA):
        return None
    criteria = logs.removeprefix(_CRITERIA).partition("\n \n")[0].strip()
    return None if criteria == "None" else criteria
