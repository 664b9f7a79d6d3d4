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
from typing import Any, NamedTuple

import orjson

from metajudge.reading.containers.cells import object_in, parsed
from metajudge.reading.containers.kinds import read_object
from metajudge.reading.containers.lines import EXCERPT, BadLine, Line, Reject, RunRow, Source, read_lines
from metajudge.reading.conversations import messages, text_of
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore, made
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


class _Graded(NamedTuple):
    """A graded assertion of a result, with what the file says about the run."""

    number: int
    result: dict[str, Any]
    entry: dict[str, Any]
    run: dict[str, Any]

    @property
    def kind(self) -> str:
        """The assertion's type, without ``not-``."""
        return str(self.entry["assertion"]["type"]).removeprefix("not-")

    @property
    def named(self) -> str | None:
        """What the result is called by its own id, which both formats have."""
        name = self.result.get("id")
        return f"promptfoo/{name}" if isinstance(name, str) and name else None

    @property
    def of_run(self) -> str:
        result = self.result
        return str(self.run.get("evalId") or result.get("evalId") or result.get("evaluationId") or "promptfoo")

    @property
    def prompt(self) -> Any:
        """The rendered prompt: a text, or a chat."""
        raw = self.result["prompt"]["raw"]
        return parsed(raw) if isinstance(raw, str) and raw.lstrip().startswith("[") else raw

    @property
    def output(self) -> str:
        result, output = self.result, (self.result.get("response") or {}).get("output")
        if output is None:
            said = f": {str(result['error'])[:200]}" if result.get("error") else ""
            raise BadLine(f"response.output is missing{said}")
        return text_of(output)

    @property
    def model(self) -> str:
        provider = self.result.get("provider")
        return str(provider.get("id") if isinstance(provider, dict) else provider)

    @property
    def category(self) -> str | None:
        found = ((self.result.get("testCase") or {}).get("metadata") or {}).get("category")
        return None if found is None else str(found)

    @property
    def instruction(self) -> str | None:
        rendered = (self.entry.get("metadata") or {}).get("renderedAssertionValue")
        value = self.entry["assertion"].get("value") if rendered is None else rendered
        return None if value is None else text_of(value)

    @property
    def grader(self) -> str | None:
        """The grader's model, where the assertion, the test or the configuration names it."""
        test = (self.result.get("testCase") or {}).get("options") or {}
        options = object_in(object_in(self.run.get("config")).get("defaultTest")).get("options") or {}
        given = (self.entry["assertion"].get("provider"), test.get("provider"), options.get("provider"))
        return next((name for provider in given if (name := _provider(provider))), None)

    @property
    def failure(self) -> str | None:
        """Why the grader gave no verdict, where it failed: promptfoo writes the score 0 for it."""
        said = reason_text(self.entry.get("reason"))
        flagged = (self.entry.get("metadata") or {}).get("graderError") is True
        return f"the grader failed: {said or 'no reason given'}" if flagged else failure_in(said)

    @property
    def time(self) -> str | None:
        """When the grader answered, else when the output came, where the model was asked over HTTP."""
        for answered in (self.entry, self.result.get("response") or {}):
            http = (answered.get("metadata") or {}).get("http") or {}
            date = (http.get("headers") or {}).get("date")
            if isinstance(date, str):
                with suppress(ValueError):
                    return parsedate_to_datetime(date).isoformat()
        return None

    def item(self) -> RecordedRun:
        """The output and what was asserted of it."""
        assertion, spoken = self.entry["assertion"], messages(self.prompt)
        question, answer, model, category = text_of(self.prompt), self.output, self.model, self.category
        content = {
            "question": question,
            "responses": {"A": answer},
            "category": category,
            "models": {"A": model},
            "conversation": [one.model_dump() for one in spoken],
        }
        name = digest([content, assertion["type"], assertion.get("metric"), self.instruction])[:20]
        named = f"promptfoo/{name}"
        return RecordedRun(named, question, answer, category=category, model=model, conversation=spoken)

    def row(self, made: Callable[[], AssessedRun]) -> RunRow:
        """What is reported where it cannot be read: its place and what was said, and no configuration of providers."""
        return RunRow(self.number, made, _place_and_words(self.result, self.entry), EXCERPT)


