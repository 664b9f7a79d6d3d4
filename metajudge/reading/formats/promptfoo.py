"""promptfoo's results: model-graded assertions as grades, ``select-best`` as a ranking.

Read is what ``promptfoo eval --output`` writes (fixtures made by promptfoo 0.123 are in ``tests/reading/interop/``):
``FILE.json`` (``evalId, results: {version: 3, results: [...]}, config``) and ``FILE.jsonl``, one result a line; its
tables in CSV are ``promptfoo_table``. Read are the entries of ``gradingResult.componentResults``
(also nested, of assertion sets) whose assertion is graded by a model; those that programs decide (``contains``,
``javascript``) are left alone.

The rendered prompt is the question, the output the only response, the assertion's value the judge's instruction,
``score`` (0 to 1) the grade. An entry whose grader failed has no verdict, with its reason. The judge is the grader's
model where the assertion, the test or the configuration names one, else ``promptfoo``, and the assertion's type. A
person's rating (an entry of type ``human``) is a label where one model-graded assertion stands beside it; beside
several it does not say of which. The time is that of the grader's HTTP response. Ids are ``RESULT/number``, by the id
that promptfoo gives a result in both formats, or ``eval/test/prompt/number`` where it has none. An item is an output
and what was asserted of it, and its id a digest of both: an output with two rubrics is two items, and the grades of an
output that came again (``--repeat``, another run, another grader) are verdicts on one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeAlias

import orjson

from metajudge.reading.containers.cells import parsed, text_in
from metajudge.reading.containers.kinds import read_object
from metajudge.reading.containers.lines import EXCERPT, BadLine, Line, Reject, RunRow, Source, read_lines
from metajudge.reading.conversations import messages, text_of
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore
from metajudge.reading.formats.specs import get, is_marked
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.reading.people import PersonScore
from metajudge.reading.reader import UNREADABLE, inside, why
from metajudge.reading.scales import grade_of
from metajudge.types import Pairwise, Ranking, letters
from metajudge.types.digests import digest

FORMAT = "promptfoo results"
MODEL_GRADED = frozenset(
    [
        *("agent-rubric", "answer-relevance", "context-faithfulness", "context-recall", "context-relevance"),
        *("conversation-relevance", "factuality", "g-eval", "llm-rubric", "model-graded-closedqa"),
        *("model-graded-factuality", "pi", "research-rubric", "search-rubric", "trajectory:goal-success"),
        *("video-rubric",),
    ]
)
"""Assertions that a model decides."""

SELECT_BEST = "select-best"
_RATING = "rating"
"""The name of every grade and rating: a rating is about the item that it stands beside."""
_FAILURES = (
    *("API error: ", "API call error: ", "Could not perform remote grading", "Error parsing output: "),
    *("Could not extract JSON from ", "LLM-proposed evaluation result is not in JSON format"),
    *("Factuality checker output did not match", "Invalid category value", "Model grader produced a malformed"),
    "Invalid select-best verdict",
)
"""Beginnings of reasons for the score 0 that stands for a grader's failure; newer versions flag some of them."""
_SHAPE = "a promptfoo result"
_PROVIDERS = ("entry.assertion.provider", "result.testCase.options.provider", "run.config.defaultTest.options.provider")
MARKS = "testIdx promptIdx testCase prompt gradingResult"


def is_output(data: Mapping[str, Any]) -> bool:
    """Whether an object is a whole file of results."""
    results = data.get("results")
    return isinstance(results, dict) and isinstance(results.get("results"), list) and "stats" in results


def is_result(record: Mapping[str, Any]) -> bool:
    """Whether a record is one result."""
    return is_marked(record, MARKS)


def outputs_of(source: Source, *, lines: bool) -> dict[tuple[int, int], str] | None:
    """The text of every output by the rank of its test and its prompt; None where a file is no results.

    Raises:
        InputError: the file cannot be read.
    """
    if not lines and not is_output(read_object(source)):
        return None
    found: dict[tuple[int, int], str] = {}
    for one in _results(source, lines=lines):
        if isinstance(one, Reject) or not is_result(one.data["result"]):
            return None
        result = one.data["result"]
        output = (result.get("response") or {}).get("output")
        found[int(result["testIdx"]), int(result["promptIdx"])] = "" if output is None else text_of(output)
    ranks = {test: rank for rank, test in enumerate(sorted({test for test, _ in found}))}
    return {(ranks[test], prompt): text for (test, prompt), text in found.items()}


def results(source: Source, *, lines: bool = False, note: str = "") -> AssessedRuns:
    """Reads results: one JSON object, or one result a line."""
    rows = partial(_rows, source, lines=lines)
    return AssessedRuns(FORMAT + note, source, rows, separate=False, shape=_SHAPE)


