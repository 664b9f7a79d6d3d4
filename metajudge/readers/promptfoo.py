"""promptfoo's results: model-graded assertions as grades, ``select-best`` as a ranking.

The shape is that of ``promptfoo eval --output FILE.json`` (the documentation's page "Output Formats"; types
``OutputFile``, ``EvaluateSummaryV3`` and ``GradingResult`` of promptfoo 0.121): ``evalId, results: {version: 3,
results: [...]}, config``, and of ``FILE.jsonl``, one result a line. Read are the entries of
``gradingResult.componentResults`` (also nested, of assertion sets) whose assertion is graded by a model; those that
programs decide (``contains``, ``javascript``) are left alone.

The rendered prompt is the question, the output the only response, the assertion's value the judge's instruction,
``score`` (0 to 1) the grade. An entry whose grader failed has no verdict, with its reason. The judge is the grader's
model where the assertion, the test or the configuration names one, else ``promptfoo``, and the assertion's type. Ids
are ``eval/test/prompt/number``.
"""

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import orjson

from metajudge.readers.conversations import messages, text_of
from metajudge.readers.json_object import read_object
from metajudge.readers.lines import BadLine, Reject, Source, read_lines
from metajudge.readers.reader import UNREADABLE, FoundJudgment, why
from metajudge.types import Grade, Item, Judgment, Pairwise, Ranking, letters

MODEL_GRADED = frozenset(
    [
        "agent-rubric",
        "answer-relevance",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "conversation-relevance",
        "factuality",
        "g-eval",
        "llm-rubric",
        "model-graded-closedqa",
        "model-graded-factuality",
        "pi",
        "research-rubric",
        "search-rubric",
        "trajectory:goal-success",
        "video-rubric",
    ]
)
"""Assertions that a model decides."""

SELECT_BEST = "select-best"
_SHAPE = "a promptfoo result"


def is_promptfoo_output(data: dict[str, Any]) -> bool:
    results = data.get("results")
    return isinstance(results, dict) and isinstance(results.get("results"), list) and "stats" in results


def is_promptfoo_result(record: dict[str, Any]) -> bool:
    return record.keys() >= {"testIdx", "promptIdx", "testCase", "prompt", "gradingResult"}


class PromptfooResults:
    """Reads results: one JSON object, or one result a line."""

    format = "promptfoo results"

    def __init__(self, source: Source, *, lines: bool) -> None:
        self.source = source
        self._lines = lines

    def read(self) -> Iterator[FoundJudgment | Reject]:
        best = _BestOf(self.source)
        types: set[str] = set()
        graded = False
        for found in self._results():
            if isinstance(found, Reject):
                yield found
                continue
            number, result, run = found
            try:
                entries = list(_entries(result.get("gradingResult")))
                types.update(str(kind) for _, kind in entries)
                for count, (entry, kind) in enumerate(entries):
                    if kind == SELECT_BEST:
                        best.add(number, result, entry, run)
                    elif kind in MODEL_GRADED:
                        graded = True
                        yield FoundJudgment(_judgment(result, entry, kind, count, run), self.source.name, number)
            except UNREADABLE as error:
                yield self.source.reject(number, why(error, _SHAPE), orjson.dumps(result))
        for decided in best.judgments():
            graded = True
            yield decided
        if types and not graded:
            kinds = ", ".join(sorted(types))
            reason = f"no assertion was graded by a model (llm-rubric and its like): its assertions are {kinds}"
            yield Reject(self.source.name, 1, reason, "")

    def _results(self) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]] | Reject]:
        """Number, result, and what the file says about the whole run."""
        if self._lines:
            for line in read_lines(self.source):
                yield line if isinstance(line, Reject) else (line.number, line.data, {})
            return
        data = read_object(self.source)
        for number, result in enumerate(data["results"]["results"], start=1):
            if isinstance(result, dict):
                yield number, result, data
            else:
                yield self.source.reject(number, "the entry of results.results is no object", orjson.dumps(result))