def _rows(source: Source, *, lines: bool) -> Iterator[RunRow | Reject]:
    """A row for every assertion that a model graded, for the ratings of an output, and for every choice of a best."""
    best: dict[tuple[str, str], list[_Graded]] = {}
    types: set[str] = set()
    for row in _results(source, lines=lines):
        if isinstance(row, Reject):
            yield row
            continue
        number, result, run = row.number, row.data["result"], row.data["run"]
        try:
            entries = [_Graded(number, result, one, run) for one in _components(result.get("gradingResult"))]
            for one in entries:
                if one.kind == SELECT_BEST:
                    best.setdefault((str(result["testIdx"]), str(one.entry["assertion"].get("value"))), []).append(one)
        except UNREADABLE as error:
            excerpt = orjson.dumps(_place_and_words(result, {}), default=str)[:EXCERPT]
            yield source.reject(number, why(error, _SHAPE), excerpt)
            continue
        types.update(one.kind for one in entries)
        yield from (one.row(partial(_grade, one, at)) for at, one in enumerate(entries) if one.kind in MODEL_GRADED)
        with suppress(*UNREADABLE):  # then every grade of it is a reject
            yield RunRow(number, partial(AssessedRun, None, (), _ratings(entries)))
    for (test, _), shown in best.items():
        yield shown[0].row(partial(_best, test, shown))
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


def _ratings(entries: list[_Graded]) -> list[PersonScore]:
    """What people said of an output as a whole: of the only thing graded, or of nothing that the file names."""
    rated = [one.entry.get("pass") for one in entries if one.kind == "human"]
    items = {one.item().id for one in entries if one.kind in MODEL_GRADED} if rated else set()
    target = items.pop() if len(items) == 1 else None
    return [PersonScore(_RATING, target=target, value=value) for value in rated]


def _grade(graded: _Graded, count: int) -> AssessedRun:
    result, entry, failure = graded.result, graded.entry, graded.failure
    place = graded.named or f"{graded.of_run}/{result['testIdx']}/{result['promptIdx']}"
    verdict, missing = grade_of(entry.get("score"), "score") if failure is None else (None, failure)
    grader = graded.grader
    score = RecordedScore(
        id=f"{place}/{count}",
        judge=f"{grader or 'promptfoo'}/{graded.kind}",
        value=verdict,
        error=missing,
        comment=reason_text(entry.get("reason")),
        instruction=graded.instruction,
        meta={
            "assertion": entry["assertion"]["type"],
            "pass": entry.get("pass"),
            "metric": entry["assertion"].get("metric"),
            "time": graded.time,
            "judge_model": grader,
        },
        about=_RATING,
        place="",
    )
    return AssessedRun(graded.item(), [score])


def failure_in(reason: str) -> str | None:
    """Why a grader gave no verdict, by the reason that promptfoo writes then; None where it gave one."""
    failed = reason == "No output" or reason.startswith(_FAILURES)
    return f"the grader failed: {reason}" if failed else None


def _place_and_words(result: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    place = {name: result.get(name) for name in ("id", "testIdx", "promptIdx")}
    return place | {name: entry.get(name) for name in ("score", "pass", "reason")}


def _best(test: str, shown: list[_Graded]) -> AssessedRun:
    """``select-best``: the outputs of one test side by side, of which the judge chose one."""
    place = f"select-best of test {test}"
    with inside(place, _SHAPE):
        shown = sorted(shown, key=lambda one: int(one.result["promptIdx"]))
        first, ids = shown[0], [letters(index) for index in range(len(shown))]
        chosen = [index for index, one in enumerate(shown) if one.entry.get("pass")]
        failure = None if chosen else first.failure
        if len(shown) < 2 or (len(chosen) != 1 and failure is None):
            raise BadLine(f"{len(chosen)} of {len(shown)} outputs are chosen, not one of several")
        name = f"{first.named}/{SELECT_BEST}" if first.named else f"{first.of_run}/{test}"
        verdict = None
        if failure is None:
            best, others = ids[chosen[0]], tuple(one for at, one in enumerate(ids) if at != chosen[0])
            verdict = Pairwise(best, others[0], 1) if len(others) == 1 else Ranking(((best,), others))
        item = RecordedRun(
            id=name,
            question=text_of(first.prompt),
            answer=None,
            answers={side: one.output for side, one in zip(ids, shown, strict=True)},
            category=first.category,
            models={side: one.model for side, one in zip(ids, shown, strict=True)},
        )
        score = RecordedScore(
            id=name if first.named else f"{name}/{SELECT_BEST}/{first.number}",
            judge=f"{first.grader or 'promptfoo'}/{SELECT_BEST}",
            value=verdict,
            error=failure,
            comment=reason_text(shown[chosen[0]].entry.get("reason")) if chosen else "",
            instruction=first.instruction,
            meta={"assertion": SELECT_BEST, "judge_model": first.grader or None},
            about="",
            place=place,
        )
    return AssessedRun(item, [score])


def _provider(value: Any) -> str | None:
    """A provider is a name, an object with an id, or a map by use (``text``)."""
    if isinstance(value, dict):
        return value["id"] if isinstance(value.get("id"), str) else _provider(value.get("text"))
    return value if isinstance(value, str) else None
