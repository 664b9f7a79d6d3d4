"""promptfoo's results: model-graded assertions as grades, ``select-best`` as a ranking.

Read is what ``promptfoo eval --output`` writes (fixtures made by promptfoo 0.123 are in ``tests/readers/interop/``):
``FILE.json`` (``evalId, results: {version: 3, results: [...]}, config``) and ``FILE.jsonl``, one result a line; its
tables in CSV are :mod:`metajudge.readers.promptfoo_table`. Read are the entries of ``gradingResult.componentResults``
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

from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, NamedTuple

import orjson

from metajudge.readers.cells import object_in, parsed
from metajudge.readers.containers import read_object
from metajudge.readers.conversations import messages, text_of
from metajudge.readers.lines import EXCERPT, BadLine, Line, Reject, RunRow, Source, read_lines
from metajudge.readers.people import PersonScore
from metajudge.readers.reader import UNREADABLE, inside, why
from metajudge.readers.scales import grade_of
from metajudge.readers.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore, made
from metajudge.readers.stated_scores import reason_text
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
HUMAN = "human"
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


def is_output(data: Mapping[str, Any]) -> bool:
    """Whether an object is a whole file of results."""
    results = data.get("results")
    return isinstance(results, dict) and isinstance(results.get("results"), list) and "stats" in results


def is_result(record: Mapping[str, Any]) -> bool:
    """Whether a record is one result."""
    return record.keys() >= {"testIdx", "promptIdx", "testCase", "prompt", "gradingResult"}


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


def promptfoo_results(source: Source, *, lines: bool = False, note: str = "") -> AssessedRuns:
    """Reads results: one JSON object, or one result a line."""
    rows = partial(_rows, source, lines=lines)
    return AssessedRuns(FORMAT + note, source, rows, made, separate=False, shape=_SHAPE)


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


def _rows(source: Source, *, lines: bool) -> Iterator[RunRow | Reject]:
    """A row for every assertion that a model graded, for the ratings of an output, and for every choice of a best."""
    best: dict[tuple[str, str], list[_Shown]] = {}
    types: set[str] = set()
    for row in _results(source, lines=lines):
        if isinstance(row, Reject):
            yield row
            continue
        number, result, run = row.number, row.data["result"], row.data["run"]
        try:
            entries = list(_components(result.get("gradingResult")))
            for one in entries:
                if _kind(one) == SELECT_BEST:
                    key = str(result["testIdx"]), str(one["assertion"].get("value"))
                    best.setdefault(key, []).append(_Shown(number, result, one, run))
        except UNREADABLE as error:
            excerpt = orjson.dumps(_place_and_words(result, {}), default=str)[:EXCERPT]
            yield source.reject(number, why(error, _SHAPE), excerpt)
            continue
        types.update(map(_kind, entries))
        for count, one in enumerate(entries):
            if _kind(one) in MODEL_GRADED:
                grade = partial(_grade, _Shown(number, result, one, run), count)
                yield RunRow(number, grade, _place_and_words(result, one), EXCERPT)
        with suppress(*UNREADABLE):  # then every grade of it is a reject
            yield RunRow(number, partial(AssessedRun, None, (), _ratings(result, entries)))
    for (test, _), shown in best.items():
        words = _place_and_words(shown[0].result, shown[0].entry)
        yield RunRow(shown[0].number, partial(_best, test, shown), words, EXCERPT)
    if types and not types & (MODEL_GRADED | {SELECT_BEST}):
        kinds = ", ".join(sorted(types))
        reason = f"no assertion was graded by a model (llm-rubric and its like): its assertions are {kinds}"
        yield Reject(source.name, 1, reason, "")


def _kind(entry: dict[str, Any]) -> str:
    """The type of a graded assertion, without ``not-``."""
    return str(entry["assertion"]["type"]).removeprefix("not-")


def _components(grading: Any) -> Iterator[dict[str, Any]]:
    """Every graded assertion; assertion sets contain nested ones."""
    if not isinstance(grading, dict):
        return
    components = grading.get("componentResults")
    if components:
        for component in components:
            yield from _components(component)
        return
    if (grading.get("assertion") or {}).get("type"):
        yield grading


def _ratings(result: dict[str, Any], entries: list[dict[str, Any]]) -> list[PersonScore]:
    """What people said of an output as a whole: of the only thing graded, or of nothing that the file names."""
    rated = [one.get("pass") for one in entries if _kind(one) == HUMAN]
    if not rated:
        return []
    items = {_judged(result, one).id for one in entries if _kind(one) in MODEL_GRADED}
    target = items.pop() if len(items) == 1 else None
    return [PersonScore(_RATING, target=target, value=value) for value in rated]


def _judged(result: dict[str, Any], entry: dict[str, Any]) -> RecordedRun:
    """An output and what was asserted of it."""
    assertion, spoken = entry["assertion"], messages(_prompt(result))
    question, answer, model = text_of(_prompt(result)), _output(result), _model(result)
    content = {
        "question": question,
        "responses": {"A": answer},
        "category": _category(result),
        "models": {"A": model},
        "conversation": [{"role": role, "content": text} for role, text in spoken],
    }
    name = digest([content, assertion["type"], assertion.get("metric"), _instruction(entry)])
    return RecordedRun(
        f"promptfoo/{name[:20]}", question, answer, category=_category(result), model=model, conversation=spoken
    )


def _grade(graded: "_Shown", count: int) -> AssessedRun:
    _, result, entry, run = graded
    place = _place(result, run)
    failure = _failure(entry)
    verdict, missing = grade_of(entry.get("score"), "score") if failure is None else (None, failure)
    grader = _grader(result, entry, run)
    score = RecordedScore(
        id=f"{place}/{count}",
        judge=f"{grader or 'promptfoo'}/{_kind(entry)}",
        value=verdict,
        error=missing,
        comment=reason_text(entry.get("reason")),
        instruction=_instruction(entry),
        meta={
            "assertion": entry["assertion"]["type"],
            "pass": entry.get("pass"),
            "metric": entry["assertion"].get("metric"),
            "time": _time(result, entry),
            "judge_model": grader,
        },
        about=_RATING,
        place="",
    )
    return AssessedRun(_judged(result, entry), [score])


def _failure(entry: dict[str, Any]) -> str | None:
    """Why the grader gave no verdict, where it failed: promptfoo writes the score 0 for it."""
    said = reason_text(entry.get("reason"))
    flagged = (entry.get("metadata") or {}).get("graderError") is True
    return f"the grader failed: {said or 'no reason given'}" if flagged else failure_in(said)


def failure_in(reason: str) -> str | None:
    """Why a grader gave no verdict, by the reason that promptfoo writes then; None where it gave one."""
    failed = reason == "No output" or reason.startswith(_FAILURES)
    return f"the grader failed: {reason}" if failed else None


def _time(result: dict[str, Any], entry: dict[str, Any]) -> str | None:
    """When the grader answered, else when the output came; both formats have it where the model was asked over HTTP."""
    for answered in (entry, result.get("response") or {}):
        http = (answered.get("metadata") or {}).get("http") or {}
        date = (http.get("headers") or {}).get("date")
        if isinstance(date, str):
            try:
                return parsedate_to_datetime(date).isoformat()
            except ValueError:
                continue
    return None


def _place_and_words(result: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a result that cannot be read: its place and what was said, and no configuration of providers."""
    place = {name: result.get(name) for name in ("id", "testIdx", "promptIdx")}
    return place | {name: entry.get(name) for name in ("score", "pass", "reason")}


