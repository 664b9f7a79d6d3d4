"""promptfoo's results: model-graded assertions as grades, ``select-best`` as a ranking.

Read is what ``promptfoo eval --output`` writes (fixtures made by promptfoo 0.123 are in ``tests/reading/interop/``):
``FILE.json`` (``evalId, results: {version: 3, results: [...]}, config``), ``FILE.jsonl``, one result a line, and
``FILE.csv``. Read are the entries of ``gradingResult.componentResults`` (also nested, of assertion sets) whose
assertion is graded by a model; those that programs decide (``contains``, ``javascript``) are left alone.

The rendered prompt is the question, the output the only response, the assertion's value the judge's instruction,
``score`` (0 to 1) the grade. An entry whose grader failed has no verdict, with its reason. The judge is the grader's
model where the assertion, the test or the configuration names one, else ``promptfoo``, and the assertion's type. A
person's rating (an entry of type ``human``) is a label where one model-graded assertion stands beside it; beside
several it does not say of which. Ids are ``RESULT/number``, by the id that promptfoo gives a result, or
``eval/test/prompt/number`` where it has none. An item is an output and what was asserted of it, and its id a digest of
both: the grades of an output that came again (``--repeat``, another run, another grader) are verdicts on one.

The table leaves out assertions, graders and ids. Where the same run lies beside it as ``FILE.json`` or ``FILE.jsonl``,
that is read in its place, so that the run counts once. Else each metric of an output is a grade, the judge
``promptfoo/METRIC``, and an output without metrics a grade of ``promptfoo``: also where a program gave it. The grader's
reason belongs to the whole output: it is the rationale where nothing else was graded, else it is in ``meta``. The
question is the prompt with the variables filled in. Ids are ``promptfoo/DIGEST/row/output/metric``, by a digest of the
file.
"""

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeAlias

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.cells import parsed, text_in
from metajudge.reading.containers.kinds import read_object
from metajudge.reading.containers.lines import (
    EXCERPT,
    BadLine,
    Reject,
    RunRow,
    Source,
    open_bytes,
    read_lines,
    undamaged,
)
from metajudge.reading.containers.sheets import Cells, csv_rows
from metajudge.reading.conversations import messages, text_of
from metajudge.reading.formats.scored_runs import AssessedRun, AssessedRuns, RecordedRun, RecordedScore
from metajudge.reading.formats.specs import Row, get, is_marked
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
_SHAPE, _TABLE_SHAPE = "a promptfoo result", "a row of promptfoo's table"
_PROVIDERS = ("entry.assertion.provider", "result.testCase.options.provider", "run.config.defaultTest.options.provider")
Graded: TypeAlias = Mapping[str, Any]
"""A graded assertion: the ``entry``, its ``result``, what the file says about the ``run``, and what they say of it."""


def is_output(data: Row) -> bool:
    """Whether an object is a whole file of results."""
    results = data.get("results")
    return isinstance(results, dict) and isinstance(results.get("results"), list) and "stats" in results


def is_result(record: Row) -> bool:
    """Whether a record is one result."""
    return is_marked(record, "testIdx promptIdx testCase prompt gradingResult")


def results(source: Source, *, lines: bool = False, note: str = "") -> AssessedRuns:
    """Reads results: one JSON object, or one result a line."""
    return AssessedRuns(FORMAT + note, source, partial(_rows, source, lines=lines), separate=False, shape=_SHAPE)


def _results(source: Source, *, lines: bool) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]] | Reject]:
    """Each result with its number, and what the file says about the whole run."""
    if lines:
        for line in read_lines(source):
            yield line if isinstance(line, Reject) else (line.number, line.data, {})
        return
    data = read_object(source)
    for number, result in enumerate(data["results"]["results"], start=1):
        if isinstance(result, dict):  # versions before 3 have neither number
            yield number, {"testIdx": number - 1, "promptIdx": 0, **result}, data
        else:
            yield source.reject(number, "the entry of results.results is no object", b"")