def _entries(grading: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every graded assertion with its type; assertion sets contain nested ones."""
    if not isinstance(grading, dict):
        return
    components = grading.get("componentResults")
    if components:
        for component in components:
            yield from _entries(component)
        return
    kind = (grading.get("assertion") or {}).get("type")
    if kind:
        yield grading, str(kind).removeprefix("not-")


def _judgment(result: dict[str, Any], entry: dict[str, Any], kind: str, count: int, run: dict[str, Any]) -> Judgment:
    place = _place(result, run)
    failed = (entry.get("metadata") or {}).get("graderError") is True
    score = entry.get("score")
    verdict = None
    if not failed:
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise BadLine(f"gradingResult.componentResults: 'score' must be a number, not {score!r}")
        verdict = Grade(float(score))
    item = Item.model_validate(
        {
            "id": place,
            "question": _question(result),
            "responses": {"A": _output(result)},
            "category": _category(result),
            "models": {"A": _model(result)},
            "conversation": _messages(result),
        }
    )
    grader = _grader(result, entry, run)
    meta = {
        "assertion": entry["assertion"]["type"],
        "pass": entry.get("pass"),
        "metric": entry["assertion"].get("metric"),
    }
    meta["judge_model"] = grader
    return Judgment(
        id=f"{place}/{count}",
        item=item,
        judge=f"{grader or 'promptfoo'}/{kind}",
        verdict=verdict,
        no_verdict=f"the grader failed: {entry.get('reason') or 'no reason given'}" if failed else None,
        rationale=str(entry.get("reason") or ""),
        instruction=_instruction(entry),
        meta={name: value for name, value in meta.items() if value is not None},
    )


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
            number, _, entry, _ = shown[0]
            try:
                yield FoundJudgment(self._judgment(test, shown), self._source.name, number)
            except UNREADABLE as error:
                reason = f"select-best of test {test}: {why(error, _SHAPE)}"
                yield self._source.reject(number, reason, orjson.dumps(entry))

    def _judgment(self, test: str, shown: "list[_Shown]") -> Judgment:
        number, first, entry, run = shown[0]
        winners = [index for index, (_, _, one, _) in enumerate(shown) if one.get("pass")]
        if len(shown) < 2 or len(winners) != 1:
            raise BadLine(f"{len(winners)} of {len(shown)} outputs are chosen, not one of several")
        names = [letters(index) for index in range(len(shown))]
        item = Item(
            id=f"{run.get('evalId') or 'promptfoo'}/{test}",
            question=_question(first),
            responses={name: _output(result) for name, (_, result, _, _) in zip(names, shown, strict=True)},
            category=_category(first),
            models={name: _model(result) for name, (_, result, _, _) in zip(names, shown, strict=True)},
        )
        best, grader = names.pop(winners[0]), _grader(first, entry, run)
        return Judgment(
            id=f"{item.id}/{SELECT_BEST}/{number}",
            item=item,
            judge=f"{grader or 'promptfoo'}/{SELECT_BEST}",
            verdict=Pairwise(best, names[0], 1) if len(names) == 1 else Ranking(((best,), tuple(names))),
            rationale=str(shown[winners[0]][2].get("reason") or ""),
            instruction=_instruction(entry),
            meta={"assertion": SELECT_BEST} | ({"judge_model": grader} if grader else {}),
        )


_Shown: TypeAlias = tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]
"""Number, result, graded assertion, and what the file says about the run."""


def _place(result: dict[str, Any], run: dict[str, Any]) -> str:
    name = run.get("evalId") or result.get("evalId") or result.get("evaluationId") or "promptfoo"
    return f"{name}/{result['testIdx']}/{result['promptIdx']}"


def _question(result: dict[str, Any]) -> str:
    return text_of(_prompt(result))


def _messages(result: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in messages(_prompt(result), {})]


def _prompt(result: dict[str, Any]) -> Any:
    """The rendered prompt: a text, or a chat."""
    raw = result["prompt"]["raw"]
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            return raw
    return raw


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