def _results(source: Source, *, lines: bool) -> Iterator[Line | Reject]:
    """Each result, with what the file says about the whole run."""
    if lines:
        for line in read_lines(source):
            yield line if isinstance(line, Reject) else Line(line.number, b"", {"result": line.data, "run": {}})
        return
    data = read_object(source)
    for number, result in enumerate(data["results"]["results"], start=1):
        if isinstance(result, dict):  # versions before 3 have neither number
            yield Line(number, b"", {"result": {"testIdx": number - 1, "promptIdx": 0, **result}, "run": data})
        else:
            yield source.reject(number, "the entry of results.results is no object", b"")


Graded: TypeAlias = Mapping[str, Any]
"""A graded assertion: the ``entry``, its ``result``, what the file says about the ``run``, and what they say of it."""


def _graded(number: int, entry: dict[str, Any], result: dict[str, Any], run: dict[str, Any]) -> Graded:
    """A graded assertion with its parts; the output is left out, as it may be missing."""
    one = {"entry": entry, "result": result, "run": run}
    own, provider = result.get("id"), result.get("provider")
    said, flagged = reason_text(entry.get("reason")), get(one, "entry.metadata.graderError") is True
    instruction = get(one, "entry.metadata.renderedAssertionValue|entry.assertion.value")
    return one | {
        "number": number,
        "kind": str(entry["assertion"]["type"]).removeprefix("not-"),
        "name": f"promptfoo/{own}" if isinstance(own, str) and own else None,
        "of_run": str(get(one, "run.evalId|result.evalId|result.evaluationId|=promptfoo")),
        "model": str(provider.get("id") if isinstance(provider, dict) else provider),
        "category": text_in(get(one, "result.testCase.metadata.category")),
        "said": said,
        "instruction": None if instruction is None else text_of(instruction),
        "grader": next((name for path in _PROVIDERS if (name := _provider(get(one, path)))), None),
        "failure": f"the grader failed: {said or 'no reason given'}" if flagged else failure_in(said),
    }


def _prompt(one: Graded) -> Any:
    """The rendered prompt: a text, or a chat."""
    raw = one["result"]["prompt"]["raw"]
    return parsed(raw) if isinstance(raw, str) and raw.lstrip().startswith("[") else raw


def _output(one: Graded) -> str:
    output = (one["result"].get("response") or {}).get("output")
    if output is None:
        error = one["result"].get("error")
        raise BadLine(f"response.output is missing{f': {str(error)[:200]}' if error else ''}")
    return text_of(output)


def _provider(value: Any) -> str | None:
    """A provider is a name, an object with an id, or a map by use (``text``)."""
    if isinstance(value, dict):
        return value["id"] if isinstance(value.get("id"), str) else _provider(value.get("text"))
    return value if isinstance(value, str) else None


def failure_in(reason: str) -> str | None:
    """Why a grader gave no verdict, by the reason that promptfoo writes then; None where it gave one."""
    failed = reason == "No output" or reason.startswith(_FAILURES)
    return f"the grader failed: {reason}" if failed else None


def _time(one: Graded) -> str | None:
    """When the grader answered, else when the output came, where the model was asked over HTTP."""
    for answered in ("entry", "result.response"):
        date = get(one, f"{answered}.metadata.http.headers.date")
        if isinstance(date, str):
            with suppress(ValueError):
                return parsedate_to_datetime(date).isoformat()
    return None


def _item(one: Graded) -> RecordedRun:
    """The output and what was asserted of it."""
    assertion, spoken = one["entry"]["assertion"], messages(_prompt(one))
    question, answer, model, category = text_of(_prompt(one)), _output(one), one["model"], one["category"]
    content = {
        "question": question,
        "responses": {"A": answer},
        "category": category,
        "models": {"A": model},
        "conversation": [message.model_dump() for message in spoken],
    }
    name = f"promptfoo/{digest([content, assertion['type'], assertion.get('metric'), one['instruction']])[:20]}"
    return RecordedRun(name, question, answer, category=category, model=model, conversation=spoken)


def _row(one: Graded, made: Callable[[], AssessedRun]) -> RunRow:
    return RunRow(one["number"], made, _place_and_words(one["result"], one["entry"]), EXCERPT)