def _rows(source: Source, *, lines: bool) -> Iterator[RunRow | Reject]:
    """A row for every assertion that a model graded, for the ratings of an output, and for every choice of a best."""
    best: dict[tuple[str, str], list[Graded]] = {}
    types: set[str] = set()
    for one in _results(source, lines=lines):
        if isinstance(one, Reject):
            yield one
            continue
        number, result, run = one
        try:
            entries = [_graded(number, entry, result, run) for entry in _components(result.get("gradingResult"))]
            for graded in entries:
                if graded["kind"] == SELECT_BEST:
                    test = str(result["testIdx"]), str(graded["entry"]["assertion"].get("value"))
                    best.setdefault(test, []).append(graded)
        except UNREADABLE as error:
            yield source.reject(number, why(error, _SHAPE), orjson.dumps(_told(result, {}), default=str)[:EXCERPT])
            continue
        types.update(graded["kind"] for graded in entries)
        for at, graded in enumerate(entries):
            if graded["kind"] in MODEL_GRADED:
                yield RunRow(number, partial(_grade, graded, at), _told(result, graded["entry"]), EXCERPT)
        with suppress(*UNREADABLE):  # then every grade of it is a reject
            yield RunRow(number, partial(AssessedRun, None, (), _ratings(entries)))
    for (name, _), shown in best.items():
        told = _told(shown[0]["result"], shown[0]["entry"])
        yield RunRow(shown[0]["number"], partial(_best, name, shown), told, EXCERPT)
    if types and not types & (MODEL_GRADED | {SELECT_BEST}):
        kinds = ", ".join(sorted(types))
        reason = f"no assertion was graded by a model (llm-rubric and its like): its assertions are {kinds}"
        yield Reject(source.name, 1, reason, "")


def _components(grading: Any) -> Iterator[dict[str, Any]]:
    """Every graded assertion; assertion sets contain nested ones."""
    if not isinstance(grading, dict):
        return
    for component in grading.get("componentResults") or ():
        yield from _components(component)
    if not grading.get("componentResults") and (grading.get("assertion") or {}).get("type"):
        yield grading


def _told(result: Row, entry: Row) -> dict[str, Any]:
    """What is reported where a result cannot be read: its place and what was said, no configuration of providers."""
    place = {name: result.get(name) for name in ("id", "testIdx", "promptIdx")}
    return place | {name: entry.get(name) for name in ("score", "pass", "reason")}


def _graded(number: int, entry: Row, result: Row, run: Row) -> Graded:
    """A graded assertion with its parts; the output is left out, as it may be missing."""
    one = {"entry": entry, "result": result, "run": run}
    own, provider = result.get("id"), result.get("provider")
    said, flagged = reason_text(entry.get("reason")), get(one, "entry.metadata.graderError") is True
    instruction = get(one, "entry.metadata.renderedAssertionValue|entry.assertion.value")
    grader = next((name for path in _PROVIDERS if (name := _provider(get(one, path)))), None)
    kind = str(entry["assertion"]["type"]).removeprefix("not-")
    return one | {
        "number": number,
        "kind": kind,
        "name": f"promptfoo/{own}" if isinstance(own, str) and own else None,
        "of_run": str(get(one, "run.evalId|result.evalId|result.evaluationId|=promptfoo")),
        "model": str(provider.get("id") if isinstance(provider, dict) else provider),
        "category": text_in(get(one, "result.testCase.metadata.category")),
        "said": said,
        "instruction": None if instruction is None else text_of(instruction),
        "grader": grader,
        "judge": f"{grader or 'promptfoo'}/{kind}",
        "failure": f"the grader failed: {said or 'no reason given'}" if flagged else _failure(said),
    }


def _provider(value: Any) -> str | None:
    """A provider is a name, an object with an id, or a map by use (``text``)."""
    if isinstance(value, dict):
        return value["id"] if isinstance(value.get("id"), str) else _provider(value.get("text"))
    return value if isinstance(value, str) else None


def _failure(reason: str) -> str | None:
    """Why a grader gave no verdict, by the reason that promptfoo writes then; None where it gave one."""
    failed = reason == "No output" or reason.startswith(_FAILURES)
    return f"the grader failed: {reason}" if failed else None


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