class _Shown(NamedTuple):
    """A graded assertion of a result, with what the file says about the run."""

    number: int
    result: dict[str, Any]
    entry: dict[str, Any]
    run: dict[str, Any]


def _best(test: str, shown: list[_Shown]) -> AssessedRun:
    """``select-best``: the outputs of one test side by side, of which the judge chose one."""
    with inside(f"select-best of test {test}", _SHAPE):
        shown = sorted(shown, key=lambda one: int(one.result["promptIdx"]))
        number, first, entry, run = shown[0]
        winners = [index for index, one in enumerate(shown) if one.entry.get("pass")]
        failure = None if winners else _failure(entry)
        if len(shown) < 2 or (len(winners) != 1 and failure is None):
            raise BadLine(f"{len(winners)} of {len(shown)} outputs are chosen, not one of several")
        names = [letters(index) for index in range(len(shown))]
        name = f"{_place(first, run)}/{SELECT_BEST}" if _named(first) else f"{_run(first, run)}/{test}"
        item = RecordedRun(
            id=name,
            question=text_of(_prompt(first)),
            answer=None,
            answers={name: _output(one.result) for name, one in zip(names, shown, strict=True)},
            category=_category(first),
            models={name: _model(one.result) for name, one in zip(names, shown, strict=True)},
        )
        grader = _grader(first, entry, run)
        score = RecordedScore(
            id=name if _named(first) else f"{name}/{SELECT_BEST}/{number}",
            judge=f"{grader or 'promptfoo'}/{SELECT_BEST}",
            value=None if failure is not None else _chosen(names, winners[0]),
            error=failure,
            comment=reason_text(shown[winners[0]].entry.get("reason")) if winners else "",
            instruction=_instruction(entry),
            meta={"assertion": SELECT_BEST, "judge_model": grader or None},
            about="",
            place=f"select-best of test {test}",
        )
    return AssessedRun(item, [score])