def _place_and_words(result: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """What is reported where a result cannot be read: its place and what was said, no configuration of providers."""
    place = {name: result.get(name) for name in ("id", "testIdx", "promptIdx")}
    return place | {name: entry.get(name) for name in ("score", "pass", "reason")}


def _rows(source: Source, *, lines: bool) -> Iterator[RunRow | Reject]:
    """A row for every assertion that a model graded, for the ratings of an output, and for every choice of a best."""
    best: dict[tuple[str, str], list[Graded]] = {}
    types: set[str] = set()
    for row in _results(source, lines=lines):
        if isinstance(row, Reject):
            yield row
            continue
        result = row.data["result"]
        try:
            components = _components(result.get("gradingResult"))
            entries = [_graded(row.number, one, **row.data) for one in components]
            for one in entries:
                if one["kind"] == SELECT_BEST:
                    test = str(result["testIdx"]), str(one["entry"]["assertion"].get("value"))
                    best.setdefault(test, []).append(one)
        except UNREADABLE as error:
            excerpt = orjson.dumps(_place_and_words(result, {}), default=str)[:EXCERPT]
            yield source.reject(row.number, why(error, _SHAPE), excerpt)
            continue
        types.update(one["kind"] for one in entries)
        yield from (
            _row(one, partial(_grade, one, at)) for at, one in enumerate(entries) if one["kind"] in MODEL_GRADED
        )
        with suppress(*UNREADABLE):  # then every grade of it is a reject
            yield RunRow(row.number, partial(AssessedRun, None, (), _ratings(entries)))
    for (name, _), shown in best.items():
        yield _row(shown[0], partial(_best, name, shown))
    if types and not types & (MODEL_GRADED | {SELECT_BEST}):
        kinds = ", ".join(sorted(types))
        reason = f"no assertion was graded by a model (llm-rubric and its like): its assertions are {kinds}"
        yield Reject(source.name, 1, reason, "")


def _components(grading: Any) -> Iterator[dict[str, Any]]:
    """Every graded assertion; assertion sets contain nested ones."""
    if not isinstance(grading, dict):
        return
    if components := grading.get("componentResults"):
        for component in components:
            yield from _components(component)
    elif (grading.get("assertion") or {}).get("type"):
        yield grading


def _ratings(entries: list[Graded]) -> list[PersonScore]:
    """What people said of an output as a whole: of the only thing graded, or of nothing that the file names."""
    rated = [one["entry"].get("pass") for one in entries if one["kind"] == "human"]
    items = {_item(one).id for one in entries if one["kind"] in MODEL_GRADED} if rated else set()
    target = items.pop() if len(items) == 1 else None
    return [PersonScore(_RATING, target=target, value=value) for value in rated]


def _grade(one: Graded, count: int) -> AssessedRun:
    result, entry, failure, grader = one["result"], one["entry"], one["failure"], one["grader"]
    place = one["name"] or f"{one['of_run']}/{result['testIdx']}/{result['promptIdx']}"
    verdict, missing = grade_of(entry.get("score"), "score") if failure is None else (None, failure)
    score = RecordedScore(
        id=f"{place}/{count}",
        judge=f"{grader or 'promptfoo'}/{one['kind']}",
        value=verdict,
        error=missing,
        comment=one["said"],
        instruction=one["instruction"],
        meta={
            "assertion": entry["assertion"]["type"],
            "pass": entry.get("pass"),
            "metric": entry["assertion"].get("metric"),
            "time": _time(one),
            "judge_model": grader,
        },
        about=_RATING,
        place="",
    )
    return AssessedRun(_item(one), [score])


def _best(test: str, shown: list[Graded]) -> AssessedRun:
    """``select-best``: the outputs of one test side by side, of which the judge chose one."""
    place = f"select-best of test {test}"
    with inside(place, _SHAPE):
        shown = sorted(shown, key=lambda one: int(one["result"]["promptIdx"]))
        first, ids = shown[0], [letters(index) for index in range(len(shown))]
        chosen = [index for index, one in enumerate(shown) if one["entry"].get("pass")]
        failure, own, grader = None if chosen else first["failure"], first["name"], first["grader"]
        if len(shown) < 2 or (len(chosen) != 1 and failure is None):
            raise BadLine(f"{len(chosen)} of {len(shown)} outputs are chosen, not one of several")
        name = f"{own}/{SELECT_BEST}" if own else f"{first['of_run']}/{test}"
        verdict = None
        if failure is None:
            best, others = ids[chosen[0]], tuple(one for at, one in enumerate(ids) if at != chosen[0])
            verdict = Pairwise(best, others[0], 1) if len(others) == 1 else Ranking(((best,), others))
        item = RecordedRun(
            id=name,
            question=text_of(_prompt(first)),
            answer=None,
            answers=dict(zip(ids, map(_output, shown), strict=True)),
            category=first["category"],
            models={side: one["model"] for side, one in zip(ids, shown, strict=True)},
        )
        score = RecordedScore(
            id=name if own else f"{name}/{SELECT_BEST}/{first['number']}",
            judge=f"{grader or 'promptfoo'}/{SELECT_BEST}",
            value=verdict,
            error=failure,
            comment=shown[chosen[0]]["said"] if chosen else "",
            instruction=first["instruction"],
            meta={"assertion": SELECT_BEST, "judge_model": grader or None},
            about="",
            place=place,
        )
    return AssessedRun(item, [score])