def _ratings(entries: list[Graded]) -> list[PersonScore]:
    """What people said of an output as a whole: of the only thing graded, or of nothing that the file names."""
    rated = [one["entry"].get("pass") for one in entries if one["kind"] == "human"]
    items = {_item(one).id for one in entries if one["kind"] in MODEL_GRADED} if rated else set()
    target = items.pop() if len(items) == 1 else None
    return [PersonScore(_RATING, target=target, value=value) for value in rated]


def _grade(one: Graded, count: int) -> AssessedRun:
    result, entry, failure = one["result"], one["entry"], one["failure"]
    place = one["name"] or f"{one['of_run']}/{result['testIdx']}/{result['promptIdx']}"
    verdict, missing = grade_of(entry.get("score"), "score") if failure is None else (None, failure)
    assertion = entry["assertion"]
    noted = {"assertion": assertion["type"], "pass": entry.get("pass"), "metric": assertion.get("metric")}
    score = RecordedScore(
        id=f"{place}/{count}",
        judge=one["judge"],
        value=verdict,
        error=missing,
        comment=one["said"],
        instruction=one["instruction"],
        meta={**noted, "time": _time(one), "judge_model": one["grader"]},
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
        chosen = {side: one["said"] for side, one in zip(ids, shown, strict=True) if one["entry"].get("pass")}
        failure, own = None if chosen else first["failure"], first["name"]
        if len(shown) < 2 or (len(chosen) != 1 and failure is None):
            raise BadLine(f"{len(chosen)} of {len(shown)} outputs are chosen, not one of several")
        name, verdict = f"{own}/{SELECT_BEST}" if own else f"{first['of_run']}/{test}", None
        if failure is None:
            best, others = next(iter(chosen)), tuple(one for one in ids if one not in chosen)
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
            judge=first["judge"],
            value=verdict,
            error=failure,
            comment=next(iter(chosen.values()), ""),
            instruction=first["instruction"],
            meta={"assertion": SELECT_BEST, "judge_model": first["grader"]},
            about="",
            place=place,
        )
    return AssessedRun(item, [score])


_FIXED = ("Status", "Score", "Named Scores")
_REASON, _COMMENT = _LAST = ("Grader Reason", "Comment")
_VARIABLE = re.compile(r"\{\{\s{0,9}([\w.-]{1,80})\s{0,9}\}\}")
_HEADING = re.compile(r"\[([^\[\]]{1,200})\] ")


def is_table(source: Source) -> bool:
    """Whether a CSV file's header is promptfoo's."""
    try:
        first = next(_cells(source), None)
    except InputError:
        return False
    return first is not None and bool(_outputs(first.cells))


def table(source: Source) -> AssessedRuns:
    """The reader of a table: of the same run's results beside it, where they are there."""
    for ending, lines in ((".json", False), (".jsonl", True)):
        beside = Source(source.path.with_suffix(ending), str(source.path.with_suffix(ending)))
        if beside.path.is_file() and _is_same_run(source, beside, lines=lines):
            return results(beside, lines=lines, note=f", of the same run in {beside.name}")
    return AssessedRuns("promptfoo table", source, partial(_table_rows, source), separate=False, shape=_TABLE_SHAPE)


def _is_same_run(table: Source, results: Source, *, lines: bool) -> bool:
    """Whether results are those of a table: the same outputs to the same tests, in order."""
    try:
        if not lines and not is_output(read_object(results)):
            return False
        found: dict[tuple[int, int], str] = {}
        for one in _results(results, lines=lines):
            if isinstance(one, Reject) or not is_result(one[1]):
                return False
            output = (one[1].get("response") or {}).get("output")
            found[int(one[1]["testIdx"]), int(one[1]["promptIdx"])] = "" if output is None else text_of(output)
        ranks = {test: rank for rank, test in enumerate(sorted({test for test, _ in found}))}
        rows = (row.cells for row in _cells(table))
        outputs = _outputs(next(rows))
        texts = {
            (test, prompt): row[place.start]
            for test, row in enumerate(rows)
            for prompt, place in enumerate(outputs)
            if any(row[place])
        }
        return texts == {(ranks[test], prompt): text for (test, prompt), text in found.items()}
    except (*UNREADABLE, IndexError):
        return False


