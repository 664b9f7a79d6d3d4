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

from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import orjson

from metajudge.readers.cells import parsed
from metajudge.readers.conversations import messages, text_of
from metajudge.readers.json_object import read_object
from metajudge.readers.lines import EXCERPT, BadLine, Reject, Source, read_lines
from metajudge.readers.people import ByPeople, PersonScore, Target
from metajudge.readers.reader import UNREADABLE, FoundJudgment, why
from metajudge.readers.scales import grade_of
from metajudge.readers.stated_scores import reason_text
from metajudge.types import Item, Judgment, Pairwise, Ranking, letters
from metajudge.types.digests import digest

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


def is_promptfoo_output(data: dict[str, Any]) -> bool:
    results = data.get("results")
    return isinstance(results, dict) and isinstance(results.get("results"), list) and "stats" in results


def is_promptfoo_result(record: dict[str, Any]) -> bool:
    return record.keys() >= {"testIdx", "promptIdx", "testCase", "prompt", "gradingResult"}


def outputs_of(source: Source, *, lines: bool) -> dict[tuple[int, int], str] | None:
    """The text of every output by the rank of its test and its prompt; None where a file is no results.

    Raises:
        InputError: the file cannot be read.
    """
    if not lines and not is_promptfoo_output(read_object(source)):
        return None
    found: dict[tuple[int, int], str] = {}
    for one in PromptfooResults(source, lines=lines).results():
        if isinstance(one, Reject) or not is_promptfoo_result(one[1]):
            return None
        output = (one[1].get("response") or {}).get("output")
        found[int(one[1]["testIdx"]), int(one[1]["promptIdx"])] = "" if output is None else text_of(output)
    ranks = {test: rank for rank, test in enumerate(sorted({test for test, _ in found}))}
    return {(ranks[test], prompt): text for (test, prompt), text in found.items()}