def _chosen(names: list[str], winner: int) -> Pairwise | Ranking:
    others = [name for index, name in enumerate(names) if index != winner]
    best = names[winner]
    return Pairwise(best, others[0], 1) if len(others) == 1 else Ranking(((best,), tuple(others)))


def _place(result: dict[str, Any], run: dict[str, Any]) -> str:
    """What an output is called: the result's own id, which both formats have."""
    return _named(result) or f"{_run(result, run)}/{result['testIdx']}/{result['promptIdx']}"


def _named(result: dict[str, Any]) -> str | None:
    name = result.get("id")
    return f"promptfoo/{name}" if isinstance(name, str) and name else None


def _run(result: dict[str, Any], run: dict[str, Any]) -> str:
    return str(run.get("evalId") or result.get("evalId") or result.get("evaluationId") or "promptfoo")


def _prompt(result: dict[str, Any]) -> Any:
    """The rendered prompt: a text, or a chat."""
    raw = result["prompt"]["raw"]
    return parsed(raw) if isinstance(raw, str) and raw.lstrip().startswith("[") else raw


def _output(result: dict[str, Any]) -> str:
    output = (result.get("response") or {}).get("output")
    if output is None:
        raise BadLine(f"response.output is missing{': ' + str(result['error'])[:200] if result.get('error') else ''}")
    return text_of(output)


def _model(result: dict[str, Any]) -> str:
    provider = result.get("provider")
    return str(provider.get("id") if isinstance(provider, dict) else provider)


def _category(result: dict[str, Any]) -> str | None:
    found = ((result.get("testCase") or {}).get("metadata") or {}).get("category")
    return None if found is None else str(found)


def _instruction(entry: dict[str, Any]) -> str | None:
    rendered = (entry.get("metadata") or {}).get("renderedAssertionValue")
    value = entry["assertion"].get("value") if rendered is None else rendered
    return None if value is None else text_of(value)


def _grader(result: dict[str, Any], entry: dict[str, Any], run: dict[str, Any]) -> str | None:
    """The grader's model, where the assertion, the test or the configuration names it."""
    test = (result.get("testCase") or {}).get("options") or {}
    options = object_in(object_in(run.get("config")).get("defaultTest")).get("options") or {}
    given = (entry["assertion"].get("provider"), test.get("provider"), options.get("provider"))
    return next((name for provider in given if (name := _provider(provider))), None)


def _provider(value: Any) -> str | None:
    """A provider is a name, an object with an id, or a map by use (``text``)."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return value["id"] if isinstance(value.get("id"), str) else _provider(value.get("text"))
    return None