def _cells(source: Source) -> Iterator[Cells]:
    return (row for row in csv_rows(source, ",") if row.fault is not None or any(row.cells))


def _outputs(header: Sequence[str]) -> list[slice]:
    """The columns of each prompt: a text, status, score, named scores, the metrics, reason, comment."""
    found = []
    for start in range(1, len(header) - len(_FIXED)):
        end = start + len(_FIXED)
        if tuple(header[start:end]) != _FIXED:
            continue
        while end < len(header) and header[end].startswith("Metric: "):
            end += 1
        if tuple(header[end : end + len(_LAST)]) == _LAST:
            found.append(slice(start - 1, end + len(_LAST)))
    return found


def _table_rows(source: Source) -> Iterator[RunRow | Reject]:
    """A row for every score of an output."""
    with undamaged(source), open_bytes(source) as stream:
        run = hashlib.file_digest(stream, "sha256").hexdigest()[:20]  # type: ignore[arg-type]
    rows = _cells(source)
    header = next(rows).cells
    outputs = _outputs(header)
    for number, (_, raw, row, fault) in enumerate(rows, start=2):
        excerpt = orjson.dumps(list(row))[:EXCERPT] if row else raw[:EXCERPT]
        if len(row) != len(header):
            cells = f"the row has {len(row)} cells, the header {len(header)}"
            yield source.reject(number, f"not CSV: {fault}" if isinstance(fault, csv.Error) else cells, excerpt)
            continue
        if isinstance(fault, UnicodeDecodeError):
            yield source.reject(number, "the row contains bytes that are not UTF-8", excerpt)
            continue
        variables = dict(zip(header[: outputs[0].start], row, strict=False))
        for index, columns in enumerate(outputs):
            heading, text = header[columns.start], row[columns.start]
            said = dict(zip(header[columns], row[columns], strict=True))
            if not any(said.values()):
                continue  # a test that this prompt was not run on
            try:
                if said["Status"] == "ERROR":
                    raise BadLine(f"the output has the status ERROR: {said[_REASON] or text}"[:300])
                scores = orjson.loads(said["Named Scores"].strip() or "{}")
                if not isinstance(scores, dict):
                    raise BadLine("'Named Scores' is no JSON object")
            except UNREADABLE as error:
                yield source.reject(number, why(error, _TABLE_SHAPE), excerpt)
                continue
            content, place = _content(heading, text, variables), f"promptfoo/{run}/{number}/{index}"
            for name, value in (scores or {"": said["Score"]}).items():
                run_of = partial(_metric, place, content, said, name, value, alone=len(scores) < 2)
                yield RunRow(number, run_of, row, EXCERPT)


def _content(heading: str, text: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """An item without its id, which is a digest of it and of the metric."""
    found = _HEADING.match(heading)
    template = heading if found is None else heading[found.end() :]
    filled = _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), template)
    if filled == template and variables:  # the name of a prompt, not its text
        filled = "\n".join([template, *(f"{name}: {one}" for name, one in variables.items())])
    return {"question": filled, "responses": {"A": text}, "models": None if found is None else {"A": found[1]}}


def _metric(
    place: str, content: dict[str, Any], cells: Mapping[str, str], name: str, value: Any, *, alone: bool
) -> AssessedRun:
    """A metric of an output; the whole output's score has the empty name."""
    reason, about = cells[_REASON], name or "Score"
    failure = _failure(reason) if alone else None
    with inside(about, _TABLE_SHAPE):
        verdict, missing = grade_of(value, about) if failure is None else (None, failure)
    said = {"metric": name, "reason": "" if alone else reason, "comment": cells[_COMMENT]}
    score = RecordedScore(
        id=f"{place}/{name}" if name else place,
        judge=f"promptfoo/{name}" if name else "promptfoo",
        value=verdict,
        error=missing,
        comment=reason if alone else "",
        meta={key: text or None for key, text in said.items()},
        about="",
        place=about,
    )
    answer, named = content["responses"]["A"], f"promptfoo/{digest([content, name])[:20]}"
    return AssessedRun(RecordedRun(named, content["question"], answer, models=content["models"]), [score])