class PromptfooResults:
    """Reads results: one JSON object, or one result a line."""

    format = "promptfoo results"
    separate = False

    def __init__(self, source: Source, *, lines: bool) -> None:
        self.source = source
        self._lines = lines

    def read(self) -> Iterator[FoundJudgment | Reject | ByPeople]:
        best = _BestOf(self.source)
        types: set[str] = set()
        graded = False
        for found in self.results():
            if isinstance(found, Reject):
                yield found
                continue
            number, result, run = found
            try:
                entries = list(_components(result.get("gradingResult")))
            except UNREADABLE as error:
                yield self.source.reject(number, why(error, _SHAPE), _excerpt(result, {}))
                continue
            types.update(one.kind for one in entries)
            for count, one in enumerate(entries):
                if one.kind == SELECT_BEST:
                    best.add(number, result, one.data, run)
                elif one.kind in MODEL_GRADED:
                    graded = True
                    yield self._graded(number, result, one, count, run)
            yield from self._rated(number, result, entries)
        for decided in best.judgments():
            graded = True
            yield decided
        if types and not graded:
            kinds = ", ".join(sorted(types))
            reason = f"no assertion was graded by a model (llm-rubric and its like): its assertions are {kinds}"
            yield Reject(self.source.name, 1, reason, "")

    def targets(self) -> Iterator[Target]:
        """What every grade and rating is about; see :class:`~metajudge.readers.people.ScoredByPeople`."""
        for found in self.results():
            if isinstance(found, Reject):
                continue
            number, result, _ = found
            try:
                entries = list(_components(result.get("gradingResult")))
                items = [_item(result, one).id for one in entries if one.kind in MODEL_GRADED]
                ratings = _ratings(result, entries)
            except UNREADABLE:
                continue
            yield from (Target(item, _RATING) for item in items)
            for one in ratings:
                if one.target is not None:
                    yield Target(one.target, one.name, ByPeople(one, self.source.name, number))

    def _rated(self, number: int, result: dict[str, Any], entries: "list[_Entry]") -> Iterator[ByPeople]:
        try:
            ratings = _ratings(result, entries)
        except UNREADABLE:
            return  # every grade of it is a reject
        yield from (ByPeople(one, self.source.name, number) for one in ratings)

    def _graded(
        self, number: int, result: dict[str, Any], entry: "_Entry", count: int, run: dict[str, Any]
    ) -> FoundJudgment | Reject:
        try:
            return FoundJudgment(_judgment(result, entry, count, run), self.source.name, number, _RATING)
        except UNREADABLE as error:
            return self.source.reject(number, why(error, _SHAPE), _excerpt(result, entry.data))

    def results(self) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]] | Reject]:
        """Number, result, and what the file says about the whole run."""
        if self._lines:
            for line in read_lines(self.source):
                yield line if isinstance(line, Reject) else (line.number, line.data, {})
            return
        data = read_object(self.source)
        for number, result in enumerate(data["results"]["results"], start=1):
            if isinstance(result, dict):
                yield number, {"testIdx": number - 1, "promptIdx": 0, **result}, data  # versions before 3 have neither
            else:
                yield self.source.reject(number, "the entry of results.results is no object", b"")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A graded assertion, with its type, without ``not-``."""

    data: dict[str, Any]
    kind: str


def _components(grading: Any) -> Iterator[_Entry]:
    """Every graded assertion; assertion sets contain nested ones."""
    if not isinstance(grading, dict):
        return
    components = grading.get("componentResults")
    if components:
        for component in components:
            yield from _components(component)
        return
    kind = (grading.get("assertion") or {}).get("type")
    if kind:
        yield _Entry(grading, str(kind).removeprefix("not-"))


def _ratings(result: dict[str, Any], entries: list[_Entry]) -> list[PersonScore]:
    """What people said of an output as a whole: of the only thing graded, or of nothing that the file names."""
    rated = [one.data.get("pass") for one in entries if one.kind == HUMAN]
    if not rated:
        return []
    items = {_item(result, one).id for one in entries if one.kind in MODEL_GRADED}
    target = items.pop() if len(items) == 1 else None
    return [PersonScore(_RATING, target=target, value=value) for value in rated]


def _item(result: dict[str, Any], graded: _Entry) -> Item:
    assertion = graded.data["assertion"]
    content = {
        "question": text_of(_prompt(result)),
        "responses": {"A": _output(result)},
        "category": _category(result),
        "models": {"A": _model(result)},
        "conversation": [{"role": role, "content": text} for role, text in messages(_prompt(result), {})],
    }
    about = [assertion["type"], assertion.get("metric"), _instruction(graded.data)]
    return Item.model_validate({"id": f"promptfoo/{digest([content, *about])[:20]}", **content})


def _judgment(result: dict[str, Any], graded: _Entry, count: int, run: dict[str, Any]) -> Judgment:
    place, entry = _place(result, run), graded.data
    failure = _failure(entry)
    verdict, missing = grade_of(entry.get("score"), "score") if failure is None else (None, failure)
    grader = _grader(result, entry, run)
    meta = {
        "assertion": entry["assertion"]["type"],
        "pass": entry.get("pass"),
        "metric": entry["assertion"].get("metric"),
        "time": _time(result, entry),
    }
    meta["judge_model"] = grader
    return Judgment(
        id=f"{place}/{count}",
        item=_item(result, graded),
        judge=f"{grader or 'promptfoo'}/{graded.kind}",
        verdict=verdict,
        no_verdict=missing,
        rationale=reason_text(entry.get("reason")),
        instruction=_instruction(entry),
        meta={name: value for name, value in meta.items() if value is not None},
    )


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


def _excerpt(result: dict[str, Any], entry: dict[str, Any]) -> bytes:
    """What is kept of a result that cannot be read: its place and what was said, and no configuration of providers."""
    place = {name: result.get(name) for name in ("id", "testIdx", "promptIdx")}
    said = {name: entry.get(name) for name in ("score", "pass", "reason")}
    return orjson.dumps(place | said, default=str)[:EXCERPT]


class _BestOf:
    """``select-best``: the outputs of one test side by side, of which the judge chose one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tests: dict[tuple[str, str], list[_Shown]] = {}

    def add(self, number: int, result: dict[str, Any], entry: dict[str, Any], run: dict[str, Any]) -> None:
        key = (str(result["testIdx"]), str(entry["assertion"].get("value")))
        self._tests.setdefault(key, []).append((number, result, entry, run))

    def judgments(self) -> Iterator[FoundJudgment | Reject]:
        for (test, _), shown in self._tests.items():
            number, first, entry, _ = shown[0]
            try:
                shown.sort(key=lambda one: int(one[1]["promptIdx"]))
                yield FoundJudgment(self._judgment(test, shown), self._source.name, number)
            except UNREADABLE as error:
                reason = f"select-best of test {test}: {why(error, _SHAPE)}"
                yield self._source.reject(number, reason, _excerpt(first, entry))

    def _judgment(self, test: str, shown: "list[_Shown]") -> Judgment:
        number, first, entry, run = shown[0]
        winners = [index for index, (_, _, one, _) in enumerate(shown) if one.get("pass")]
        failure = None if winners else _failure(entry)
        if len(shown) < 2 or (len(winners) != 1 and failure is None):
            raise BadLine(f"{len(winners)} of {len(shown)} outputs are chosen, not one of several")
        names = [letters(index) for index in range(len(shown))]
        item = Item(
            id=f"{_place(first, run)}/{SELECT_BEST}" if _named(first) else f"{_run(first, run)}/{test}",
            question=text_of(_prompt(first)),
            responses={name: _output(result) for name, (_, result, _, _) in zip(names, shown, strict=True)},
            category=_category(first),
            models={name: _model(result) for name, (_, result, _, _) in zip(names, shown, strict=True)},
        )
        grader = _grader(first, entry, run)
        return Judgment(
            id=item.id if _named(first) else f"{item.id}/{SELECT_BEST}/{number}",
            item=item,
            judge=f"{grader or 'promptfoo'}/{SELECT_BEST}",
            verdict=None if failure is not None else _chosen(names, winners[0]),
            no_verdict=failure,
            rationale=reason_text(shown[winners[0]][2].get("reason")) if winners else "",
            instruction=_instruction(entry),
            meta={"assertion": SELECT_BEST} | ({"judge_model": grader} if grader else {}),
        )


def _chosen(names: list[str], winner: int) -> Pairwise | Ranking:
    others = [name for index, name in enumerate(names) if index != winner]
    best = names[winner]
    return Pairwise(best, others[0], 1) if len(others) == 1 else Ranking(((best,), tuple(others)))


_Shown: TypeAlias = tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]
"""Number, result, graded assertion, and what the file says about the run."""


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
    default = ((run.get("config") or {}).get("defaultTest") or {}) if isinstance(run.get("config"), dict) else {}
    options = (default.get("options") or {}) if isinstance(default, dict) else {}
    given = (entry["assertion"].get("provider"), test.get("provider"), options.get("provider"))
    return next((name for provider in given if (name := _provider(provider))), None)


def _provider(value: Any) -> str | None:
    """A provider is a name, an object with an id, or a map by use (``text``)."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return value["id"] if isinstance(value.get("id"), str) else _provider(value.get("text"))
    return None
